import { join } from 'node:path'
import { pino } from 'pino'
import type { AppLog } from './app.ts'
import { AppError, errorText, StartError, systemCodeOf } from './core/errors.ts'
import { forbidFileWrites, MemoryCeiling } from './core/runtime/process-limits.ts'
import { DAY_MS } from './core/time.ts'
import { PLANNED_RESTART_CODE, type Restarts } from './ops/supervisor/restart-policy.ts'
import { CrashReports } from './ops/supervisor/running-table.ts'
import { failureFields, type LogStyle, logStyleOf, logText } from './ops/telemetry/log-text.ts'
import { DATABASE_FILE } from './store/duckdb/database.ts'
import { releaseLocks } from './store/duckdb/locked-instance.ts'
import { machineBytes, memoryBytesOf } from './store/duckdb/memory-watchdog.ts'
import type { StuckStatement } from './store/duckdb/open-statements.ts'
import { openStore, type StoreOptions } from './store/store.ts'
import type { AppListener } from './wiring/running-app.ts'
import { isLoopback, type Settings } from './wiring/settings/settings.ts'

export interface ServeOptions {
  readonly version: string
  /** The signals that ask for a stop. */
  readonly stopSignals: readonly NodeJS.Signals[]
  /** How often the supervisor has started this server again. */
  readonly restarts: Restarts
  /** Called as soon as requests are answered. */
  readonly onReady: (port: number) => void
  /** Starts the next process and resolves when it answers requests; null without a supervisor to start it. */
  readonly replace: (() => Promise<boolean>) | null
}

/** Lines go out together, after a tenth of a second at the latest. */
const LOG_LINES = { dest: 1, sync: false, minLength: 8192, periodicFlush: 100 } as const

/**
 * Serves until it is stopped, then lets running requests finish and closes the store. Returns the exit code: 0, or 1 when
 * the database could not continue; `PLANNED_RESTART_CODE` when only another process can stop a statement.
 * @throws Error with a message for the user when the folder or the port cannot be used
 */
export async function serve(
  settings: Settings,
  { version, stopSignals, restarts, onReady, replace }: ServeOptions,
): Promise<number> {
  const destination = pino.destination(LOG_LINES)
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
  // Everything else is loaded while DuckDB opens the file and reads its log.
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
    throw listenFailure(error, settings)
  }
  // JavaScript has reserved its own space by now.
  ceiling.set(memoryRoomOf(settings))
  onReady(Number(listener.url.port))
  process.stdout.write(readyText({ version, listener, settings }, style))
  app.start()
  const reason = await Promise.race([stopped, fatal.promise, stuck.promise])
  crashes?.endInOrder()
  if (reason instanceof AppError) logger.fatal({ code: reason.code, message: reason.message })
  logger.info({ signal: typeof reason === 'string' ? reason : null }, 'stopping')
  const { dataDirectory } = settings
  if (reason === PLANNED_RESTART_CODE && replace !== null && dataDirectory !== ':memory:') {
    const handover = await listener.handOver(HANDOVER_DRAIN_MS)
    await app.close()
    destination.flushSync()
    logger.level = 'silent'
    await handover.end(await isReplaced(dataDirectory, replace))
    return reason
  }
  await listener.stop(reason instanceof AppError ? 0 : settings.shutdownMs)
  await app.close()
  destination.flushSync()
  return exitCodeOf(reason)
}

function exitCodeOf(reason: AppError | NodeJS.Signals | typeof PLANNED_RESTART_CODE): number {
  if (!(reason instanceof AppError)) return reason === PLANNED_RESTART_CODE ? reason : 0
  process.stderr.write(
    `eider: ${reason.message}. Make room and start again: what was stored is there\n`,
  )
  return 1
}

/** What ends the server. */
interface Endings {
  readonly fatal: (error: AppError) => void
  readonly replace: () => void
  readonly noteStuck: (sql: string) => void
}

function storeCallsOf({ fatal, replace, noteStuck }: Endings, logger: pino.Logger) {
  return {
    onFatal: fatal,
    onMemoryFull: (error: AppError) => {
      logger.error({ code: error.code }, `${error.message}: the server is replaced`)
      replace()
    },
    onStuck: ({ source, ...shown }: StuckStatement) => {
      logger.error(shown, 'DuckDB does not stop a statement: the server is replaced')
      noteStuck(source)
      replace()
    },
    onWarning: (message: string) => {
      logger.warn(message)
      process.stderr.write(`eider: ${message}\n`)
    },
  }
}

/** The store is closed: from here on the data folder is the next process's. */
async function isReplaced(directory: string, replace: () => Promise<boolean>): Promise<boolean> {
  // The statement that still runs keeps DuckDB's locks. The kernel sees to it that nothing here writes any more.
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

/** Printed at every log level: the user who starts a server needs its address. */
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

/** For models, threads, and the results of functions for one set of rows, which are outside of the engine's buffers. */
const HEADROOM_BYTES = 384 * 1024 ** 2
/** A share of the engine's limit, if that is more. */
const HEADROOM_SHARE = 0.25
/** JavaScript has reserved space for itself, and for this much of the rows that it keeps for searches. */
const RESERVED_ROW_BYTES = 256 * 1024 ** 2
/** A share of the machine's memory. */
const MACHINE_SHARE = 0.9

/** The memory that the process may add after its start; memory for vectors is added as it is used. */
function memoryRoomOf({ memoryLimit, rowMemory }: Settings): number {
  const engine = memoryBytesOf(memoryLimit)
  const rows = Math.max(0, memoryBytesOf(rowMemory) - RESERVED_ROW_BYTES)
  const wanted = engine + Math.max(HEADROOM_BYTES, engine * HEADROOM_SHARE) + rows
  return Math.min(wanted, machineBytes() * MACHINE_SHARE)
}

/** For requests that run when the server is about to be replaced. */
const HANDOVER_DRAIN_MS = 1_000

function storeOptionsOf(settings: Settings, version: string): StoreOptions {
  return {
    directory: settings.dataDirectory,
    memoryLimit: settings.memoryLimit,
    stuckMs: settings.stuckMs,
    diskReserve: settings.diskReserve,
    schedules: { schedulesMax: settings.schedulesMax, runsMax: settings.scheduleRunsKeep },
    audit: { keepMs: settings.auditKeepDays * DAY_MS, rowsMax: settings.auditRowsMax },
    traces: { keepMs: settings.tracesKeepDays * DAY_MS, bytesMax: settings.tracesBytesMax },
    conversations: { keepMs: settings.conversationsKeepDays * DAY_MS },
    extensionDirectory: settings.extensionDirectory,
    isExtensionInstallAllowed: settings.extensionInstall,
    threads: settings.threads,
    threadPoolSize: Number(Bun.env.UV_THREADPOOL_SIZE),
    statementsWaitingMax: settings.queriesQueueMax,
    address: `${settings.host}:${settings.port}`,
    backups: {
      ...(settings.backupDirectory === undefined ? {} : { directory: settings.backupDirectory }),
      hasKeys: settings.backupKeys,
      keep: settings.backupKeep,
      version,
    },
  }
}

/** Only once the folder is open may anybody say what the last process left there. */
function crashReportsOf(
  settings: Settings,
  restarts: Restarts,
  logger: pino.Logger,
): CrashReports | null {
  const { dataDirectory: directory, crashRefuseSeconds } = settings
  if (directory === ':memory:') return null
  const refuseMs = crashRefuseSeconds * 1000
  const crashes = new CrashReports({ directory, restarts, refuseMs, now: Date.now })
  // An existing supervisor has reported it.
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
    job: ({ event, job: { id, kind, state, title, progress, rate, errorCount } }) => {
      logger.info({ id, kind, state, title, ...progress, rate, errorCount }, `job ${event}`)
    },
    failure: ({ requestId, traceId, error }) => {
      logger.error({ requestId, ...(traceId && { traceId }), ...failureFields(error) }, 'failure')
      logger.flush()
    },
  }
}

/** A terminal sends Ctrl-C to everybody in it, and npm and the supervisor pass on what they get: that is one request. */
const SAME_REQUEST_MS = 1_000

function stopSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedAt = Number.POSITIVE_INFINITY
    for (const signal of signals) {
      process.on(signal, () => {
        // A second signal does not wait.
        if (performance.now() - askedAt > SAME_REQUEST_MS) process.exit(1)
        if (askedAt === Number.POSITIVE_INFINITY) askedAt = performance.now()
        resolve(signal)
      })
    }
  })
}

function listenFailure(error: unknown, { host, port }: Settings): StartError {
  const code = systemCodeOf(error)
  const reason: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is taken, perhaps by another Eider. Set EIDER_PORT to use another one`,
    EACCES: `permission for port ${port} is denied. Set EIDER_PORT to use another one`,
    EADDRNOTAVAIL: `this machine has no address ${host}. Set EIDER_HOST to one that it has`,
  }
  const detail = reason[code ?? ''] ?? errorText(error)
  return new StartError(`Cannot listen at ${host}:${port}: ${detail}`, error)
}
