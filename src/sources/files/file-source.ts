import { mkdir, readFile, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
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
import { FairPool } from '../../core/runtime/fair-pool.ts'
import { JobProcess, ProcessEnd } from '../../core/runtime/job-process.ts'
import { DUCKDB_DIALECT, SQLITE_DIALECT } from '../../core/text/native-sql.ts'
import { oneSelect } from '../native-select.ts'
import {
  type CopiedRows,
  requireColumns,
  type SourceEngine,
  type SourceWork,
} from '../source-engine.ts'
import { csvSelect, type StagingFolder, stagedColumn, TOO_SMALL } from '../staged-csv.ts'
import {
  columnsOf,
  type FileAsk,
  type FileEngine,
  type FileJob,
  filePlace,
  replyOf,
  STAGED_FILES,
  type StagedAnswer,
  stagedOf,
  tablesOf,
} from './file-messages.ts'

interface FileSourceDeps {
  /** The processes' entry file, and their environment. */
  readonly process: {
    readonly entryUrl: string
    readonly environment: Readonly<Record<string, string>>
  }
  readonly folder: string | null
  readonly staging: StagingFolder
  readonly memoryBytes: number
}

const PROCESSES_MAX = 4
const JOBS_MAX = 100
const IDLE_MS = 30_000

/** Reads SQLite and DuckDB files, each in a process of its own. */
export class FileSource implements SourceEngine {
  readonly #deps: FileSourceDeps
  readonly #engine: FileEngine
  readonly #processes: FairPool<JobProcess>
  #lastJob = 0

  constructor(engine: FileEngine, deps: FileSourceDeps) {
    this.#engine = engine
    this.#deps = deps
    this.#processes = new FairPool({
      workersMax: PROCESSES_MAX,
      queueMax: JOBS_MAX,
      tooBusyMessage: `Too many statements wait for files of ${engine}`,
      make: () => new JobProcess({ ...deps.process, idleMs: IDLE_MS }),
      isReady: (process) => process.isRunning,
    })
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

  async copy(source: DataSource, select: SourceSelect, work: SourceWork): Promise<CopiedRows> {
    const ask = { kind: 'stage', select: { ...select, sql: this.#select(select.sql) } } as const
    return this.#answer(source, ask, work, (answer, folder) => {
      const staged = stagedOf(answer)
      if (staged === null) return null
      return {
        path: folder,
        sizeBytes: staged.sizeBytes,
        select: stagedSelect(this.#engine, folder, staged),
        columns: staged.columns.map(({ isText: _, ...column }) => column),
      }
    })
  }

  /** Files leave nothing to clean up. */
  async forget(): Promise<void> {}

  async close(): Promise<void> {
    const reason = new AppError('shutting_down', 'The reader of database files is closed')
    await Promise.all(this.#processes.close(reason).map((process) => process.stop()))
  }

  #select(sql: string): string {
    const dialect = this.#engine === 'sqlite' ? SQLITE_DIALECT : DUCKDB_DIALECT
    return oneSelect(sql, dialect, { functions: FUNCTIONS, words: NO_WORDS })
  }

  /** Has a process do one job. Its folder stays if rows were staged there. */
  async #answer<T>(
    source: DataSource,
    ask: FileAsk,
    work: SourceWork,
    read: (answer: unknown, folder: string) => T | null,
  ): Promise<T> {
    const { staging, memoryBytes, folder: root } = this.#deps
    const { path, shown } = await filePlace(source, root)
    const folder = join(staging.directory, crypto.randomUUID())
    let isKept = false
    try {
      this.#lastJob += 1
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { bavail, bsize } = await statfs(folder)
      const outputBytes = Math.max(0, bavail * bsize - staging.reserveBytes)
      const limits = { memoryBytes, outputBytes }
      const job = { id: this.#lastJob, engine: this.#engine, path, ask, folder, limits }
      const answer = await this.#processes.run({
        key: Symbol(),
        signal: work.signal,
        work: (process, ended) => answerBy(process, job, ended),
      })
      const value = read(answer, folder)
      if (value === null) throw nonsense()
      isKept = ask.kind === 'stage'
      return value
    } catch (error) {
      if (work.signal.aborted) throw work.signal.reason
      if (!(error instanceof FileFailure)) throw error
      const message = `Data source ${source.name} (${source.engine} file ${shown}): ${error.message}`
      throw new AppError(error.code, message)
    } finally {
      if (!isKept) await rm(folder, { recursive: true, force: true })
    }
  }
}

/** Functions that access more than rows. The processes refuse them too. */
const FUNCTIONS: ReadonlySet<string> = new Set(['load_extension', 'fts3_tokenizer'])
const NO_WORDS: ReadonlySet<string> = new Set()

/** Returns the SELECT with which DuckDB reads what the process has written. */
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

/** @throws FileFailure, AppError; the signal's reason */
async function answerBy(process: JobProcess, job: FileJob, signal: AbortSignal): Promise<unknown> {
  const message = await process.run(job, signal).catch(async (error: unknown) => {
    throw error instanceof ProcessEnd ? await causeOfEnd(job) : error
  })
  const reply = replyOf(message, job.id)
  if (reply?.kind === 'failed') throw new FileFailure(reply.code, reply.message)
  const answer = reply === null ? undefined : parsedJson(reply.json)
  if (answer !== undefined) return answer
  await process.stop()
  throw nonsense()
}

/** A cause that does not name its data source. */
class FileFailure extends Error {
  readonly code: 'source_failed' | 'storage_full'

  constructor(code: FileFailure['code'], message: string) {
    super(message)
    this.code = code
  }
}

function nonsense(): FileFailure {
  return new FileFailure('source_failed', 'the process that reads it gave an invalid answer')
}

/** A file in the folder of a job that says why the process ended itself. */
const STOPPED_FILE = 'stopped'

async function causeOfEnd({ folder, limits }: FileJob): Promise<Error> {
  const reason = await readFile(join(folder, STOPPED_FILE), 'utf8').catch(() => '')
  if (reason === 'memory') {
    const limit = `${Math.round(limits.memoryBytes / 1024 ** 2)} MB`
    const message = `reading it takes more than ${limit} of memory (EIDER_READING_MEMORY); ask for fewer rows or columns`
    return new FileFailure('source_failed', message)
  }
  if (reason === 'output') {
    return new AppError('storage_full', TOO_SMALL)
  }
  return new FileFailure(
    'source_failed',
    'the process that reads it crashed; the file may be damaged',
  )
}
