/** Rows of a data source in a CSV file that DuckDB reads with every type given. */
import { type FileHandle, mkdir, open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { literal, quote } from '../core/domain/names.ts'
import { exactJson, isExactNumber, type ResultValue } from '../core/domain/query-result.ts'
import { AppError, systemCodeOf } from '../core/errors.ts'
import { timestampOf } from '../core/time.ts'

const BUFFER_BYTES = 4 * 1024 * 1024
/** Between two looks at the disk. */
const LOOK_BYTES = 64 * 1024 * 1024
/** DuckDB's default, below which it need not be set. */
const LINE_BYTES_DEFAULT = 2_000_000
/** For DuckDB's reader, which has several: its default of 32 MB each was most of a copy's memory. */
const READ_BUFFER_BYTES = 8_000_000

export interface StagingFolder {
  /** Where DuckDB may read. */
  readonly directory: string
  /** What stays free on its disk. */
  readonly reserveBytes: number
}

/** One column: its form in the file, and how that becomes its value. */
export interface StagedColumn {
  readonly name: string
  /** DuckDB's type in the file. */
  readonly fileType: string
  /** The column in the file. */
  value(column: string): string
}

/** A value is written as DuckDB writes its type, a BLOB in hexadecimal digits. */
export function stagedColumn(name: string, type: string): StagedColumn {
  if (type === 'BLOB') return { name, fileType: 'VARCHAR', value: (column) => `unhex(${column})` }
  return { name, fileType: type, value: (column) => column }
}

/**
 * Takes bytes as they come and writes them in large pieces, one at a time: `add` is synchronous, and `isFull` says that
 * `drained` must be awaited before more.
 */
export class StagedCsv {
  readonly path: string
  readonly #folder: StagingFolder
  readonly #file: FileHandle
  #buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  #spare: Buffer<ArrayBuffer> | null = Buffer.allocUnsafe(BUFFER_BYTES)
  #used = 0
  #sizeBytes = 0
  #lookedAt = 0
  #lineBytesMax = 0
  #writing: Promise<void> = Promise.resolve()
  #isWriting = false
  #failure: unknown = null

  private constructor(path: string, folder: StagingFolder, file: FileHandle) {
    this.path = path
    this.#folder = folder
    this.#file = file
  }

  static async create(
    folder: StagingFolder,
    name = `${crypto.randomUUID()}.csv`,
  ): Promise<StagedCsv> {
    await mkdir(folder.directory, { recursive: true, mode: 0o700 })
    const path = join(folder.directory, name)
    await requireRoom(folder)
    return new StagedCsv(path, folder, await open(path, 'wx', 0o600))
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** For lines longer than DuckDB expects, the limit is set. */
  noteLine(sizeBytes: number): void {
    if (sizeBytes > this.#lineBytesMax) this.#lineBytesMax = sizeBytes
  }

  addLine(bytes: Uint8Array): void {
    this.noteLine(bytes.length)
    this.add(bytes)
  }

  /** Lines that are noted, or parts of them. */
  add(bytes: Uint8Array): void {
    this.#sizeBytes += bytes.length
    if (this.#used + bytes.length > this.#buffer.length) this.#turn(bytes.length)
    this.#buffer.set(bytes, this.#used)
    this.#used += bytes.length
  }

  /** True while what came waits for the disk. */
  get isFull(): boolean {
    return this.#isWriting && this.#used > BUFFER_BYTES / 2
  }

  /** @throws AppError `storage_full` */
  async drained(): Promise<void> {
    await this.#writing
    if (this.#failure !== null) throw this.#failure
  }

  /** @throws AppError `storage_full` */
  async end(): Promise<void> {
    this.#turn(0)
    await this.drained()
    await this.#file.close()
  }

  async remove(): Promise<void> {
    await this.#writing
    await this.#file.close().catch(() => {})
    await rm(this.path, { force: true })
  }

  /** For DuckDB: the columns with their names and types. */
  select(columns: readonly StagedColumn[]): string {
    return csvSelect(this.path, columns, this.#lineBytesMax)
  }

  /** The longest line. */
  get lineBytesMax(): number {
    return this.#lineBytesMax
  }

  /** The buffer goes to the disk, the other one takes what comes. */
  #turn(neededBytes: number): void {
    const bytes = this.#buffer.subarray(0, this.#used)
    const full = this.#buffer
    const room = Math.max(BUFFER_BYTES, neededBytes)
    const next =
      this.#spare !== null && this.#spare.length >= room ? this.#spare : Buffer.allocUnsafe(room)
    this.#spare = null
    this.#buffer = next
    this.#used = 0
    this.#isWriting = true
    this.#writing = this.#writing.then(() => this.#write(bytes, full))
  }

  async #write(bytes: Buffer, full: Buffer<ArrayBuffer>): Promise<void> {
    try {
      if (this.#failure !== null) return
      if (this.#sizeBytes - this.#lookedAt > LOOK_BYTES) {
        this.#lookedAt = this.#sizeBytes
        await requireRoom(this.#folder)
      }
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done)
        done += bytesWritten
      }
    } catch (error) {
      this.#failure = storageFailure(error)
    } finally {
      if (full.length === BUFFER_BYTES) this.#spare = full
      this.#isWriting = false
    }
  }
}

const TOO_SMALL =
  'The rows of a data source do not fit on the disk of the data folder; narrow the statement, or make room'

async function requireRoom({ directory, reserveBytes }: StagingFolder): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  if (bavail * bsize > reserveBytes + LOOK_BYTES) return
  throw new AppError('storage_full', TOO_SMALL)
}

function storageFailure(error: unknown): unknown {
  const code = systemCodeOf(error)
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error
  return new AppError('storage_full', TOO_SMALL, { cause: error })
}

/** For DuckDB: the columns of such a file with their names and types. */
export function csvSelect(
  path: string,
  columns: readonly StagedColumn[],
  lineBytesMax: number,
): string {
  const types = columns.map(({ fileType }, index) => {
    return `'c${index}': ${literal(fileType)}`
  })
  const values = columns.map(({ name, value }, index) => `${value(`c${index}`)} AS ${quote(name)}`)
  const lineBytes = lineBytesMax + 1024
  const options = [
    'auto_detect = false',
    'header = false',
    "delim = ','",
    `quote = '"'`,
    `escape = '"'`,
    "nullstr = ''",
    'allow_quoted_nulls = false',
    "new_line = '\\n'",
    `columns = {${types.join(', ')}}`,
    lineBytes > LINE_BYTES_DEFAULT
      ? `max_line_size = ${lineBytes}`
      : `buffer_size = ${READ_BUFFER_BYTES}`,
  ]
  return `SELECT ${values.join(', ')} FROM read_csv(${literal(path)}, ${options.join(', ')})`
}

/** Values that a source sends as text, as answers show those of the same DuckDB type (docs/contract.md 4.11). */

type TextConverter = (text: string) => ResultValue

const CONVERTERS: Readonly<Record<string, TextConverter>> = {
  BOOLEAN: (text) => text === 't' || text === 'true' || text === '1',
  TINYINT: exactInteger,
  SMALLINT: exactInteger,
  INTEGER: exactInteger,
  UTINYINT: exactInteger,
  USMALLINT: exactInteger,
  UINTEGER: exactInteger,
  BIGINT: exactInteger,
  UBIGINT: exactInteger,
  HUGEINT: exactInteger,
  FLOAT: (text) => finite(Math.fround(promisedNumber(text))),
  DOUBLE: (text) => finite(promisedNumber(text)),
  DATE: dateText,
  TIME: timeText,
  TIMESTAMP: timestampText,
  'TIMESTAMP WITH TIME ZONE': timestampText,
  INTERVAL: intervalText,
  JSON: exactJson,
}

/** For a DuckDB type other than a list. */
export function textConverter(type: string): TextConverter {
  return (
    CONVERTERS[type] ?? (type.startsWith('DECIMAL') ? (text) => finite(promisedNumber(text)) : same)
  )
}

function same(text: string): ResultValue {
  return text
}

function finite(number: number): ResultValue {
  return Number.isFinite(number) ? number : null
}

function exactInteger(text: string): ResultValue {
  const number = promisedNumber(text)
  if (Number.isSafeInteger(number)) return number
  return isExactNumber(BigInt(text)) ? number : text
}

/** @throws Error where a server sends another text */
function promisedNumber(text: string): number {
  const number = Number(text)
  if (text !== '' && (!Number.isNaN(number) || text === 'NaN')) return number
  throw new Error(
    `the server sends ${JSON.stringify(text.slice(0, 40))} where it promised a number`,
  )
}

/** Always with six digits of the second. */
function timeText(text: string): ResultValue {
  const [time = '', fraction = ''] = text.split('.')
  return `${time}.${fraction.padEnd(6, '0')}`
}

/** `0044-03-15 BC` → `0044-03-15 (BC)`. */
function dateText(text: string): ResultValue {
  return text.endsWith(' BC') ? `${text.slice(0, -3)} (BC)` : text
}

const TIMESTAMP =
  /^(\d{4,6})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:[+]00(?::00)?)?( BC)?$/

function timestampText(text: string): ResultValue {
  const parts = TIMESTAMP.exec(text)
  if (parts === null) return text
  const [, year = '', month, day, hour, minute, second, fraction = '', bc] = parts
  if (year.length === 4 && bc === undefined) {
    return `${year}-${month}-${day} ${hour}:${minute}:${second}.${fraction.padEnd(6, '0')}`
  }
  const date = new Date(0)
  date.setUTCFullYear(
    bc === undefined ? Number(year) : 1 - Number(year),
    Number(month) - 1,
    Number(day),
  )
  date.setUTCHours(Number(hour), Number(minute), Number(second))
  if (Number.isNaN(date.getTime())) return text
  return timestampOf(BigInt(date.getTime()) * 1000n + BigInt(fraction.padEnd(6, '0')))
}

/** PostgreSQL's units under DuckDB's names. */
function intervalText(text: string): ResultValue {
  return text
    .replace(/\bmon(s?)\b/, 'month$1')
    .replace(/(^| )-1 (year|month|day)s\b/g, '$1-1 $2')
    .replaceAll('+', '')
}
