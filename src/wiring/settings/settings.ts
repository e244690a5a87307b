/**
 * The list of all settings. Each is an environment variable, and `--help` prints the list. The
 * server refuses to start with an unknown name or an invalid value.
 */

import { AppError } from '../../core/errors.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'
import { ACCESS_SETTINGS, AGENT_SETTINGS } from './agent-settings.ts'
import {
  BadValue,
  byteSize,
  GB,
  integer,
  list,
  MB,
  memorySize,
  nonEmptyText,
  oneOf,
  optionalPort,
  optionalSchedule,
  type Setting,
  setting,
  TB,
  textSetting,
  truth,
} from './setting-values.ts'

const DAY_SECONDS = 86_400

export const SETTINGS = {
  host: setting('EIDER_HOST', '127.0.0.1', nonEmptyText, {
    help: 'Address to listen on; any address but loopback needs a login or EIDER_ALLOW_OPEN=1',
  }),
  port: setting('EIDER_PORT', 47_334, integer(0, 65_535), {
    help: 'Port to listen on; 0 for any free port',
  }),
  pgPort: setting('EIDER_PG_PORT', '', optionalPort, {
    help: 'Port for psql, BI tools and database drivers (PostgreSQL protocol), such as 47335; off if not set',
  }),
  pgTlsCert: textSetting('EIDER_PG_TLS_CERT', {
    help: "PEM file with the PostgreSQL port's certificate; requires EIDER_PG_TLS_KEY",
  }),
  pgTlsKey: textSetting('EIDER_PG_TLS_KEY', {
    help: 'PEM file with the private key of that certificate',
  }),
  dataDirectory: setting('EIDER_DATA_DIR', './data', nonEmptyText, {
    help: 'Folder for all stored data',
  }),
  backupDirectory: textSetting('EIDER_BACKUP_DIR', {
    help: 'Folder for backups; by default, backups in the data folder',
  }),
  backupSchedule: setting('EIDER_BACKUP_SCHEDULE', '', optionalSchedule, {
    help: "Schedule of automatic backups: a cron expression in the machine's time zone, such as 0 3 * * *",
  }),
  backupKeys: setting('EIDER_BACKUP_KEYS', '1', truth, {
    help: '0: leave the key files out of backups; restoring secrets then needs the original key files',
  }),
  backupKeep: setting('EIDER_BACKUP_KEEP', 7, integer(1, 100_000), {
    help: 'Number of backups of this data folder to keep; a new backup deletes older ones',
  }),
  username: textSetting('EIDER_USERNAME', {
    help: 'Username of the login; requires EIDER_PASSWORD',
  }),
  password: textSetting('EIDER_PASSWORD', {
    isSecret: true,
    help: 'Password of the login; requires EIDER_USERNAME',
  }),
  allowOpen: setting('EIDER_ALLOW_OPEN', '0', truth, {
    help: '1: allow listening on any address without a login',
  }),
  tokenTtlSeconds: setting(
    'EIDER_TOKEN_TTL_SECONDS',
    30 * DAY_SECONDS,
    integer(1, 3650 * DAY_SECONDS),
    { help: 'Seconds until a login expires' },
  ),
  crawlAllow: setting('EIDER_CRAWL_ALLOW', '', list, {
    help: 'Private hosts, addresses and CIDR blocks that the crawler may read, separated by commas',
  }),
  networkAllow: setting('EIDER_NETWORK_ALLOW', '', list, {
    help: 'Private hosts, addresses and CIDR blocks that models and data sources may use, separated by commas; not needed on loopback without a login',
  }),
  sourcesDirectory: textSetting('EIDER_SOURCES_DIR', {
    help: 'Folder of SQLite and DuckDB files that can be data sources; none if not set',
  }),
  folders: setting('EIDER_FOLDERS_DIR', '', list, {
    help: 'Folders, with their subfolders, that knowledge bases can sync with, separated by commas',
  }),
  crawlPagesMax: setting('EIDER_CRAWL_PAGES_MAX', 1000, integer(1, 1_000_000), {
    help: 'Maximum number of pages per crawl',
  }),
  bodyBytesMax: setting('EIDER_BODY_BYTES_MAX', 64 * MB, integer(1024, 16 * GB), {
    help: 'Maximum size of a request body in bytes, except uploads',
  }),
  fileBytesMax: setting('EIDER_FILE_BYTES_MAX', 2 * GB, integer(1024, TB), {
    help: "Maximum size in bytes of an upload, a downloaded file or a ZIP's contents",
  }),
  queryMs: setting('EIDER_QUERY_MS', 60_000, integer(1, 86_400_000), {
    help: 'Time limit of an SQL statement in milliseconds',
  }),
  statementBytesMax: setting('EIDER_STATEMENT_BYTES_MAX', MB, integer(1024, 64 * MB), {
    help: 'Maximum size of an SQL statement in bytes; send values as params',
  }),
  stuckMs: setting('EIDER_STUCK_MS', 2000, integer(100, 86_400_000), {
    help: 'Milliseconds that DuckDB may take to stop a cancelled statement before the server is replaced',
  }),
  memoryLimit: setting('EIDER_MEMORY_LIMIT', '60%', memorySize, {
    help: 'Memory limit of the SQL engine: a size such as 512MB or 4GB, or a share of the machine',
  }),
  readingMemory: setting('EIDER_READING_MEMORY', '1GB', memorySize, {
    help: 'Memory limit of each process that reads files, pages and database files',
  }),
  diskReserve: setting('EIDER_DISK_RESERVE', '256MB', byteSize, {
    help: 'Disk space to keep free; with less, writes get 507 and searches continue',
  }),
  vectorMemory: setting('EIDER_VECTOR_MEMORY', '20%', memorySize, {
    help: 'Memory for the vector cache, at most 4 GiB; vectors that do not fit are scanned on disk. 0MB turns it off',
  }),
  rowMemory: setting('EIDER_ROW_MEMORY', '256MB', memorySize, {
    help: 'Memory for chunks that searches return; others are read from the database. 0MB turns it off',
  }),
  extensionDirectory: setting('EIDER_EXTENSION_DIR', './extensions', nonEmptyText, {
    help: "Folder of DuckDB's vss extension, for HNSW indexes; npm run extensions downloads it",
  }),
  extensionInstall: setting('EIDER_EXTENSION_INSTALL', '0', truth, {
    help: "1: download a missing vss extension from DuckDB's site",
  }),
  threads: setting('EIDER_THREADS', 0, integer(0, 1024), {
    help: 'Threads of the SQL engine; 0 for one per core',
  }),
  ...ACCESS_SETTINGS,
  ...AGENT_SETTINGS,
  insertWaitSeconds: setting('EIDER_INSERT_WAIT_SECONDS', 50, integer(0, DAY_SECONDS), {
    help: 'Seconds until a waiting insert becomes a job; 0 for never',
  }),
  jobsMax: setting('EIDER_JOBS_MAX', 4, integer(1, 100), {
    help: 'Maximum number of jobs running at once, one per knowledge base',
  }),
  schedulesMax: setting('EIDER_SCHEDULES_MAX', 100, integer(0, 10_000), {
    help: 'Maximum number of scheduled jobs (CREATE JOB)',
  }),
  scheduleSecondsMin: setting('EIDER_SCHEDULE_SECONDS_MIN', 60, integer(1, DAY_SECONDS), {
    help: 'Minimum seconds between two runs of a scheduled job',
  }),
  scheduleRunsKeep: setting('EIDER_SCHEDULE_RUNS_KEEP', 100, integer(1, 100_000), {
    help: 'Number of runs of each scheduled job to keep',
  }),
  crashRefuseSeconds: setting('EIDER_CRASH_REFUSE_SECONDS', 600, integer(0, DAY_SECONDS), {
    help: 'Seconds to refuse a SELECT that was running when the server crashed; 0 for never',
  }),
  shutdownMs: setting('EIDER_SHUTDOWN_MS', 10_000, integer(0, 3_600_000), {
    help: 'Milliseconds that running requests get to finish after SIGTERM',
  }),
  metricsOpen: setting('EIDER_METRICS_OPEN', '0', truth, {
    help: '1: open /metrics to everyone who can reach the server; otherwise, with a login, it needs the scope admin',
  }),
  logLevel: setting('EIDER_LOG_LEVEL', 'info', oneOf('debug', 'info', 'warn', 'error', 'silent'), {
    help: 'Log level: debug, info, warn, error or silent',
  }),
  logFormat: setting('EIDER_LOG_FORMAT', 'auto', oneOf('auto', 'json', 'text'), {
    help: 'Log format: json (one object per line), text (for people), auto (text on a terminal, otherwise json)',
  }),
} as const

type Parsed<S> = S extends Setting<infer T> ? T : never
export type Settings = { readonly [K in keyof typeof SETTINGS]: Parsed<(typeof SETTINGS)[K]> }

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * @throws AppError `invalid_request` naming the variable and the expected value, but never a secret
 */
export function settingsFrom(environment: Environment): Settings {
  refuseUnknownNames(environment)
  const values = Object.entries(SETTINGS).map(([key, one]) => {
    return [key, settingValue<unknown>(one, environment)] as const
  })
  // Each setting has its own value type.
  const settings = Object.fromEntries(values) as Settings
  refuseContradictions(settings)
  return settings
}

function settingValue<T>(one: Setting<T>, environment: Environment): T {
  const text = environment[one.name] ?? one.default
  try {
    return one.parse(text)
  } catch (error) {
    if (!(error instanceof BadValue)) throw error
    const found = /PASSWORD|KEY|URL|HEADERS|ENDPOINT|PRICES/.test(one.name)
      ? ''
      : `, found "${text.slice(0, 80)}"`
    throw new AppError('invalid_request', `${one.name}: ${error.message}${found}`)
  }
}

/** Settings of the `eider` client, which the server ignores. */
const CLIENT_SETTINGS: readonly string[] = ['EIDER_URL', 'EIDER_API_KEY', 'EIDER_RELEASES_URL']

const PREFIX = 'EIDER_'

function refuseUnknownNames(environment: Environment): void {
  const known = new Set([
    ...Object.values(SETTINGS).map((one): string => one.name),
    ...CLIENT_SETTINGS,
  ])
  const unknown = Object.keys(environment).filter((name) => {
    return name.startsWith(PREFIX) && !known.has(name)
  })
  if (unknown.length === 0) return
  const [first = ''] = unknown.sort()
  const ends = [...known].map((name) => name.slice(PREFIX.length))
  const nearest = nearestName(first.slice(PREFIX.length), ends)
  const hint = didYouMean(nearest && `${PREFIX}${nearest}`) || '.'
  const message = `Unknown setting: ${unknown.join(', ')}${hint} --help lists them all`
  throw new AppError('invalid_request', message)
}

export const MEMORY_ENVIRONMENT = {
  // DuckDB's allocator reads this when the library is loaded. It then returns address space along
  // with the pages; otherwise one large statement would leave too little of the memory limit to
  // others.
  DUCKDB_JE_MALLOC_CONF: 'retain:false,dirty_decay_ms:1000,muzzy_decay_ms:0',
  // JavaScript's garbage collector waits longer the more memory the machine has, regardless of the
  // memory limit. On a machine with 24 GB, rows of 1 MB from a database left 300 MB more garbage.
  BUN_JSC_forceRAMSize: '1000000000',
} as const

/** With `BUN_BE_BUN`, the single-file executable acts as Bun. */
const NOT_SECRET = ['BUN_BE_BUN', 'LD_LIBRARY_PATH', 'SystemRoot', 'TZ', 'LANG', 'LC_ALL']

/** The environment of processes that read users' files, without settings, which contain keys. */
export function environmentOfReaders(): Readonly<Record<string, string>> {
  const passed = NOT_SECRET.flatMap((name) => {
    const value = Bun.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  // DuckDB's calls run on Bun's thread pool.
  return { ...Object.fromEntries(passed), ...MEMORY_ENVIRONMENT, UV_THREADPOOL_SIZE: '4' }
}

const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|::1|\[::1\])$/i

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host)
}

function refuseContradictions(settings: Settings): void {
  const refuse = (message: string) => new AppError('invalid_request', message)
  if (settings.username !== undefined && settings.password === undefined) {
    throw refuse('EIDER_USERNAME is set and EIDER_PASSWORD is missing; set both or neither')
  }
  if (settings.password !== undefined && settings.username === undefined) {
    throw refuse('EIDER_PASSWORD is set and EIDER_USERNAME is missing; set both or neither')
  }
  const isOpen = settings.username === undefined && !settings.allowOpen
  if (isOpen && !isLoopback(settings.host)) {
    const how = 'Set EIDER_USERNAME and EIDER_PASSWORD, or EIDER_ALLOW_OPEN=1'
    throw refuse(`EIDER_HOST=${settings.host} would be open to everyone in reach. ${how}`)
  }
  if (settings.chatProvider !== 'builtin' && settings.chatModel === undefined) {
    throw refuse(`EIDER_CHAT_PROVIDER=${settings.chatProvider} needs EIDER_CHAT_MODEL`)
  }
}
