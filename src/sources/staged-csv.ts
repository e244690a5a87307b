/** Writes rows of a data source to a CSV file, which DuckDB reads with explicit types. */
import { type FileHandle, mkdir, open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { literal, quote } from '../core/domain/names.ts'
import { AppError, systemCodeOf } from '../core/errors.ts'

const BUFFER_BYTES = 4 * 1024 * 1024
/** Check the disk's free space after this many bytes. */
const LOOK_BYTES = 64 * 1024 * 1024
/** DuckDB's default, which is enough for shorter lines. */
const LINE_BYTES_DEFAULT = 2_000_000
/** The size of DuckDB's read buffers. With 32 MB each, they took most of the memory of a copy. */
const READ_BUFFER_BYTES = 8_000_000

export interface StagingFolder {
  /** The folder from which DuckDB may read. */
  readonly directory: string
  /** How much space is kept free on its disk. */
  readonly reserveBytes: number
}

/** A column with its form in the file and an expression for its value. */
export interface StagedColumn {
  readonly name: string
  /** Its type in the file, as DuckDB names it. */
  readonly fileType: string
  value(column: string): string
}

/** Values are written in DuckDB's notation for their type, and a BLOB in hexadecimal. */
export function stagedColumn(name: string, type: string): StagedColumn {
  if (type === 'BLOB') return { name, fileType: 'VARCHAR', value: (column) => `unhex(${column})` }
  return { name, fileType: type, value: (column) => column }
}

/**
 * Writes in large blocks, one at a time. If `isFull` is true, await `drained` before adding more.
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

  /** Records the length of a line. DuckDB's limit is raised for longer ones. */
  noteLine(sizeBytes: number): void {
    if (sizeBytes > this.#lineBytesMax) this.#lineBytesMax = sizeBytes
  }

  addLine(bytes: Uint8Array): void {
    this.noteLine(bytes.length)
    this.add(bytes)
  }

  /** Adds whole lines or parts of lines. Call `noteLine` for each line. */
  add(bytes: Uint8Array): void {
    this.#sizeBytes += bytes.length
    if (this.#used + bytes.length > this.#buffer.length) this.#turn(bytes.length)
    this.#buffer.set(bytes, this.#used)
    this.#used += bytes.length
  }

  /** True while data waits for the disk. */
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

  /** Returns the SELECT with the names and types of the columns. */
  select(columns: readonly StagedColumn[]): string {
    return csvSelect(this.path, columns, this.#lineBytesMax)
  }

  get lineBytesMax(): number {
    return this.#lineBytesMax
  }

  /** Writes one buffer to disk while the other one takes new data. */
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

export const TOO_SMALL =
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

/** Returns the SELECT that reads such a file, with the names and types of its columns. */
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
