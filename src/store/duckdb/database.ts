import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { AppError, StartError } from '../../core/errors.ts'
import { isInvalidated, resourceError, unusable } from './database-error.ts'
import {
  connectTo,
  exportsDirectoryOf,
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

export const DATABASE_FILE = 'eider-data.duckdb'
const IDLE_CONNECTIONS_MAX = 32

export interface DatabaseOptions {
  /** The folder of the database file; null: in memory. */
  readonly directory: string | null
  /** `512MB`, `4GiB` or `60%`. */
  readonly memoryLimit: string
  /** 0: one per core. */
  readonly threads: number
  /** What statements may spill to disk, as `10GiB`. */
  readonly spillLimit: string
  readonly note: LockNote
  /** Called once when DuckDB has stopped itself and only a restart helps. */
  readonly onFatal?: (error: AppError) => void
}

/**
 * The one DuckDB instance over the file. A second one on the same file would diverge silently, and
 * reading the file by other means would drop its lock, so nothing else touches it. Main thread
 * only.
 */
export class Database {
  /** The only folder where DuckDB may write files on its own. It need not exist. */
  readonly exportsDirectory: string
  readonly #instance: DuckDBInstance
  readonly #directory: string | null
  readonly #note: LockNote
  readonly #memoryLimit: string
  readonly #onFatal: (error: AppError) => void
  #hasFailed = false
  readonly #idle: DuckDBConnection[] = []
  /** From the previous write, to reuse its prepared statements. */
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

  /** @throws StartError when the folder cannot be used or another process has it open */
  static async open(requested: DatabaseOptions): Promise<Database> {
    const { directory } = requested
    const options = { ...requested, exportsDirectory: exportsDirectoryOf(requested) }
    if (directory === null) return new Database(await lockedInstance(':memory:', options), options)
    makeDirectory(directory)
    const path = join(directory, DATABASE_FILE)
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
      // Begun and never finished, as on a full disk: the next start would consider it damaged.
      if (isNew && conflict === undefined) rmSync(path, { force: true })
      throw conflict ?? unusable(directory, error)
    }
  }

  /** The database file; null: in memory. */
  get file(): string | null {
    return this.#directory === null ? null : join(this.#directory, DATABASE_FILE)
  }

  /** Sets the only listener, called after each committed write. */
  onWrite(listener: () => void): void {
    this.#onWrite = listener
  }

  /**
   * Takes the folder into use. Until then only migrations have changed it, so that a refused start leaves it as it was.
   */
  claim(): void {
    const directory = this.#directory
    if (directory === null) return
    // Spilled files of a killed process are useless; only now is it known that it was killed.
    rmSync(spillDirectory(directory), { recursive: true, force: true })
    rmSync(this.exportsDirectory, { recursive: true, force: true })
    writeLockNote(directory, this.#note)
    this.#mark = LogMark.open(join(directory, DATABASE_FILE), join(directory, MARK_FILE))
    this.#mark.flush(directory)
  }

  /** In the background, before the next write. If it fails, only a data file copied alone goes unnoticed. */
  expectLog(): void {
    if (this.#directory === null) return
    this.#lastWrite = this.#lastWrite.then(() => this.lease(expectLog)).catch(() => {})
  }

  /** From now on this is called before each `write`. @param check throws if nothing more can be stored */
  checkBeforeWrites(check: (wantedBytes?: number) => void): void {
    this.#checkSpace = check
  }

  /** Called before files are written next to the database. @throws AppError `storage_full` without space for it */
  checkSpace(wantedBytes: number): void {
    this.#checkSpace(wantedBytes)
  }

  /** Runs work that writes much more than anybody is going to read soon: it does not stay in memory. */
  withoutCaching<T>(work: () => Promise<T>): Promise<T> {
    return withoutCaching((use) => this.lease(use), this.#memoryLimit, work)
  }

  /** Blocks read or written once do not stay in memory. */
  async trimCache(): Promise<void> {
    if (this.#directory === null) return
    await this.lease((connection) => trimCache(connection, this.#memoryLimit))
  }

  /** Counts the committed writes: a snapshot with another number is old. */
  get writeCount(): number {
    return this.#writeCount
  }

  /**
   * A plan of another version may depend on outdated statistics. null while a write is being committed: a statement may see
   * either state then.
   */
  get dataVersion(): number | null {
    return this.#isCommitting ? null : this.#writeCount
  }

  /**
   * Runs work on a separate connection; if it fails, the connection is not reused.
   */
  async lease<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
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

  /**
   * Runs work as one transaction, after all earlier writes. `committed` is called with its result before the next write
   * begins. Work that fails leaves nothing behind.
   * @param own the connection to use, where the work needs what only that one can see
   */
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

  /** The same for work that removes: it is done on a full disk too. */
  writeFreeing<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    committed: (result: T) => void = () => {},
  ): Promise<T> {
    return this.#inTurn(() => this.#written(work), committed)
  }

  /**
   * The same for work that touches records only (`readsRecords`): plans of statements over anything else stay good, and so
   * do their open transactions.
   */
  writeRecords<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    { isFreeing = false }: { readonly isFreeing?: boolean } = {},
  ): Promise<T> {
    const write = () => {
      if (!isFreeing) this.#checkSpace()
      return this.#alive(() => this.#leaseWriter((writer) => transaction(writer, work)))
    }
    return this.#inTurn(write, () => {}, { isOfRecords: true })
  }

  #inTurn<T>(
    write: () => Promise<T>,
    committed: (result: T) => void,
    { isOfRecords = false }: { readonly isOfRecords?: boolean } = {},
  ): Promise<T> {
    const turn = this.#lastWrite.then(async () => {
      try {
        const result = await write()
        if (!isOfRecords) this.#writeCount += 1
        this.#mark?.record()
        committed(result)
        this.#onWrite()
        return result
      } finally {
        this.#isCommitting = false
      }
    })
    this.#lastWrite = turn.catch(() => {})
    return turn
  }

  /**
   * Moves the log into the file, in a turn of its own among the writes. @returns false where DuckDB refuses to, for example
   * while a reader needs an older version: the log is durable, so nothing is lost
   */
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

  async #written<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    own?: DuckDBConnection,
  ): Promise<T> {
    const committed = async (connection: DuckDBConnection) => {
      const result = await work(connection)
      this.#isCommitting = true
      return result
    }
    return this.#alive(async () => {
      if (own === undefined)
        return await this.#leaseWriter((writer) => transaction(writer, committed))
      return await transaction(own, committed).catch((error) => Promise.reject(this.#noted(error)))
    })
  }

  /** For a write: if the disk was full, checks that DuckDB still answers. */
  async #alive<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AppError && error.code === 'storage_full') await this.#checkAlive(error)
      throw error
    }
  }

  /** As `lease`, for one at a time. */
  async #leaseWriter<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const connection = this.#writer ?? (await this.take())
    this.#writer = null
    try {
      const result = await work(connection)
      this.#writer = connection
      return result
    } catch (error) {
      this.discard(connection)
      throw this.#noted(error)
    }
  }

  /** The error to throw instead. Reports a database that has stopped itself. */
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

  /** After a log record that could not be written DuckDB answers nothing any more, not even what it could read. */
  async #checkAlive(cause: AppError): Promise<void> {
    try {
      await this.lease((connection) => connection.run('SELECT count(*) FROM duckdb_tables()'))
    } catch {
      this.#end(cause)
    }
  }

  /** A connection that the caller must give back or discard. */
  async take(): Promise<DuckDBConnection> {
    if (this.#isClosed) throw new AppError('shutting_down', 'The server is shutting down')
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    return connectTo(this.#instance, this.#directory).catch((error) =>
      Promise.reject(this.#noted(error)),
    )
  }

  /** Only for a connection in the state in which it was taken: no transaction, no settings. */
  giveBack(connection: DuckDBConnection): void {
    if (this.#isClosed || this.#idle.length >= IDLE_CONNECTIONS_MAX) this.discard(connection)
    else this.#idle.push(connection)
  }

  /** Must not run anything any more: closing waits for a running statement, on the main thread. */
  discard(connection: DuckDBConnection): void {
    connection.closeSync()
  }

  /** Waits for the writes, moves the log into the file and releases it. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#lastWrite
    const isClaimed = this.#directory === null || this.#mark !== null
    // Where it fails, the log stays.
    if (isClaimed) await this.writeRecords(expectNoLog, { isFreeing: true }).catch(() => {})
    if (isClaimed) await this.checkpoint()
    this.#isClosed = true
    for (const connection of this.#idle.splice(0)) connection.closeSync()
    this.#writer?.closeSync()
    // While the lock still holds: afterwards the note may be that of the next process.
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
