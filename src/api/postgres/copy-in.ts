/** COPY … FROM STDIN: stores received rows with INSERT statements. */
import { AppError } from '../../core/errors.ts'
import { sum } from '../../core/json.ts'
import { counted } from '../../core/short-text.ts'
import { type CopyStatement, insertStatement } from '../../query/postgres/statement-text.ts'
import { parameterValue } from './bound-parameters.ts'
import { BINARY_END, BINARY_HEADER } from './copy-out.ts'
import { castType, elementOf, PG } from './pg-types.ts'

/** An insert stores about this many characters, of which each row counts as some more. */
const INSERT_CHARS = 256 * 1024
const ROW_CHARS = 100
const LINE_BYTES_MAX = 16 * 1024 * 1024
const SIGNATURE_BYTES = 11

type Inserted = (statement: ReturnType<typeof insertStatement>) => Promise<number>

/** Stores received rows in batches. If one fails, the error says how many rows are stored. */
export class CopyIn {
  readonly #copy: CopyStatement
  readonly #oids: readonly number[]
  readonly #insert: Inserted
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  /** The part of the next row received so far: text, or bytes in the binary form. */
  #text = ''
  #bytes: Buffer = Buffer.alloc(0)
  /** Received, but not looked at yet. */
  readonly #received: Uint8Array[] = []
  #receivedBytes = 0
  #rows: (readonly (string | null)[])[] = []
  #rowChars = 0
  #stored = 0
  #isHeaderDue: boolean
  #isOver = false
  #failure: { readonly error: unknown } | null = null

  constructor(copy: CopyStatement, oids: readonly number[], insert: Inserted) {
    this.#copy = copy
    this.#oids = oids
    this.#insert = insert
    this.#isHeaderDue = copy.hasHeader || copy.format === 'binary'
  }

  /** Clients notice a failure only after sending everything, so the rest is dropped. */
  async push(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== null) return
    try {
      this.#received.push(bytes)
      this.#receivedBytes += bytes.length
      // Otherwise a long row would be looked at from its start for each of its pieces.
      if (this.#receivedBytes >= this.#text.length + this.#bytes.length) await this.#take()
    } catch (error) {
      this.#failure = { error }
    }
  }

  async #take(): Promise<void> {
    const bytes = Buffer.concat(this.#received.splice(0))
    this.#receivedBytes = 0
    if (this.#copy.format === 'binary') {
      await this.#takeBinary(Buffer.concat([this.#bytes, bytes]))
    } else {
      this.#text += this.#decoded(bytes)
      await this.#takeLines(false)
    }
    if (this.#text.length + this.#bytes.length > LINE_BYTES_MAX) {
      throw new AppError('statement_too_large', 'A row of COPY is longer than 16 MB')
    }
  }

  #decoded(bytes?: Buffer): string {
    try {
      return this.#decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw malformed('the data is not UTF-8; convert it first')
    }
  }

  /** @returns the number of stored rows */
  async end(): Promise<number> {
    try {
      await this.#finish()
      return this.#stored
    } catch (error) {
      if (!(error instanceof AppError) || this.#stored === 0) throw error
      const message = `${error.message}; the first ${this.#stored} rows are stored`
      throw new AppError(error.code, message, { cause: error })
    }
  }

  async #finish(): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error
    await this.#take()
    if (this.#copy.format !== 'binary') {
      this.#text += this.#decoded()
      // The last line may lack its end.
      if (/[^\n]$/.test(this.#text)) this.#text += '\n'
      await this.#takeLines(true)
    } else if (this.#isHeaderDue || this.#bytes.length > 0) {
      // pgx sends no trailer, and PostgreSQL needs none.
      throw malformed('the data ends too early')
    }
    await this.#store()
  }

  async #takeBinary(bytes: Buffer): Promise<void> {
    let at = this.#isHeaderDue ? binaryStart(bytes) : 0
    this.#isHeaderDue = at === -1
    while (at !== -1 && !this.#isOver) {
      const row = binaryRow(bytes, at)
      if (row === undefined) break
      at = row.end
      this.#isOver = row.cells === null
      if (row.cells !== null) await this.#add(row.cells, true)
    }
    this.#bytes = this.#isOver ? Buffer.alloc(0) : bytes.subarray(Math.max(0, at))
  }

  async #takeLines(isLast: boolean): Promise<void> {
    const isCsv = this.#copy.format === 'csv'
    const end = isLast ? this.#text.length : rowsEnd(this.#text, isCsv)
    const whole = this.#text.slice(0, end)
    this.#text = this.#text.slice(end)
    for (const row of isCsv ? csvRows(whole, this.#copy) : textRows(whole, this.#copy)) {
      const cells = row.map((cell) => (cell === null ? null : Buffer.from(cell)))
      if (!this.#isHeaderDue) await this.#add(cells, false)
      this.#isHeaderDue = false
    }
  }

  async #add(cells: readonly (Buffer | null)[], isBinary: boolean): Promise<void> {
    const number = this.#stored + this.#rows.length + 1
    if (cells.length !== this.#oids.length) {
      const values = counted(cells.length, 'value')
      throw malformed(`row ${number} has ${values}, not ${this.#oids.length}`)
    }
    const row = cells.map((cell, index) => {
      const oid = this.#oids[index] ?? 0
      const text = copiedText(cell, oid, isBinary)
      if (text === null || !INTEGERS.has(oid) || INTEGER.test(text)) return text
      // DuckDB would round it.
      throw malformed(`${JSON.stringify(text.slice(0, 100))} in row ${number} is not an integer`)
    })
    this.#rows.push(row)
    this.#rowChars += ROW_CHARS + sum(row.map((text) => text?.length ?? 0))
    if (this.#rowChars >= INSERT_CHARS) await this.#store()
  }

  async #store(): Promise<void> {
    const rows = this.#rows
    if (rows.length === 0) return
    this.#rows = []
    this.#rowChars = 0
    await this.#insert(insertStatement(this.#copy, this.#oids.map(copiedColumn), rows))
    this.#stored += rows.length
  }
}

const INTEGERS: ReadonlySet<number> = new Set([PG.INT2, PG.INT4, PG.INT8].map(({ oid }) => oid))
const INTEGER = /^\s*[-+]?\d+\s*$/

function copiedText(cell: Buffer | null, oid: number, isBinary: boolean): string | null {
  const { text, elements } = parameterValue(cell, oid, isBinary)
  return elements === undefined ? text : JSON.stringify(elements)
}

function copiedColumn(oid: number) {
  // A cast to a DECIMAL of fixed scale would lose digits.
  const cast = oid === PG.NUMERIC.oid ? null : castType(oid)
  return { cast, isList: elementOf(oid) !== undefined }
}

function malformed(what: string): AppError {
  return new AppError('invalid_request', `COPY: ${what}`)
}

/** The offset of the first row; -1 if the header is not complete yet. */
function binaryStart(bytes: Buffer): number {
  if (bytes.length < BINARY_HEADER.length) return -1
  if (!bytes.subarray(0, SIGNATURE_BYTES).equals(BINARY_HEADER.subarray(0, SIGNATURE_BYTES))) {
    throw malformed('the data does not begin as the binary format does')
  }
  const start = BINARY_HEADER.length + bytes.readUInt32BE(BINARY_HEADER.length - 4)
  return bytes.length < start ? -1 : start
}

/** The row at an offset: without cells for the trailer, undefined if it is not complete yet. */
function binaryRow(bytes: Buffer, start: number) {
  if (bytes.length < start + 2) return undefined
  const count = bytes.readInt16BE(start)
  const cells: (Buffer | null)[] = []
  let at = start + 2
  for (let index = 0; index < count; index += 1) {
    if (bytes.length < at + 4) return undefined
    const length = bytes.readInt32BE(at)
    if (length < -1) throw malformed(`a value has ${length} bytes`)
    at += 4
    if (bytes.length < at + length) return undefined
    cells.push(length === -1 ? null : bytes.subarray(at, at + length))
    at += Math.max(0, length)
  }
  return { cells: count === BINARY_END ? null : cells, end: at }
}

type CopiedRow = readonly (string | null)[]

/** The end of the last whole row. In CSV, a line that ends within quotes does not end its row. */
function rowsEnd(text: string, isCsv: boolean): number {
  if (!isCsv) return text.lastIndexOf('\n') + 1
  let isQuoted = false
  let end = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') isQuoted = !isQuoted
    else if (text[at] === '\n' && !isQuoted) end = at + 1
  }
  return end
}

function textRows(text: string, { delimiter, nullText }: CopyStatement): readonly CopiedRow[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line !== '\\.')
    .map((line) => line.split(delimiter).map((cell) => textCell(cell, nullText)))
}

const ESCAPES = new Map(Object.entries({ t: '\t', n: '\n', r: '\r', b: '\b', f: '\f', v: '\v' }))

function textCell(cell: string, nullText: string): string | null {
  if (cell === nullText) return null
  return cell.replaceAll(/\\(.)/gs, (_, sign: string) => ESCAPES.get(sign) ?? sign)
}

function csvRows(text: string, { delimiter, nullText }: CopyStatement): readonly CopiedRow[] {
  const rows: CopiedRow[] = []
  let row: (string | null)[] = []
  let at = 0
  while (at < text.length) {
    const isQuoted = text[at] === '"'
    const end = isQuoted ? quotedEnd(text, at) : plainEnd(text, at, delimiter)
    const isCellEnd = text.startsWith(delimiter, end) || /^[\r\n]$/.test(text[end] ?? '')
    if (!isCellEnd) throw malformed('text follows a quoted value')
    const cell = isQuoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end)
    row.push(!isQuoted && cell === nullText ? null : cell)
    if (text.startsWith(delimiter, end)) {
      at = end + delimiter.length
      continue
    }
    at = text[end] === '\r' && text[end + 1] === '\n' ? end + 2 : end + 1
    // psql ends its data with this line.
    if (isQuoted || row.length > 1 || row[0] !== '\\.') rows.push(row)
    row = []
  }
  return rows
}

/** The position after the closing quote. */
function quotedEnd(text: string, start: number): number {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at === -1) throw malformed('a quote is opened and never closed')
    if (text[at + 1] !== '"') return at + 1
  }
}

/** The position of the next delimiter or line end. */
function plainEnd(text: string, start: number, delimiter: string): number {
  const line = text.slice(start, text.indexOf('\n', start))
  const cell = line.indexOf(delimiter)
  if (cell !== -1) return start + cell
  return start + line.length - (line.endsWith('\r') ? 1 : 0)
}
