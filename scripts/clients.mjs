/**
 * `npm run clients` installs the third-party programs that `tests/clients/` runs against a server: npm packages in
 * `tests/clients/node_modules`, and PyPI packages in a virtual environment in `tests/clients/.venv`. Eider itself does
 * not need them.
 */
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const UV = 'uv==0.13.9'
const bun = join(
  dirname(createRequire(import.meta.url).resolve('bun/package.json')),
  'bin',
  'bun.exe',
)
const folder = join(dirname(fileURLToPath(import.meta.url)), '..', 'tests', 'clients')
const environment = join(folder, '.venv')
const python = join(environment, 'bin', 'python')

if (!existsSync(join(environment, 'bin', 'pip'))) {
  // Debian packages a part of venv separately, and an attempt without it leaves an environment without pip.
  rmSync(environment, { recursive: true, force: true })
  const advice =
    'Python 3.11 or later with venv is needed (Debian, Ubuntu: apt-get install python3-venv)'
  await run('python3', ['-m', 'venv', '.venv'], advice)
}
// Bun and uv install with a tenth of the CPU of npm and pip.
await Promise.all([run(bun, ['install', '--frozen-lockfile', '--silent']), installPython()])

async function installPython() {
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', UV])
  const requirements = ['--python', python, '--requirement', 'requirements.txt']
  await run(join(environment, 'bin', 'uv'), ['pip', 'install', '--quiet', ...requirements])
}

/** @returns when it has succeeded; otherwise this program ends */
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
