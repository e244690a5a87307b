import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { AppError, hasCode, StartError } from '../../core/errors.ts'
import { isInvalidated, resourceError, unusable } from './database-error.ts'
import {
  connectTo,
  exportsDirectoryOf,
  type InstanceOptions,
  type LockNote,
  lockConflict,
  lockedInstance,
  removeLockNote,
  spillDirectory,
  transaction,
  writeLockNote,
} from './locked-instance.ts'
import {
  checkLog,
  copiedAlone,
  expectLog,
  expectNoLog,
  expectsLog,
  LogMark,
  MARK_FILE,
} from './log-mark.ts'
import { memoryLimitOf } from './memory-watchdog.ts'
import { trimCache, withoutCaching } from './step-limits.ts'
import { WorkerThreads } from './worker-threads.ts'

export const DATABASE_FILE = 'eider-data.duckdb'
/** In a folder while a backup is copied into it. If it is killed, some files are missing. */
export const RESTORING_FILE = 'eider.restoring'
const IDLE_CONNECTIONS_MAX = 32
/** A write of one row has eight short statements. One that takes longer has long ones. */
const LONG_WRITE_MS = 50

interface DatabaseOptions extends InstanceOptions {
  readonly note: LockNote
  /** Called once when DuckDB has shut the database down and only a restart helps. */
  readonly onFatal?: (error: AppError) => void
}

/** The only instance: a second would see other data. Nothing else opens the file. Main thread. */
export class Database {
  /** The only folder where SQL statements may write files. It may not exist yet. */
  readonly exportsDirectory: string
  readonly workers = new WorkerThreads((work) => this.#use(work))
  readonly #instance: DuckDBInstance
  readonly #directory: string | null
  readonly #note: LockNote
  readonly #memoryLimit: string
  readonly #onFatal: (error: AppError) => void
  #hasFailed = false
  readonly #idle: DuckDBConnection[] = []
  readonly #connecting = new Set<Promise<DuckDBConnection>>()
  readonly #uses = new Set<Promise<unknown>>()
  /** The connection of the previous write, kept for its prepared statements. */
  #writer: DuckDBConnection | null = null
  #lastWrite: Promise<unknown> = Promise.resolve()
  #writeCount = 0
  #isCommitting = false
  #isClosed = false
  #onWrite: () => void = () => {}
  #mark: LogMark | null = null
  #checkSpace: (wantedBytes?: number) => void = () => {}

  private constructor(
    instance: DuckDBInstance,
    options: DatabaseOptions & { readonly exportsDirectory: string },
  ) {
    this.#instance = instance
    this.#directory = options.directory
    this.#note = options.note
    this.#memoryLimit = memoryLimitOf(options.memoryLimit)
    this.exportsDirectory = options.exportsDirectory
    this.#onFatal = options.onFatal ?? (() => {})
  }

  /** @throws StartError if the folder cannot be used or another process has it open */
  static async open(requested: DatabaseOptions): Promise<Database> {
    const { directory } = requested
    const options = { ...requested, exportsDirectory: exportsDirectoryOf(requested) }
    if (directory === null) return new Database(await lockedInstance(':memory:', options), options)
    makeDirectory(directory)
    const path = join(directory, DATABASE_FILE)
    if (existsSync(join(directory, RESTORING_FILE))) {
      const advice = 'empty the folder and restore the backup again'
      throw new StartError(`The restore into ${directory} did not finish: ${advice}`)
    }
    const isNew = !existsSync(path)
    try {
      const isAlone = checkLog(directory, DATABASE_FILE)
      const database = new Database(await lockedInstance(path, options), options)
      if (!isAlone || !(await database.lease(expectsLog))) return database
      await database.close()
      throw copiedAlone(directory, DATABASE_FILE)
    } catch (error) {
      if (error instanceof StartError) throw error
      const conflict = lockConflict(error, directory)
      // A new file that could not be completed, for example on a full disk. The next start would
      // take it for a damaged one.
      if (isNew && conflict === undefined) rmSync(path, { force: true })
      throw conflict ?? unusable(directory, error)
    }
  }

  /** The database file, or null if the database is in memory. */
  get file(): string | null {
    return this.#directory === null ? null : join(this.#directory, DATABASE_FILE)
  }

  /** Sets the listener that is called after each committed write; there is only one. */
  onWrite(listener: () => void): void {
    this.#onWrite = listener
  }

  /** A start that fails earlier leaves the folder as it was, except for migrations. */
  claim(): void {
    const directory = this.#directory
    if (directory === null) return
    // Spill files of a killed process are useless. Remove them only now, when that process is known
    // to be gone.
    rmSync(spillDirectory(directory), { recursive: true, force: true })
    rmSync(this.exportsDirectory, { recursive: true, force: true })
    writeLockNote(directory, this.#note)
    this.#mark = LogMark.open(join(directory, DATABASE_FILE), join(directory, MARK_FILE))
    this.#mark.flush(directory)
  }

  /** Before the next write. If it fails, only a file copied without its log goes unnoticed. */
  expectLog(): void {
    if (this.#directory === null) return
    this.#lastWrite = this.#lastWrite.then(() => this.lease(expectLog)).catch(() => {})
  }

  /** Sets a check that runs before each `write`. @param check throws if there is no space left */
  checkBeforeWrites(check: (wantedBytes?: number) => void): void {
    this.#checkSpace = check
  }

  /** Before writing files next to the database. @throws AppError `storage_full` */
  checkSpace(wantedBytes: number): void {
    this.#checkSpace(wantedBytes)
  }

  /** Keeps data that is not needed soon out of DuckDB's cache. */
  withoutCaching<T>(work: () => Promise<T>): Promise<T> {
    return withoutCaching((use) => this.lease(use), this.#memoryLimit, work)
  }

  /** Frees cached blocks that were read or written only once. */
  async trimCache(): Promise<void> {
    if (this.#directory === null) return
    await this.lease((connection) => trimCache(connection, this.#memoryLimit))
  }

  /** The number of committed writes, to tell whether a cached snapshot is outdated. */
  get writeCount(): number {
    return this.#writeCount
  }

  /** Plans for another one may have outdated statistics. null during a commit. */
  get dataVersion(): number | null {
    return this.#isCommitting ? null : this.#writeCount
  }

  /** Runs work on its own connection. The connection is discarded if the work fails. */
  async lease<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const ended = this.workers.begin()
    try {
      return await this.#use(work)
    } finally {
      ended()
    }
  }

  #use<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const use = this.#leased(work)
    this.#uses.add(use)
    const ended = () => this.#uses.delete(use)
    use.then(ended, ended)
    return use
  }

  async #leased<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const connection = await this.take()
    try {
      const result = await work(connection)
      this.giveBack(connection)
      return result
    } catch (error) {
      this.discard(connection)
      throw this.#noted(error)
    }
  }

  /** After all earlier writes. `committed` precedes the next. @param own a connection to use */
  write<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    committed: (result: T) => void = () => {},
    own?: DuckDBConnection,
  ): Promise<T> {
    return this.#inTurn(() => {
      this.#checkSpace()
      return this.#written(work, own)
    }, committed)
  }

  /** Like `write`, for work that removes data, which is allowed even on a full disk. */
  writeFreeing<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    committed: (result: T) => void = () => {},
  ): Promise<T> {
    return this.#inTurn(() => this.#written(work), committed)
  }

  /** Only record tables (`readsRecords`), so other plans and transactions stay valid. */
  writeRecords<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    { isFreeing = false }: { readonly isFreeing?: boolean } = {},
  ): Promise<T> {
    const write = () => {
      if (!isFreeing) this.#checkSpace()
      return this.#transaction(work)
    }
    return this.#inTurn(write, () => {}, { isOfRecords: true })
  }

  #inTurn<T>(
    write: () => Promise<T>,
    committed: (result: T) => void,
    { isOfRecords = false }: { readonly isOfRecords?: boolean } = {},
  ): Promise<T> {
    const turn = this.#lastWrite.then(async () => {
      const ended = this.workers.begin({ longMs: LONG_WRITE_MS })
      try {
        const result = await write()
        if (!isOfRecords) this.#writeCount += 1
        this.#mark?.record()
        committed(result)
        this.#onWrite()
        return result
      } finally {
        this.#isCommitting = false
        ended()
      }
    })
    this.#lastWrite = turn.catch(() => {})
    return turn
  }

  /** As a turn of the write queue. @returns false if DuckDB refuses; nothing is lost */
  checkpoint(): Promise<boolean> {
    const turn = this.#lastWrite.then(() =>
      this.lease((connection) => connection.run('CHECKPOINT')).then(
        () => true,
        () => false,
      ),
    )
    this.#lastWrite = turn.catch(() => {})
    return turn
  }

  #written<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    own?: DuckDBConnection,
  ): Promise<T> {
    const committed = async (connection: DuckDBConnection) => {
      const result = await work(connection)
      this.#isCommitting = true
      return result
    }
    return this.#transaction(committed, own)
  }

  /** On `own` or the single write connection. On a full disk, checks that DuckDB still works. */
  async #transaction<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    own?: DuckDBConnection,
  ): Promise<T> {
    const connection = own ?? this.#writer ?? (await this.take())
    if (own === undefined) this.#writer = null
    try {
      const result = await transaction(connection, work)
      if (own === undefined) this.#writer = connection
      return result
    } catch (error) {
      if (own === undefined) this.discard(connection)
      const known = this.#noted(error)
      if (hasCode(known, 'storage_full')) await this.#checkAlive(known)
      throw known
    }
  }

  /** Returns the error to throw. Reports it if DuckDB has shut the database down. */
  #noted(error: unknown): unknown {
    const known = resourceError(error)
    if (isInvalidated(known) && known instanceof AppError) this.#end(known)
    return known
  }

  #end(cause: AppError): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#onFatal(cause)
  }

  /** After failing to write a log record, DuckDB refuses all statements, even reads. */
  async #checkAlive(cause: AppError): Promise<void> {
    try {
      await this.lease((connection) => connection.run('SELECT count(*) FROM duckdb_tables()'))
    } catch {
      this.#end(cause)
    }
  }

  /** Takes a connection, which the caller must give back or discard. */
  async take(): Promise<DuckDBConnection> {
    if (this.#isClosed) throw new AppError('shutting_down', 'The server is shutting down')
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    const connecting = connectTo(this.#instance, this.#directory)
    this.#connecting.add(connecting)
    try {
      return await connecting
    } catch (error) {
      throw this.#noted(error)
    } finally {
      this.#connecting.delete(connecting)
    }
  }

  /** The connection must be in its original state: no open transaction, no changed settings. */
  giveBack(connection: DuckDBConnection): void {
    if (this.#isClosed || this.#idle.length >= IDLE_CONNECTIONS_MAX) this.discard(connection)
    else this.#idle.push(connection)
  }

  /** Only for an idle connection: closing would block until its statement ends. */
  discard(connection: DuckDBConnection): void {
    connection.closeSync()
  }

  /** Waits for running writes, moves the log's contents into the file, and closes it. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#lastWrite
    const isClaimed = this.#directory === null || this.#mark !== null
    // If the checkpoint fails, the log stays, which is safe.
    if (isClaimed) await this.writeRecords(expectNoLog, { isFreeing: true }).catch(() => {})
    if (isClaimed) await this.checkpoint()
    this.#isClosed = true
    this.workers.close()
    // DuckDB would use the closed instance, and the process would crash.
    await Promise.allSettled([...this.#connecting, ...this.#uses])
    for (const connection of this.#idle.splice(0)) connection.closeSync()
    this.#writer?.closeSync()
    // Remove the note while this process holds the lock. Later, the note could be the next
    // process's.
    if (this.#directory !== null && isClaimed) removeLockNote(this.#directory)
    if (isClaimed) rmSync(this.exportsDirectory, { recursive: true, force: true })
    this.#instance.closeSync()
    this.#mark?.close()
  }
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unusable(directory, error)
  }
}
