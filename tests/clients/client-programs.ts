/**
 * Runs the programs in `programs/`, which use third-party clients as their users would, against a
 * server.
 */
import { test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const PYTHON = join(import.meta.dir, '.venv', 'bin', 'python')
const PROGRAM_MS_MAX = 110_000

/**
 * Whether `npm run clients` has installed the clients. With REAL_CLIENTS=required, as in CI, a test
 * without them fails.
 */
const areInstalled = existsSync(join(import.meta.dir, 'node_modules')) && existsSync(PYTHON)

/**
 * A test that needs third-party clients. Without them, it is skipped and says how to install them.
 */
export const clientTest: typeof test =
  areInstalled || process.env.REAL_CLIENTS === 'required' ? test : skipped()

function skipped(): typeof test {
  const reason =
    'The clients of others are not installed (npm run clients): their tests are skipped'
  process.stderr.write(`${reason}\n`)
  return test.skip as typeof test
}

export interface ProgramEnd {
  readonly status: number
  readonly output: string
  readonly errors: string
}

/**
 * Runs a program in `programs/`, with Node if its name ends in `.mjs` and Python if it ends in `.py`.
 * @param environment all variables that it sees besides PATH and HOME
 */
export async function runClient(
  program: string,
  environment: Readonly<Record<string, string>>,
): Promise<ProgramEnd> {
  const path = join(import.meta.dir, 'programs', program)
  const { PATH = '', HOME = '' } = process.env
  const child = Bun.spawn([program.endsWith('.py') ? PYTHON : 'node', path], {
    cwd: import.meta.dir,
    env: { PATH, HOME, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: PROGRAM_MS_MAX,
  })
  const [output, errors, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { status, output, errors }
}

/**
 * Returns the last line that a program printed, read as JSON.
 * @throws Error with the whole output if the program failed
 */
export async function clientResult(
  program: string,
  environment: Readonly<Record<string, string>>,
): Promise<unknown> {
  const { status, output, errors } = await runClient(program, environment)
  if (status !== 0) throw new Error(`${program} ended with ${status}:\n${output}\n${errors}`)
  return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')
}
