/** Opens the DuckDB instance for a data folder. */
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { literal, quote } from '../../core/domain/names.ts'
import { StartError } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { memoryLimitOf } from './memory-watchdog.ts'
import { runPrepared } from './prepared.ts'
import { giveMemoryBack, registerStepLimits } from './step-limits.ts'
import { END_THREADS } from './worker-threads.ts'

/** The name of the database in SQL. It must differ from all schema names. */
const DATABASE_NAME = 'eider-data'

/** A checkpoint rewrites a keyed table's last group: 190 MB of vectors by DuckDB's default. */
const GROUP_ROWS = 16_384

/** Wrong in DuckDB 1.5.5, or slow without those (docs/decisions/0014-right-rows.md). */
const WRONG_OPTIMIZERS = [
  'join_filter_pushdown',
  'top_n_window_elimination',
  'window_self_join',
  'join_elimination',
  'common_subplan',
  // This one is correct, but without the others its join reads rows without a filter.
  'late_materialization',
] as const

export interface InstanceOptions {
  /** The folder of the database file; null keeps the database in memory. */
  readonly directory: string | null
  /** For example `512MB`, `4GiB` or `60%`. */
  readonly memoryLimit: string
  readonly threads: number
  /** How much data statements may spill to disk, for example `10GiB`. */
  readonly spillLimit: string
}

/** Accesses only its own files and exports, loads no extensions, cannot be reconfigured. */
export async function lockedInstance(
  path: string,
  given: InstanceOptions & {
    /** The only folder where SQL statements may write files. */
    readonly exportsDirectory: string
  },
): Promise<DuckDBInstance> {
  const { exportsDirectory, ...options } = given
  const instance = await DuckDBInstance.create(':memory:', {
    // Compression makes vector scans three times slower. DuckDB reads this setting at each
    // checkpoint.
    force_compression: 'uncompressed',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: memoryLimitOf(options.memoryLimit),
    ...(options.threads > 0 ? { threads: String(options.threads) } : {}),
    preserve_insertion_order: 'true',
    // Without a data folder, nothing is spilled to disk.
    temp_directory: options.directory === null ? '' : spillDirectory(options.directory),
    max_temp_directory_size: options.spillLimit,
  })
  const connection = await opened(instance, path, options.directory)
  // Closing normally writes a checkpoint, but a failed start must not change the file.
  await connection.run('PRAGMA disable_checkpoint_on_shutdown')
  await connection.run("SET GLOBAL TimeZone = 'UTC'")
  await connection.run(`SET GLOBAL disabled_optimizers = ${literal(WRONG_OPTIMIZERS.join(','))}`)
  await connection.run(`SET GLOBAL allowed_directories = [${literal(exportsDirectory)}]`)
  await connection.run('SET GLOBAL enable_external_access = false')
  await giveMemoryBack(connection)
  await connection.run(END_THREADS)
  // No file is read twice, so caching files would waste memory.
  await connection.run('SET GLOBAL enable_external_file_cache = false')
  await connection.run("SET GLOBAL allowed_configs = ['memory_limit', 'external_threads']")
  await connection.run('SET lock_configuration = true')
  registerStepLimits(connection)
  connection.closeSync()
  return instance
}

/** The row group size can only be set for an attached database. */
async function opened(
  instance: DuckDBInstance,
  path: string,
  directory: string | null,
): Promise<DuckDBConnection> {
  try {
    if (directory !== null) {
      const connection = await instance.connect()
      const options = `ROW_GROUP_SIZE ${GROUP_ROWS}`
      await connection.run(`ATTACH ${literal(path)} AS ${quote(DATABASE_NAME)} (${options})`)
      connection.closeSync()
    }
    return await connectTo(instance, directory)
  } catch (error) {
    instance.closeSync()
    throw error
  }
}

export async function connectTo(
  instance: DuckDBInstance,
  directory: string | null,
): Promise<DuckDBConnection> {
  const connection = await instance.connect()
  if (directory !== null) await connection.run(`USE ${quote(DATABASE_NAME)}`)
  return connection
}

/** Returns the folder in which DuckDB may write result files. */
export function exportsDirectoryOf(given: {
  readonly directory: string | null
  readonly note: LockNote
}): string {
  const { directory, note } = given
  return directory === null
    ? join(tmpdir(), `eider-exports-${note.processId}-${crypto.randomUUID()}`)
    : join(directory, 'exports')
}

export function spillDirectory(directory: string): string {
  return join(directory, 'spill')
}

/** Runs work as one transaction and rolls back if it fails. */
export async function transaction<T>(
  connection: DuckDBConnection,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  await runPrepared(connection, 'BEGIN TRANSACTION')
  try {
    const result = await work(connection)
    await runPrepared(connection, 'COMMIT')
    return result
  } catch (error) {
    // After a failed COMMIT the transaction is over, so ROLLBACK fails too. Ignore that.
    await connection.run('ROLLBACK').catch(() => {})
    throw error
  }
}

// A note that tells people which process has the data folder open. The actual lock is DuckDB's.

const NOTE_NAME = 'eider.lock'
const NOTE_BYTES_MAX = 4096

export interface LockNote {
  readonly processId: number
  readonly host: string
  readonly startedAt: string
  readonly address?: string
}

/** Describes this process. `address` is where it will listen. */
export function lockNoteOf(nowMillis: number, address: string | undefined): LockNote {
  return {
    processId: process.pid,
    host: hostname(),
    startedAt: timestampOfMillis(nowMillis),
    ...(address === undefined ? {} : { address }),
  }
}

/** Replaces the note that a killed process left behind. */
export function writeLockNote(directory: string, note: LockNote): void {
  const path = join(directory, NOTE_NAME)
  const draft = `${path}.${note.processId}`
  writeFileSync(draft, `${JSON.stringify(note)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

export function removeLockNote(directory: string): void {
  rmSync(join(directory, NOTE_NAME), { force: true })
}

/** Returns a readable error if DuckDB refuses a second process; undefined for other errors. */
export function lockConflict(error: unknown, directory: string): StartError | undefined {
  const message = error instanceof Error ? error.message : ''
  if (!/Could not set lock on file/.test(message)) return undefined
  const holder = /\(PID (\d+)\)/.exec(message)?.[1]
  const note = readLockNote(directory)
  const isHolder = note !== undefined && (holder === undefined || Number(holder) === note.processId)
  const details = isHolder
    ? [
        `process ${note.processId} on ${note.host}`,
        ...(note.address === undefined ? [] : [`listening on ${note.address}`]),
        `started ${note.startedAt} UTC`,
      ]
    : [holder === undefined ? 'another process' : `process ${holder}`]
  const text = `The data folder ${directory} is in use by another Eider: ${details.join(', ')}`
  return new StartError(`${text}. Stop it, or choose another folder with EIDER_DATA_DIR`, error)
}

function readLockNote(directory: string): LockNote | undefined {
  try {
    const text = readFileSync(join(directory, NOTE_NAME), 'utf8').slice(0, NOTE_BYTES_MAX)
    const note: unknown = JSON.parse(text)
    return isLockNote(note) ? note : undefined
  } catch {
    // Without a readable note, DuckDB's message still names the process.
    return undefined
  }
}

function isLockNote(value: unknown): value is LockNote {
  if (typeof value !== 'object' || value === null) return false
  // The cast is safe because each field is checked below.
  const { processId, host, startedAt, address } = value as Readonly<Record<string, unknown>>
  return (
    typeof processId === 'number' &&
    typeof host === 'string' &&
    typeof startedAt === 'string' &&
    (address === undefined || typeof address === 'string')
  )
}

/** In case a statement that does not stop keeps it open: closing any descriptor drops locks. */
export function releaseLocks(databaseFile: string): void {
  for (const path of [databaseFile, `${databaseFile}.wal`]) {
    if (existsSync(path)) closeSync(openSync(path, 'r'))
  }
}
