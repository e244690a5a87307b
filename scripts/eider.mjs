#!/usr/bin/env node
/**
 * npm links this as `eider`. Node starts the program with the Bun from the package, so that the
 * PATH needs none, and exits with the same code.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import './ensure-bun.mjs'

if (!process.exitCode) {
  const bun = join(
    dirname(createRequire(import.meta.url).resolve('bun/package.json')),
    'bin/bun.exe',
  )
  const root = join(dirname(fileURLToPath(import.meta.url)), '..')
  // Bun would read these in the current folder: a bunfig.toml can run code, a .env send the key elsewhere.
  const options = ['--no-env-file', `--config=${join(root, 'bunfig.toml')}`]
  const program = [...options, join(root, 'src/eider.ts')]
  const child = spawn(bun, [...program, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { UV_THREADPOOL_SIZE: '16', ...process.env },
  })
  // A terminal sends Ctrl-C to both processes, and the program decides what to do.
  const hasTerminal = [process.stdin, process.stdout, process.stderr].some((one) => one.isTTY)
  process.on('SIGINT', () => hasTerminal || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`eider: Bun could not be started: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exitCode = code
    else {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    }
  })
}
