import { mkdir, readFile, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Subprocess } from 'bun'
import type {
  DataSource,
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import { literal, quote } from '../../core/domain/names.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { DUCKDB_DIALECT, SQLITE_DIALECT } from '../../core/text/native-sql.ts'
import { oneSelect } from '../native-select.ts'
import { ConnectionPool, type Lease, type PooledConnection } from '../server-sessions.ts'
import {
  type CopiedRows,
  requireColumns,
  type SourceEngine,
  type SourceRows,
  type SourceWork,
} from '../source-engine.ts'
import { csvSelect, type StagingFolder, stagedColumn } from '../staged-csv.ts'
import {
  columnsOf,
  type FileAsk,
  type FileEngine,
  type FileJob,
  type FileRequest,
  filePlace,
  replyOf,
  rowsOf,
  STAGED_FILES,
  type StagedAnswer,
  shownColumnsOf,
  stagedOf,
  tablesOf,
} from './file-messages.ts'

interface FileSourceDeps {
  readonly process: FileProcessOptions
  /** EIDER_SOURCES_DIR; null: no file may be read. */
  readonly folder: string | null
  readonly staging: StagingFolder
  /** For one process, resident. */
  readonly memoryBytes: number
}

const PROCESSES_MAX = 4

/** SQLite and DuckDB files, each read in a process apart from the server. */
export class FileSource implements SourceEngine {
  readonly #deps: FileSourceDeps
  readonly #engine: FileEngine
  readonly #processes: ConnectionPool<FileProcess>
  #lastJob = 0

  constructor(engine: FileEngine, deps: FileSourceDeps) {
    this.#engine = engine
    this.#deps = deps
    const open = async () => new FileProcess(deps.process)
    this.#processes = new ConnectionPool(`files of ${engine}`, open, PROCESSES_MAX)
  }

  async check(source: DataSource, work: SourceWork): Promise<void> {
    await this.#answer(source, { kind: 'check' }, work, () => true)
  }

  async tables(source: DataSource, work: SourceWork): Promise<readonly DescribedSourceTable[]> {
    return this.#answer(source, { kind: 'tables' }, work, tablesOf)
  }

  async columns(
    source: DataSource,
    table: SourceTableName,
    work: SourceWork,
  ): Promise<readonly SourceColumn[]> {
    const columns = await this.#answer(source, { kind: 'columns', table }, work, columnsOf)
    return requireColumns(columns, source, table)
  }

  async describe(
    source: DataSource,
    sql: string,
    work: SourceWork,
  ): Promise<readonly SourceColumn[]> {
    const ask = { kind: 'describe', sql: this.#select(sql) } as const
    return this.#answer(source, ask, work, columnsOf)
  }

  async open(source: DataSource, select: SourceSelect, work: SourceWork): Promise<SourceRows> {
    const asked = { ...select, sql: this.#select(select.sql) }
    const session = await this.#session(source, { kind: 'read', select: asked }, work)
    try {
      const columns = shownColumnsOf(await session.begin())
      if (columns === null) throw nonsense()
      return {
        columns,
        next: async () => {
          if (session.isOver) return null
          const answer = rowsOf(await session.next(), columns.length)
          if (answer === null) throw nonsense()
          if (answer.isLast) await session.end()
          return answer.rows.length === 0 && answer.isLast ? null : answer.rows
        },
        close: () => session.end(),
      }
    } catch (error) {
      await session.end()
      throw error
    }
  }

  async copy(source: DataSource, select: SourceSelect, work: SourceWork): Promise<CopiedRows> {
    const asked = { ...select, sql: this.#select(select.sql) }
    const session = await this.#session(source, { kind: 'stage', select: asked }, work)
    try {
      const staged = stagedOf(await session.begin())
      if (staged === null) throw nonsense()
      await session.keepFolder()
      return {
        path: session.job.folder,
        sizeBytes: staged.sizeBytes,
        select: stagedSelect(this.#engine, session.job.folder, staged),
        columns: staged.columns.map(({ isText: _, ...column }) => column),
      }
    } catch (error) {
      await session.end()
      throw error
    }
  }

  /** Files leave nothing behind. */
  async forget(): Promise<void> {}

  async close(): Promise<void> {
    await this.#processes.close()
  }

  #select(sql: string): string {
    const dialect = this.#engine === 'sqlite' ? SQLITE_DIALECT : DUCKDB_DIALECT
    return oneSelect(sql, dialect, { functions: FUNCTIONS, words: NO_WORDS })
  }

  async #answer<T>(
    source: DataSource,
    ask: FileAsk,
    work: SourceWork,
    read: (answer: unknown) => T | null,
  ): Promise<T> {
    const session = await this.#session(source, ask, work)
    try {
      const value = read(await session.begin())
      if (value === null) throw nonsense()
      return value
    } finally {
      await session.end()
    }
  }

  async #session(source: DataSource, ask: FileAsk, work: SourceWork): Promise<FileSession> {
    const { staging, memoryBytes, folder: root } = this.#deps
    const place = await filePlace(source, root)
    const lease = await this.#processes.lease(work.signal)
    try {
      this.#lastJob += 1
      const folder = join(staging.directory, crypto.randomUUID())
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { bavail, bsize } = await statfs(folder)
      const outputBytes = Math.max(0, bavail * bsize - staging.reserveBytes)
      const limits = { memoryBytes, outputBytes }
      const job = { id: this.#lastJob, engine: this.#engine, path: place.path, ask, folder, limits }
      return new FileSession(lease, job, { work, source, shown: place.shown })
    } catch (error) {
      lease.end()
      throw error
    }
  }
}

/** They reach for more than rows; the processes refuse them, too. */
const FUNCTIONS: ReadonlySet<string> = new Set(['load_extension', 'fts3_tokenizer'])
const NO_WORDS: ReadonlySet<string> = new Set()

interface AskedOf {
  readonly work: SourceWork
  readonly source: DataSource
  readonly shown: string
}

/** One job in one process. */
class FileSession {
  readonly job: FileJob
  readonly #lease: Lease<FileProcess>
  readonly #asked: AskedOf
  #keepsFolder = false
  #isOver = false
  /** The process waits for a request for more rows of this job. */
  #isReading = false

  constructor(lease: Lease<FileProcess>, job: FileJob, asked: AskedOf) {
    this.#lease = lease
    this.job = job
    this.#asked = asked
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async begin(): Promise<unknown> {
    const answer = await this.#ask({ kind: 'job', job: this.job })
    this.#isReading = this.job.ask.kind === 'read'
    return answer
  }

  async next(): Promise<unknown> {
    const answer = await this.#ask({ kind: 'next', id: this.job.id })
    const isLast = typeof answer === 'object' && answer !== null && 'isLast' in answer
    if (isLast && answer.isLast === true) this.#isReading = false
    return answer
  }

  async keepFolder(): Promise<void> {
    this.#keepsFolder = true
    await this.end()
  }

  async end(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    // In the middle of its rows it may be busy for long.
    if (this.#isReading) await this.#lease.connection.close()
    this.#lease.end()
    if (!this.#keepsFolder) await rm(this.job.folder, { recursive: true, force: true })
  }

  async #ask(request: Parameters<FileProcess['ask']>[0]): Promise<unknown> {
    const { work, source, shown } = this.#asked
    try {
      return await this.#lease.connection.ask(request, this.job, work.signal)
    } catch (error) {
      this.#isReading = false
      if (work.signal.aborted) throw work.signal.reason
      if (!(error instanceof FileFailure)) throw error
      const message = `Data source ${source.name} (${source.engine} file ${shown}): ${error.message}`
      throw new AppError(error.code, message)
    }
  }
}

/** What DuckDB reads of what the process has written. */
function stagedSelect(
  engine: FileEngine,
  folder: string,
  { columns, lineBytesMax }: StagedAnswer,
): string {
  const path = join(folder, STAGED_FILES[engine])
  if (engine === 'sqlite') {
    const staged = columns.map(({ name, type }) => stagedColumn(name, type))
    return csvSelect(path, staged, lineBytesMax)
  }
  const values = columns.map(({ name, type }, index) => {
    return `CAST(c${index} AS ${type}) AS ${quote(name)}`
  })
  return `SELECT ${values.join(', ')} FROM read_parquet(${literal(path)})`
}

interface FileProcessOptions {
  /** Entry of the process: a file of `workers/`. */
  readonly entryUrl: string
  /** Nothing of the server's own environment: that has its keys. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * A process that reads one database file at a time. What takes too long, swells or crashes costs that process only. It
 * holds no file while it has no job, so that those who write to it are not kept out.
 */
class FileProcess implements PooledConnection {
  readonly #process: Subprocess
  #reply = Promise.withResolvers<unknown>()
  #hasEnded = false

  constructor({ entryUrl, environment }: FileProcessOptions) {
    const path = fileURLToPath(entryUrl)
    this.#process = Bun.spawn([process.execPath, '--no-env-file', path], {
      // A folder without files that Bun reads by itself, such as .env.
      cwd: dirname(path),
      env: environment,
      stdio: ['ignore', 'ignore', 'ignore'],
      serialization: 'advanced',
      ipc: (message: unknown) => this.#reply.resolve(message),
      onExit: () => {
        this.#hasEnded = true
        this.#reply.reject(ENDED)
      },
    })
    this.#reply.promise.catch(() => {})
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  setBusy(isBusy: boolean): void {
    if (isBusy) this.#process.ref()
    else this.#process.unref()
  }

  /** @throws AppError; the signal's reason. The process ends when the signal aborts. */
  async ask(request: FileRequest, job: FileJob, signal: AbortSignal): Promise<unknown> {
    if (this.#hasEnded) throw await causeOfEnd(job)
    this.#reply = Promise.withResolvers<unknown>()
    this.#reply.promise.catch(() => {})
    try {
      this.#process.send(request)
    } catch {
      // It has ended, which its exit says.
    }
    let message: unknown
    try {
      message = await abortable(this.#reply.promise, signal)
    } catch (error) {
      await this.close()
      throw error === ENDED ? await causeOfEnd(job) : error
    }
    const reply = replyOf(message, job.id)
    if (reply?.kind === 'failed') throw new FileFailure(reply.code, reply.message)
    const answer = reply === null ? undefined : parsedJson(reply.json)
    if (answer !== undefined) return answer
    await this.close()
    throw nonsense()
  }

  /** Ends the process at once, even in the middle of its work. */
  async close(): Promise<void> {
    this.#hasEnded = true
    this.#process.kill('SIGKILL')
    await this.#process.exited
  }
}

const ENDED = Symbol('the process has ended')

/** A cause without the name of its data source. */
class FileFailure extends Error {
  readonly code: 'source_failed' | 'storage_full'

  constructor(code: FileFailure['code'], message: string) {
    super(message)
    this.code = code
  }
}

function nonsense(): FileFailure {
  return new FileFailure('source_failed', 'the process that reads it answered nonsense')
}

/** In the folder of a job: why the process ended itself. */
const STOPPED_FILE = 'stopped'

async function causeOfEnd({ folder, limits }: FileJob): Promise<Error> {
  const reason = await readFile(join(folder, STOPPED_FILE), 'utf8').catch(() => '')
  if (reason === 'memory') {
    const limit = `${Math.round(limits.memoryBytes / 1024 ** 2)} MB`
    const message = `reading it takes more than ${limit} of memory (EIDER_READING_MEMORY); ask for fewer rows or columns`
    return new FileFailure('source_failed', message)
  }
  if (reason === 'output') {
    return new AppError(
      'storage_full',
      'The rows of a data source do not fit on the disk of the data folder; narrow the statement, or make room',
    )
  }
  return new FileFailure(
    'source_failed',
    'the process that reads it crashed; the file may be damaged',
  )
}
