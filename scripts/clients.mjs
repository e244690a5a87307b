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

const TRY = { timeout: 3 * 60_000 }
const PIP = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
const bun = join(
  dirname(createRequire(import.meta.url).resolve('bun/package.json')),
  'bin',
  'bun.exe',
)
const folder = join(dirname(fileURLToPath(import.meta.url)), '..', 'tests', 'clients')
const environment = join(folder, '.venv')
const python = join(environment, 'bin', 'python')
const packages = ['--python', python, '--requirement', 'requirements.txt']

if (!existsSync(join(environment, 'bin', 'pip'))) {
  // Debian packages a part of venv separately, and an attempt without it leaves an environment without pip.
  rmSync(environment, { recursive: true, force: true })
  const advice =
    'Python 3.11 or later with venv is needed (Debian, Ubuntu: apt-get install python3-venv)'
  await run('python3', ['-m', 'venv', '.venv'], advice)
}
// Bun and uv need a tenth of the CPU of npm and pip, which read other settings for registries and certificates.
await Promise.all([
  begun(bun, ['install', '--frozen-lockfile', '--silent'], TRY).catch(() => {
    return run('npm', ['ci', '--no-audit', '--no-fund'])
  }),
  begun(python, [...PIP, 'uv==0.13.9'], TRY)
    .then(() =>
      begun(join(environment, 'bin', 'uv'), ['pip', 'install', '--quiet', ...packages], TRY),
    )
    .catch(() => run(python, [...PIP, '--prefer-binary', '--requirement', 'requirements.txt'])),
])

/** Ends this program if it fails. */
function run(command, args, advice = '') {
  return begun(command, args).catch(({ message }) => {
    console.error(`${command} ${args.join(' ')} failed: ${message}`)
    if (advice !== '') console.error(advice)
    process.exit(1)
  })
}

function begun(command, args, limits = {}) {
  return new Promise((resolve, reject) => {
    const failed = (how) => reject(new Error(how))
    spawn(command, args, { cwd: folder, stdio: 'inherit', ...limits })
      .on('error', ({ message }) => failed(message))
      .on('close', (status) => (status === 0 ? resolve() : failed(`status ${status}`)))
  })
}
