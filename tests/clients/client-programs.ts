/** Runs programs of `programs/`, which use the clients of others as their users would, against a server. */
import { test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const PYTHON = join(import.meta.dir, '.venv', 'bin', 'python')
const PROGRAM_MS_MAX = 50_000

/** Whether `npm run clients` has installed them. With REAL_CLIENTS=required, as in CI, a test that finds none fails. */
const areInstalled = existsSync(join(import.meta.dir, 'node_modules')) && existsSync(PYTHON)

/** A test that needs the clients of others: without them it is skipped, and says how to get them. */
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
 * Runs a program of `programs/`: by Node where its name ends in `.mjs`, by Python where it ends in `.py`.
 * @param environment beside PATH and HOME, all that it sees
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

/** What a program printed as its last line, read as JSON. @throws Error with all that it printed where it failed */
export async function clientResult(
  program: string,
  environment: Readonly<Record<string, string>>,
): Promise<unknown> {
  const { status, output, errors } = await runClient(program, environment)
  if (status !== 0) throw new Error(`${program} ended with ${status}:\n${output}\n${errors}`)
  return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')
}
