/**
 * Completes Bun's installation if install scripts were blocked. `node_modules/bun` is then a stub of a few hundred
 * bytes, while the real program is in its platform package. Works under Node and Bun.
 */
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const STUB_BYTES_MAX = 1_000_000

const directory = dirname(createRequire(import.meta.url).resolve('bun/package.json'))
if (isStub(join(directory, 'bin', 'bun.exe'))) process.exitCode = finishInstallation(directory)

function isStub(path) {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) < STUB_BYTES_MAX
}

function finishInstallation(cwd) {
  const run = spawnSync(process.execPath, ['install.js'], { cwd, stdio: 'inherit' })
  if (run.status === 0) {
    // The project's own script was blocked, too.
    spawnSync(process.execPath, [join(import.meta.dirname, 'slim.mjs')], { stdio: 'ignore' })
    return 0
  }
  console.error(
    `Bun could not be installed: ${run.error?.message ?? `install.js ended with ${run.status}`}`,
  )
  return 1
}
