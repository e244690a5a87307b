/**
 * The program's entry point. It is either the supervisor, which runs the server as a child process
 * and restarts it after a crash, or that child. Only the child imports the server's code.
 */

import { existsSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join, resolve } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { AppError, errorText, StartError } from './core/errors.ts'
import {
  environmentOf,
  NO_RESTARTS,
  type Restarts,
  restartsFrom,
} from './ops/supervisor/restart-policy.ts'
import { readRunning, requestsOf } from './ops/supervisor/running-table.ts'
import {
  type Crash,
  type SuccessorMessage,
  stopSignals,
  supervise,
} from './ops/supervisor/supervise.ts'
import { logStyleOf, logText } from './ops/telemetry/log-text.ts'
import { MEMORY_ENVIRONMENT, type Settings, settingsFrom } from './wiring/settings/settings.ts'
import { settingsHelp } from './wiring/settings/settings-help.ts'

/** DuckDB's calls run on Bun's thread pool, whose size Bun reads before it runs any code. */
const THREAD_POOL_SIZE = '16'

const DEMO_DIRECTORY = './demo-data'

const help =
  () => `Eider ${packageJson.version}: knowledge bases, agents and SQL over HTTP, in one process

Usage: npm start [-- options], or eider serve [options]

Options:
  --demo             serve the demo data, and create it first if it is missing
  --no-supervisor    exit when the server crashes, for containers that restart it themselves
  -h, --help         show this help
  --version          show the version

Settings are environment variables, here with their defaults in parentheses.

${settingsHelp()}
`

/** The argument that the supervisor passes to its child. */
const SUPERVISED = '--supervised'
const NO_SUPERVISOR = '--no-supervisor'
const KNOWN_OPTIONS: ReadonlySet<string> = new Set([
  '--demo',
  NO_SUPERVISOR,
  SUPERVISED,
  ...['--help', '-h'],
  '--version',
])

function settingsOf(args: readonly string[]): Settings | number {
  const unknown = args.find((arg) => !KNOWN_OPTIONS.has(arg))
  if (unknown !== undefined) {
    process.stderr.write(`eider: unknown option ${unknown}; --help lists them all\n`)
    return 2
  }
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(help())
    return 0
  }
  if (args.includes('--version')) {
    process.stdout.write(`${packageJson.version}\n`)
    return 0
  }
  const demo = args.includes('--demo') ? { EIDER_DATA_DIR: DEMO_DIRECTORY } : {}
  try {
    return settingsFrom({ ...demo, ...Bun.env })
  } catch (error) {
    return failedStart(error)
  }
}

function failedStart(error: unknown): number {
  const message = errorText(error)
  process.stderr.write(`eider: ${message}\n`)
  const isExpected = error instanceof AppError || error instanceof StartError
  if (!isExpected && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return 1
}

/** For closing the database after the last requests. Killing it meanwhile would lose nothing. */
const CLOSE_MS = 30_000

/** Starts the server as a child process, and restarts it after a crash. */
function superviseServer(args: readonly string[], settings: Settings): Promise<number> {
  let port = settings.port
  return supervise({
    start: (restarts, { onReady, onReplace }) => {
      return Bun.spawn(programWith([...args, SUPERVISED]), {
        env: { ...environment(), ...environmentOf(restarts), EIDER_PORT: String(port) },
        stdio: ['inherit', 'inherit', 'inherit'],
        ipc: (message: unknown) => {
          if (message === REPLACE) {
            onReplace()
            return
          }
          // After a restart, the server uses the same port, even if the system chose it.
          port = Number(message)
          onReady()
        },
      })
    },
    onCrash: (crash) => logCrash(crash, settings),
    stopMs: settings.shutdownMs + CLOSE_MS,
    onKill: () => process.stderr.write('eider: the server does not stop, so it is killed\n'),
  })
}

/** Replaces this process with the server, or runs it as a child if that is not possible. */
function runWithEnvironment(args: readonly string[]): Promise<number> {
  const program = programWith(args)
  if (process.platform !== 'win32') process.execve?.(process.execPath, [...program], environment())
  return Bun.spawn([...program], { env: environment(), stdio: ['inherit', 'inherit', 'inherit'] })
    .exited
}

function programWith(args: readonly string[]): string[] {
  return [process.execPath, ...process.execArgv, import.meta.path, ...args]
}

function environment(): Record<string, string> {
  const poolSize = Bun.env.UV_THREADPOOL_SIZE || THREAD_POOL_SIZE
  return { ...MEMORY_ENVIRONMENT, ...definedEnvironment(), UV_THREADPOOL_SIZE: poolSize }
}

function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Bun.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )
}

function logCrash(crash: Crash, settings: Settings): void {
  const { logLevel, dataDirectory } = settings
  const { isPlanned, wasReady, reason, at, uptimeMs, delayMs } = crash
  if (logLevel === 'silent' || (isPlanned && logLevel !== 'info' && logLevel !== 'debug')) return
  // A server that never accepted a request did not write the file; it is from an earlier server.
  const running = wasReady && !isPlanned ? requestsOf(readRunning(dataDirectory) ?? []) : []
  const times = { time: at, uptimeMs, restartInMs: delayMs }
  const line = { level: isPlanned ? 30 : 60, ...times, reason, running }
  const msg = isPlanned ? 'the server is being replaced' : 'the server crashed'
  try {
    const { isText, hasColours } = logStyleOf(settings, Bun.env)
    const json = JSON.stringify({ ...line, msg })
    writeSync(1, isText ? logText(json, hasColours) : `${json}\n`)
  } catch {
    // Nothing reads standard output any more.
  }
}

/** The server's message that asks the supervisor to start its successor. */
const REPLACE = 'replace'

/** Resolves to true when the next server answers requests, or to false if it does not start. */
function askForSuccessor(): Promise<boolean> {
  return new Promise((resolve) => {
    process.on('message', (message: unknown) =>
      resolve(message === ('ready' satisfies SuccessorMessage)),
    )
    process.send?.(REPLACE)
  })
}

async function serveHere(settings: Settings, isSupervised: boolean): Promise<number> {
  let restarts: Restarts = NO_RESTARTS
  if (isSupervised) {
    const { endWithParent } = await import('./ops/supervisor/parent-death.ts')
    endWithParent()
    restarts = restartsFrom(Bun.env)
  }
  try {
    const { serve } = await import('./serve.ts')
    return await serve(settings, {
      version: packageJson.version,
      restarts,
      // Under a supervisor, SIGHUP is missing: the supervisor decides what closing the terminal
      // means.
      stopSignals: isSupervised ? ['SIGTERM', 'SIGINT'] : stopSignals(),
      onReady: (port) => {
        if (isSupervised) process.send?.(port)
      },
      replace: isSupervised ? askForSuccessor : null,
    })
  } catch (error) {
    return failedStart(error)
  }
}

const DEMO_SCRIPT = join(import.meta.dir, '../scripts/demo.ts')

/** In a temporary folder first, so that incomplete data is never served. @returns exit code */
async function makeDemo({ dataDirectory }: Settings): Promise<number> {
  if (existsSync(dataDirectory)) return 0
  process.stdout.write('The demo has no data yet: creating it takes less than a minute\n')
  const making = `${resolve(dataDirectory)}.making`
  const made = Bun.spawn(
    [process.execPath, ...process.execArgv, DEMO_SCRIPT, '--data-only', making],
    {
      env: environment(),
      stdio: ['inherit', 'inherit', 'inherit'],
    },
  )
  // Otherwise, the demo would go on alone, in a folder that the next start deletes.
  const stop = () => made.kill('SIGINT')
  const signals = stopSignals()
  for (const signal of signals) process.on(signal, stop)
  const code = await made.exited
  for (const signal of signals) process.off(signal, stop)
  if (code === 0) renameSync(making, dataDirectory)
  else rmSync(making, { recursive: true, force: true })
  return code
}

/** @returns the exit code */
export async function start(args: readonly string[]): Promise<number> {
  // Makes all files the program creates private.
  process.umask(0o077)
  const settings = settingsOf(args)
  if (typeof settings === 'number') return settings
  if (args.includes(SUPERVISED)) return serveHere(settings, true)
  const isOfDemo = args.includes('--demo') && Bun.env.EIDER_DATA_DIR === undefined
  const demoCode = isOfDemo ? await makeDemo(settings) : 0
  if (demoCode !== 0) return demoCode
  if (!args.includes(NO_SUPERVISOR)) return superviseServer(args, settings)
  const isComplete = Object.entries(environment()).every(([name, value]) => Bun.env[name] === value)
  if (!isComplete) return runWithEnvironment(args)
  return serveHere(settings, false)
}

if (import.meta.main) process.exit(await start(process.argv.slice(2)))
