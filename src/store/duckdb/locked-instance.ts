/** The instance of DuckDB over the file of a data folder. */
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
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBPreparedStatement,
} from '@duckdb/node-api'
import { literal, quote } from '../../core/domain/names.ts'
import { StartError } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { memoryLimitOf } from './memory-watchdog.ts'
import { giveMemoryBack, registerStepLimits } from './step-limits.ts'

/** Its name in SQL, not a schema. */
const DATABASE_NAME = 'eider-data'

/**
 * Rows that DuckDB stores together. A table with a primary key rewrites its last group at each checkpoint, and one thread
 * scans a group: DuckDB's own 122 880 are 190 MB of vectors.
 */
const GROUP_ROWS = 16_384

/**
 * Optimizers of DuckDB 1.5.5 that change answers, and one that is slow without them (docs/decisions/0014-right-rows.md).
 */
const WRONG_OPTIMIZERS = [
  'join_filter_pushdown',
  'top_n_window_elimination',
  'window_self_join',
  'join_elimination',
  'common_subplan',
  // Right, but it reads its rows by a join that then has no filter.
  'late_materialization',
] as const

/**
 * An instance that reaches no file but its own and those that it exports, loads nothing and cannot be reconfigured.
 */
export async function lockedInstance(
  path: string,
  given: {
    /** The folder of the database file; null: in memory. */
    readonly directory: string | null
    /** The only folder where it may write files. */
    readonly exportsDirectory: string
    readonly memoryLimit: string
    readonly threads: number
    readonly spillLimit: string
  },
): Promise<DuckDBInstance> {
  const { exportsDirectory, ...options } = given
  const instance = await DuckDBInstance.create(':memory:', {
    // Compressed vectors make a scan three times slower. It is read at each checkpoint.
    force_compression: 'uncompressed',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: memoryLimitOf(options.memoryLimit),
    ...(options.threads > 0 ? { threads: String(options.threads) } : {}),
    preserve_insertion_order: 'true',
    // Without a folder, nothing spills to disk.
    temp_directory: options.directory === null ? '' : spillDirectory(options.directory),
    max_temp_directory_size: options.spillLimit,
  })
  const connection = await opened(instance, path, options.directory)
  // Closing writes one itself, and a refused start must not change the file.
  await connection.run('PRAGMA disable_checkpoint_on_shutdown')
  await connection.run("SET GLOBAL TimeZone = 'UTC'")
  await connection.run(`SET GLOBAL disabled_optimizers = ${literal(WRONG_OPTIMIZERS.join(','))}`)
  await connection.run(`SET GLOBAL allowed_directories = [${literal(exportsDirectory)}]`)
  await connection.run('SET GLOBAL enable_external_access = false')
  await giveMemoryBack(connection)
  // A copy of each file it read: nothing is read twice.
  await connection.run('SET GLOBAL enable_external_file_cache = false')
  await connection.run("SET GLOBAL allowed_configs = ['memory_limit']")
  await connection.run('SET lock_configuration = true')
  registerStepLimits(connection)
  connection.closeSync()
  return instance
}

/** Only an attached database can have row groups of another size than DuckDB's own. */
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

/** Where DuckDB may write the file of an answer. */
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

/** Runs work as one transaction, rolled back if it fails. */
export async function transaction<T>(
  connection: DuckDBConnection,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const { begin, commit } = await controlOf(connection)
  await begin.run()
  try {
    const result = await work(connection)
    await commit.run()
    return result
  } catch (error) {
    // A failed COMMIT has ended the transaction already, and ROLLBACK then fails.
    await connection.run('ROLLBACK').catch(() => {})
    throw error
  }
}

interface Control {
  readonly begin: DuckDBPreparedStatement
  readonly commit: DuckDBPreparedStatement
}

const CONTROL = new WeakMap<DuckDBConnection, Control>()

/** They read nothing, so their plans never go stale. */
async function controlOf(connection: DuckDBConnection): Promise<Control> {
  const known = CONTROL.get(connection)
  if (known !== undefined) return known
  const begin = await connection.prepare('BEGIN TRANSACTION')
  const control = { begin, commit: await connection.prepare('COMMIT') }
  CONTROL.set(connection, control)
  return control
}

// Names the process that has the data folder open, for people. Only DuckDB's own lock counts.

const NOTE_NAME = 'eider.lock'
const NOTE_BYTES_MAX = 4096

export interface LockNote {
  readonly processId: number
  readonly host: string
  readonly startedAt: string
  readonly address?: string
}

/** The note of this process. `address` is where it will listen. */
export function lockNoteOf(nowMillis: number, address: string | undefined): LockNote {
  return {
    processId: process.pid,
    host: hostname(),
    startedAt: timestampOfMillis(nowMillis),
    ...(address === undefined ? {} : { address }),
  }
}

/**
 * Replaces the previous process's note, which a kill leaves behind.
 */
export function writeLockNote(directory: string, note: LockNote): void {
  const path = join(directory, NOTE_NAME)
  const draft = `${path}.${note.processId}`
  writeFileSync(draft, `${JSON.stringify(note)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

export function removeLockNote(directory: string): void {
  rmSync(join(directory, NOTE_NAME), { force: true })
}

/**
 * DuckDB's refusal of a second process, with names. Undefined for other errors.
 */
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
    // A missing or torn note says nothing; DuckDB's message still names the process.
    return undefined
  }
}

function isLockNote(value: unknown): value is LockNote {
  if (typeof value !== 'object' || value === null) return false
  // Any object can be looked at by name; each field is checked below.
  const { processId, host, startedAt, address } = value as Readonly<Record<string, unknown>>
  return (
    typeof processId === 'number' &&
    typeof host === 'string' &&
    typeof startedAt === 'string' &&
    (address === undefined || typeof address === 'string')
  )
}

/**
 * Releases DuckDB's locks on a database that is closed: a statement that does not stop keeps them. The system drops a
 * process's lock on a file when the process closes any descriptor of it.
 */
export function releaseLocks(databaseFile: string): void {
  for (const path of [databaseFile, `${databaseFile}.wal`]) {
    if (existsSync(path)) closeSync(openSync(path, 'r'))
  }
}
