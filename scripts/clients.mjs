/**
 * `npm run clients` installs the programs of others that `tests/clients/` runs against a server: packages of npm into
 * `tests/clients/node_modules`, those of PyPI into a virtual environment in `tests/clients/.venv`. Nobody who only uses
 * Eider needs them.
 */
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = join(dirname(fileURLToPath(import.meta.url)), '..', 'tests', 'clients')
const environment = join(folder, '.venv')
const python = join(environment, 'bin', 'python')

if (!existsSync(join(environment, 'bin', 'pip'))) {
  // Debian's Python has a part of venv in a package of its own: without it an attempt leaves an environment without pip.
  rmSync(environment, { recursive: true, force: true })
  const advice =
    'Python 3.11 or later with venv is needed (Debian, Ubuntu: apt-get install python3-venv)'
  await run('python3', ['-m', 'venv', '.venv'], advice)
}
// Both wait for their registries.
await Promise.all([
  run('npm', ['ci', '--no-audit', '--no-fund']),
  run(python, [
    ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
    ...['--prefer-binary', '--requirement', 'requirements.txt'],
  ]),
])

/** @returns when it has ended well; otherwise this program ends */
function run(command, args, advice = '') {
  return new Promise((resolve) => {
    const failed = (how) => {
      console.error(`${command} ${args.join(' ')} failed: ${how}`)
      if (advice !== '') console.error(advice)
      process.exit(1)
    }
    spawn(command, args, { cwd: folder, stdio: 'inherit' })
      .on('error', ({ message }) => failed(message))
      .on('close', (status) => (status === 0 ? resolve() : failed(`status ${status}`)))
  })
}
