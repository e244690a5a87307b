/**
 * `npm run clients` installs the programs of others that `tests/clients/` runs against a server: packages of npm into
 * `tests/clients/node_modules`, those of PyPI into a virtual environment in `tests/clients/.venv`. Nobody who only uses
 * Eider needs them.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = join(dirname(fileURLToPath(import.meta.url)), '..', 'tests', 'clients')
const python = join(folder, '.venv', 'bin', 'python')

run('npm', ['ci', '--no-audit', '--no-fund'])
if (!existsSync(python)) run('python3', ['-m', 'venv', '.venv'])
run(python, [
  ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
  ...['--prefer-binary', '--requirement', 'requirements.txt'],
])

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: folder, stdio: 'inherit' })
  if (status === 0) return
  console.error(`${command} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`)
  process.exit(1)
}
