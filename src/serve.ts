import { join } from 'node:path'
import { pino } from 'pino'
import type { AppLog } from './app.ts'
import { AppError } from './core/errors.ts'
import { forbidFileWrites, MemoryCeiling } from './core/runtime/process-limits.ts'
import { DAY_MS } from './core/time.ts'
import { PLANNED_RESTART_CODE, type Restarts } from './ops/supervisor/restart-policy.ts'
import { CrashReports } from './ops/supervisor/running-table.ts'
import { LogLines } from './ops/telemetry/log-lines.ts'
import { failureFields, type LogStyle, logStyleOf, logText } from './ops/telemetry/log-text.ts'
import { DATABASE_FILE } from './store/duckdb/database.ts'
import { releaseLocks } from './store/duckdb/locked-instance.ts'
import { machineBytes, memoryBytesOf } from './store/duckdb/memory-watchdog.ts'
import type { StuckStatement } from './store/duckdb/open-statements.ts'
import { openStore, type StoreOptions } from './store/store.ts'
import type { AppListener } from './wiring/running-app.ts'
import { isLoopback, type Settings } from './wiring/settings/settings.ts'

interface ServeOptions {
  readonly version: string
  readonly stopSignals: readonly NodeJS.Signals[]
  /** How often the supervisor has restarted this server, and why. */
  readonly restarts: Restarts
  readonly onReady: (port: number) => void
  /** Starts the next process and resolves once it answers requests; null without a supervisor. */
  readonly replace: (() => Promise<boolean>) | null
}

/**
 * Runs the server until it is stopped, then lets running requests finish and closes the store.
 * Returns the exit code: 0, 1 if the database could not continue, or `PLANNED_RESTART_CODE` if only
 * a new process can get rid of a stuck statement.
 * @throws Error with a message for the user if the folder or the port cannot be used
 */
export async function serve(
  settings: Settings,
  { version, stopSignals, restarts, onReady, replace }: ServeOptions,
): Promise<number> {
  const destination = new LogLines()
  process.on('exit', () => destination.flushSync())
  const style = logStyleOf(settings, Bun.env)
  const logger = loggerTo(destination, settings, style)
  const fatal = Promise.withResolvers<AppError>()
  const stuck = Promise.withResolvers<typeof PLANNED_RESTART_CODE>()
  const stopped = stopSignal(stopSignals)
  const ceiling = new MemoryCeiling()
  let crashes: CrashReports | null = null
  const endings: Endings = {
    fatal: fatal.resolve,
    replace: () => stuck.resolve(PLANNED_RESTART_CODE),
    noteStuck: (sql) => crashes?.noteStuck(sql),
  }
  const own = { ...storeOptionsOf(settings, version), ...storeCallsOf(endings, logger), ceiling }
  const opening = openStore(own)
  // The rest of the code loads while DuckDB opens the file and replays its log.
  const [store, { createApp }] = await Promise.all([opening, import('./app.ts')])
  crashes = crashReportsOf(settings, restarts, logger)
  const noted = crashes === null ? {} : { running: crashes }
  const app = createApp({ settings, store, version, log: logOver(logger), ...noted })
  let listener: AppListener
  try {
    const isShared = restarts.last?.isPlanned === true
    listener = app.listen({ hostname: settings.host, port: settings.port, isShared })
  } catch (error) {
    crashes?.endInOrder()
    await app.close()
    throw error
  }
  // By now, JavaScript has reserved its address space.
  ceiling.set(memoryRoomOf(settings))
  onReady(Number(listener.url.port))
  destination.write(readyText({ version, listener, settings }, style))
  destination.flush()
  app.start()
  const reason = await Promise.race([stopped, fatal.promise, stuck.promise])
  crashes?.endInOrder()
  if (reason instanceof AppError) logger.fatal({ code: reason.code, message: reason.message })
  logger.info({ signal: typeof reason === 'string' ? reason : null }, 'stopping')
  const { dataDirectory } = settings
  if (reason === PLANNED_RESTART_CODE && replace !== null && dataDirectory !== ':memory:') {
    const handover = await listener.handOver(HANDOVER_DRAIN_MS)
    await app.close()
    await destination.end()
    logger.level = 'silent'
    await handover.end(await isReplaced(dataDirectory, replace))
    return reason
  }
  await listener.stop(reason instanceof AppError ? 0 : settings.shutdownMs)
  await app.close()
  await destination.end()
  return exitCodeOf(reason)
}

function exitCodeOf(reason: AppError | NodeJS.Signals | typeof PLANNED_RESTART_CODE): number {
  if (!(reason instanceof AppError)) return reason === PLANNED_RESTART_CODE ? reason : 0
  process.stderr.write(
    `eider: ${reason.message}. Free some space and start again; stored data is not lost\n`,
  )
  return 1
}

interface Endings {
  readonly fatal: (error: AppError) => void
  readonly replace: () => void
  readonly noteStuck: (sql: string) => void
}

function storeCallsOf({ fatal, replace, noteStuck }: Endings, logger: pino.Logger) {
  return {
    onFatal: fatal,
    onMemoryFull: (error: AppError) => {
      logger.error({ code: error.code }, `${error.message}: the server is being replaced`)
      replace()
    },
    onStuck: ({ source, ...shown }: StuckStatement) => {
      logger.error(shown, 'DuckDB cannot stop a statement: the server is being replaced')
      noteStuck(source)
      replace()
    },
    onWarning: (message: string) => {
      logger.warn(message)
      process.stderr.write(`eider: ${message}\n`)
    },
  }
}

/** Called with the store closed, so that the next process can use the data folder. */
async function isReplaced(directory: string, replace: () => Promise<boolean>): Promise<boolean> {
  // The running statement still holds DuckDB's locks, but from here on the kernel prevents any
  // writes.
  if (!forbidFileWrites()) return false
  releaseLocks(join(directory, DATABASE_FILE))
  return replace()
}

function loggerTo(
  destination: pino.DestinationStream,
  { logLevel }: Settings,
  { isText, hasColours }: LogStyle,
): pino.Logger {
  const shown = isText
    ? { write: (line: string) => destination.write(logText(line, hasColours)) }
    : destination
  return pino({ level: logLevel, base: null }, shown)
}

interface Ready {
  readonly version: string
  readonly listener: AppListener
  readonly settings: Settings
}

/** Printed at every log level, because the user who starts a server needs its address. */
function readyText({ version, listener, settings }: Ready, { isText }: LogStyle): string {
  const { url, postgresPort } = listener
  const address = url.origin
  const { dataDirectory: data, username, host } = settings
  const said = `Eider ${version} is ready at ${address}, data in ${data}`
  const facts = { address, dataDirectory: data, login: username !== undefined }
  if (!isText) return `${JSON.stringify({ level: 30, time: Date.now(), ...facts, msg: said })}\n`
  const everyone = isLoopback(host) ? 'everyone on this machine' : 'everyone who reaches it'
  const login = username === undefined ? `off: ${everyone} may do everything` : 'on'
  const postgres = postgresPort === null ? [] : [`  PostgreSQL clients: ${host}:${postgresPort}`]
  return [said, `  login: ${login}`, `  documentation: ${address}/docs`, ...postgres, ''].join('\n')
}

/** For models, threads and intermediate results, which are outside the engine's buffers. */
const HEADROOM_BYTES = 384 * 1024 ** 2
/** The headroom as a share of the engine's limit, used if it is larger. */
const HEADROOM_SHARE = 0.25
/** JavaScript has already reserved space for itself and for this many bytes of cached rows. */
const RESERVED_ROW_BYTES = 256 * 1024 ** 2
/** The share of the machine's memory that the process may use. */
const MACHINE_SHARE = 0.9

/** How much memory the process may add after its start, besides memory for vectors. */
function memoryRoomOf({ memoryLimit, rowMemory }: Settings): number {
  const engine = memoryBytesOf(memoryLimit)
  const rows = Math.max(0, memoryBytesOf(rowMemory) - RESERVED_ROW_BYTES)
  const wanted = engine + Math.max(HEADROOM_BYTES, engine * HEADROOM_SHARE) + rows
  return Math.min(wanted, machineBytes() * MACHINE_SHARE)
}

/** How long running requests may take before the server is replaced. */
const HANDOVER_DRAIN_MS = 1_000

function storeOptionsOf(settings: Settings, version: string): StoreOptions {
  return {
    directory: settings.dataDirectory,
    memoryLimit: settings.memoryLimit,
    stuckMs: settings.stuckMs,
    diskReserve: settings.diskReserve,
    schedules: { schedulesMax: settings.schedulesMax, runsMax: settings.scheduleRunsKeep },
    audit: { keepMs: settings.auditKeepDays * DAY_MS },
    traces: { keepMs: settings.tracesKeepDays * DAY_MS, bytesMax: settings.tracesBytesMax },
    conversations: { keepMs: settings.conversationsKeepDays * DAY_MS },
    extensionDirectory: settings.extensionDirectory,
    isExtensionInstallAllowed: settings.extensionInstall,
    threads: settings.threads,
    threadPoolSize: Number(Bun.env.UV_THREADPOOL_SIZE),
    address: `${settings.host}:${settings.port}`,
    backups: {
      ...(settings.backupDirectory === undefined ? {} : { directory: settings.backupDirectory }),
      hasKeys: settings.backupKeys,
      keep: settings.backupKeep,
      version,
    },
  }
}

/** Reports the crash of the last process once the data folder is open. */
function crashReportsOf(
  settings: Settings,
  restarts: Restarts,
  logger: pino.Logger,
): CrashReports | null {
  const { dataDirectory: directory, crashRefuseSeconds } = settings
  if (directory === ':memory:') return null
  const refuseMs = crashRefuseSeconds * 1000
  const crashes = new CrashReports({ directory, restarts, refuseMs, now: Date.now })
  // If a supervisor restarted this server, it has already reported the crash.
  if (crashes.found && restarts.last === null) logger.error(crashes.found, 'the server had crashed')
  return crashes
}

function logOver(logger: pino.Logger): AppLog {
  return {
    request: ({ method, path, route, status, ms, requestId, code, principal }) => {
      logger.info(
        {
          method,
          path,
          route,
          status,
          ms,
          requestId,
          ...(code && { code }),
          ...(principal && { principal }),
        },
        'request',
      )
    },
    job: ({ event, job: { id, kind, state, title, progress, rate, errorCount, error } }) => {
      // Further lines quote the statement, which is not for the log.
      const why = error === null ? {} : { error: error.split('\n', 1)[0] }
      logger.info({ id, kind, state, title, ...progress, rate, errorCount, ...why }, `job ${event}`)
    },
    failure: ({ requestId, traceId, error }) => {
      logger.error({ requestId, ...(traceId && { traceId }), ...failureFields(error) }, 'failure')
      logger.flush()
    },
  }
}

/** Ctrl-C reaches every process, and npm and the supervisor forward it. */
const SAME_REQUEST_MS = 1_000

function stopSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedAt = Number.POSITIVE_INFINITY
    for (const signal of signals) {
      process.on(signal, () => {
        // A second request stops immediately.
        if (performance.now() - askedAt > SAME_REQUEST_MS) process.exit(1)
        if (askedAt === Number.POSITIVE_INFINITY) askedAt = performance.now()
        resolve(signal)
      })
    }
  })
}
