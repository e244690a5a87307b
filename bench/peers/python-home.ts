/** Sets up a Python for the peers outside of the repository, once, with `requirements.txt`. */
import { exists } from 'node:fs/promises'
import { join } from 'node:path'

const REQUIREMENTS = join(import.meta.dir, 'requirements.txt')
const INSTALL_MS_MAX = 600_000

export interface PythonHome {
  readonly python: string
  /** A line for each package that could not be installed. */
  readonly failures: readonly string[]
}

/** @throws Error if Python 3 is missing */
export async function pythonHome(folder: string): Promise<PythonHome> {
  const home = join(folder, 'python')
  const python = join(home, 'bin', 'python')
  if (!(await exists(python))) {
    const made = run(['python3', '-m', 'venv', home])
    if (made !== undefined) throw new Error(`python3 -m venv: ${made}`)
  }
  const packages = (await Bun.file(REQUIREMENTS).text()).split('\n').filter(Boolean)
  const noted = join(home, 'installed.txt')
  const before = (await exists(noted)) ? (await Bun.file(noted).text()).split('\n') : []
  const installed = [...before]
  const failures: string[] = []
  for (const name of packages.filter((one) => !before.includes(one))) {
    const failure = run([python, '-m', 'pip', 'install', '--quiet', name])
    if (failure === undefined) installed.push(name)
    else failures.push(`${name}: ${failure}`)
  }
  await Bun.write(noted, installed.join('\n'))
  return { python, failures }
}

/** @returns the last line of its output if it failed */
function run(command: readonly string[]): string | undefined {
  const done = Bun.spawnSync([...command], { stdout: 'ignore', timeout: INSTALL_MS_MAX })
  if (done.success) return undefined
  return done.stderr.toString().trim().split('\n').at(-1) ?? `ended with ${done.exitCode}`
}
