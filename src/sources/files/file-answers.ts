/** The work of a process that reads database files: every failure that it survives is an answer. */
import { closeSync, openSync, readSync } from 'node:fs'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { DuckDBFile } from './duckdb-file.ts'
import type {
  FileEngine,
  FileJob,
  FileReply,
  FileRequest,
  FileRows,
  OpenedFile,
  RowsAnswer,
} from './file-messages.ts'
import { SqliteFile } from './sqlite-file.ts'

const BATCH_ROWS = 1000
const BATCH_CHARS = 512 * 1024
const ROW_CHARS_MAX = 16 * 1024 * 1024

/** The rows of the job at hand, its file still open. */
interface Reading {
  readonly job: FileJob
  readonly file: OpenedFile
  readonly rows: FileRows
  /** As JSON, not yet asked for. */
  waiting: string[]
  isOver: boolean
}

export class FileAnswers {
  #reading: Reading | null = null

  /** True while a file is open: more of its rows may be requested. */
  get isReading(): boolean {
    return this.#reading !== null
  }

  async reply(request: FileRequest): Promise<FileReply> {
    const id = request.kind === 'job' ? request.job.id : request.id
    try {
      const answer = request.kind === 'job' ? await this.#answer(request.job) : await this.#next()
      return { kind: 'answer', id, json: answer }
    } catch (error) {
      const job = request.kind === 'job' ? request.job : this.#reading?.job
      this.#end()
      const code =
        error instanceof AppError && error.code === 'storage_full' ? error.code : 'source_failed'
      return { kind: 'failed', id, code, message: causeOf(error, job) }
    }
  }

  async #answer(job: FileJob): Promise<string> {
    this.#end()
    const { ask, engine, path } = job
    requireFormat(engine, path)
    const file = engine === 'sqlite' ? new SqliteFile(job) : await DuckDBFile.open(job)
    try {
      if (ask.kind === 'read') {
        const rows = await file.read(ask.select)
        this.#reading = { job, file, rows, waiting: [], isOver: false }
        return JSON.stringify(rows.columns)
      }
      return JSON.stringify(await answered(file, job))
    } finally {
      if (this.#reading === null) file.close()
    }
  }

  async #next(): Promise<string> {
    const reading = this.#reading
    if (reading === null) return JSON.stringify({ rows: [], isLast: true } satisfies RowsAnswer)
    const taken: string[] = []
    let chars = 0
    while (taken.length < BATCH_ROWS && chars < BATCH_CHARS) {
      if (reading.waiting.length === 0 && !reading.isOver) {
        const rows = await reading.rows.next()
        if (rows === null) reading.isOver = true
        else reading.waiting = rows.map(rowText).reverse()
      }
      const row = reading.waiting.pop()
      if (row === undefined) break
      taken.push(row)
      chars += row.length
    }
    const isLast = reading.isOver && reading.waiting.length === 0
    if (isLast) this.#end()
    return `{"rows":[${taken.join(',')}],"isLast":${isLast}}`
  }

  #end(): void {
    this.#reading?.file.close()
    this.#reading = null
  }
}

function rowText(row: readonly ResultValue[]): string {
  const text = JSON.stringify(row)
  if (text.length <= ROW_CHARS_MAX) return text
  throw new Error(`a row has more than ${ROW_CHARS_MAX / 1024 ** 2} MB; name the columns you need`)
}

async function answered(file: OpenedFile, { ask }: FileJob): Promise<unknown> {
  switch (ask.kind) {
    case 'check':
      await file.check()
      return {}
    case 'tables':
      return file.tables()
    case 'columns':
      return file.columns(ask.table)
    case 'describe':
      return file.describe(ask.sql)
    default:
      return file.stage(ask.select)
  }
}

const SQLITE_MAGIC = 'SQLite format 3\0'
const DUCKDB_MAGIC = 'DUCK'
const DUCKDB_MAGIC_AT = 8

/** Neither engine gets a file of another kind: DuckDB would look for an extension that reads it. */
function requireFormat(engine: FileEngine, path: string): void {
  const bytes = Buffer.alloc(SQLITE_MAGIC.length)
  const file = openSync(path, 'r')
  let length = 0
  try {
    length = readSync(file, bytes, 0, bytes.length, 0)
  } finally {
    closeSync(file)
  }
  const text = bytes.toString('latin1', 0, length)
  const isSqlite = text === SQLITE_MAGIC
  const isDuckDB = text.startsWith(DUCKDB_MAGIC, DUCKDB_MAGIC_AT)
  // An empty file is an empty SQLite database, without its signature.
  if (engine === 'sqlite' ? isSqlite || length === 0 : isDuckDB) return
  const name = engine === 'sqlite' ? 'SQLite' : 'DuckDB'
  const other = isSqlite ? ', but one of SQLite' : isDuckDB ? ', but one of DuckDB' : ''
  throw new Error(`it is not a database of ${name}${other}`)
}

const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/SQLITE_BUSY|SQLITE_LOCKED|database is locked/, 'another program is writing to it; try again'],
  [
    /Could not set lock on file/,
    'another program has it open for writing; try again when it is closed',
  ],
  [/SQLITE_NOTADB/, 'it is not a database of SQLite, or it is encrypted'],
  [/SQLITE_CORRUPT|malformed/, 'the file is damaged: it is malformed'],
  [
    /SQLITE_CANTOPEN|SQLITE_READONLY_/,
    'it cannot be opened without writing: its journal needs the program that wrote it; let that close it',
  ],
  [
    /SQLITE_NOMEM|out of memory/,
    'the statement takes more memory than a process that reads files may have (EIDER_READING_MEMORY)',
  ],
  [/encrypt/i, 'it is encrypted; only files without a key can be read'],
  [
    /newer version|version number/,
    'it was written by another version of DuckDB than can be read here',
  ],
  [
    /file system operations are disabled|Permission Error/,
    'the statement, or a view of the file, reads another file, which is not allowed',
  ],
]
const CAUSE_CHARS_MAX = 500

/** Without the paths of this machine. */
function causeOf(error: unknown, job: FileJob | undefined): string {
  const code = error instanceof Error && 'code' in error ? `${error.code}: ` : ''
  const [detail = ''] = (error instanceof Error ? error.message : String(error)).split(
    /\n(?:\n|LINE )/,
  )
  const whole = `${code}${detail}`
  const known = CAUSES.find(([pattern]) => pattern.test(whole))
  if (known !== undefined) return known[1]
  let message = detail
  for (const path of job === undefined ? [] : [job.path, job.folder]) {
    message = message.replaceAll(`"${path}"`, 'the file').replaceAll(path, 'the file')
  }
  return message.slice(0, CAUSE_CHARS_MAX)
}
