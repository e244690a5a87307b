/** Start and stop: settings → store → app → listen; SIGTERM → drain → close. */
import packageJson from '../package.json' with { type: 'json' }
import { AppError, StartError } from './errors.ts'
import { type Settings, settingsFrom, settingsHelp } from './settings.ts'

/** DuckDB's calls run on Bun's thread pool, whose size is read from the environment before any of our code runs. */
const THREAD_POOL_SIZE = '16'

const DEMO_DIRECTORY = './demo-data'

const HELP = `Eider ${packageJson.version}: knowledge bases, agents and SQL over HTTP, in one process

Usage: npm start [-- options]

Options:
  --demo       serve the data made by "npm run demo"
  --help       show this help
  --version    show the version

Settings, as environment variables (defaults in parentheses):
${settingsHelp()}
`

/** The settings to serve with; or an exit code, when there is nothing to serve. */
function settingsOf(args: readonly string[]): Settings | number {
  const known = new Set(['--demo', '--help', '--version'])
  const unknown = args.find((arg) => !known.has(arg))
  if (unknown !== undefined) {
    process.stderr.write(`eider: unknown option ${unknown}; --help lists those there are\n`)
    return 2
  }
  if (args.includes('--help')) {
    process.stdout.write(HELP)
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
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`eider: ${message}\n`)
  const isExpected = error instanceof AppError || error instanceof StartError
  if (!isExpected && error instanceof Error) process.stderr.write(`${error.stack}\n`)
  return 1
}

/** Runs this program again with a thread pool that is large enough, and returns its exit code. */
async function runWithThreadPool(): Promise<number> {
  const child = Bun.spawn([process.execPath, ...process.execArgv, import.meta.path, ...argv()], {
    env: { ...Bun.env, UV_THREADPOOL_SIZE: THREAD_POOL_SIZE },
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill(signal))
  }
  return child.exited
}

function argv(): readonly string[] {
  return process.argv.slice(2)
}

async function main(): Promise<number> {
  const settings = settingsOf(argv())
  if (typeof settings === 'number') return settings
  if (!Bun.env.UV_THREADPOOL_SIZE) return runWithThreadPool()
  try {
    const { serve } = await import('./serve.ts')
    return await serve(settings, packageJson.version)
  } catch (error) {
    return failedStart(error)
  }
}

process.exit(await main())
