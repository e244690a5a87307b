/**
 * COPY: sends a SELECT's rows as text, CSV or binary, and stores received rows with INSERT
 * statements.
 */
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { counted } from '../../core/short-text.ts'
import {
  type CopyStatement,
  insertStatement,
  type ParameterValue,
} from '../../query/postgres/statement-text.ts'
import type { AnswerWriter } from './answer-writer.ts'
import { writeBinary } from './binary-values.ts'
import { parameterValue } from './bound-parameters.ts'
import { type ColumnType, columnType, textValue } from './pg-types.ts'
import type { CopyEncoding, RunResult } from './portals.ts'

const ROWS_PER_INSERT = 500
const LINE_BYTES_MAX = 16 * 1024 * 1024

/** The signature, no flags, and no header extension (PostgreSQL manual, "COPY"). */
const BINARY_HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const SIGNATURE_BYTES = 11
const BINARY_END = -1

/** @param send sends the messages written so far @returns the number of rows */
export async function copyOut(
  { columns, batches, copied }: RunResult,
  copy: CopyStatement,
  out: AnswerWriter,
  send: () => Promise<void>,
): Promise<number> {
  const shown = columns ?? []
  const types = shown.map(({ type }) => columnType(type))
  const isBinary = copy.format === 'binary'
  out.copyResponse('H', shown.length, isBinary ? 1 : 0)
  if (!isBinary && copy.hasHeader) {
    const names = shown.map(({ name }) => name)
    writeLine(out, names, [], copy)
  }
  let count = 0
  const encoding = encodingOf(copy)
  const plain = isBinary ? PLAIN_BINARY : PLAIN
  if (copied !== undefined && encoding !== null && shown.every(({ type }) => plain.test(type))) {
    for await (const rows of copied(encoding)) {
      for (let start = 0; start < rows.length; count += 1) {
        const end = ENDS[copy.format](rows, start)
        if (isBinary) beginBinary(out, count === 0)
        else out.begin('d')
        out.raw(rows.subarray(start, end)).end()
        start = end
        if (out.isFull) await send()
      }
    }
    return copyEnd(out, count, isBinary)
  }
  for await (const batch of batches) {
    for (const row of batch) {
      if (isBinary) writeBinaryRow(out, row, types, count === 0)
      else writeLine(out, row, types, copy)
      count += 1
      if (out.isFull) await send()
    }
  }
  return copyEnd(out, count, isBinary)
}

function copyEnd(out: AnswerWriter, count: number, isBinary: boolean): number {
  if (isBinary) {
    beginBinary(out, count === 0)
    out.int16(BINARY_END).end()
  }
  out.begin('c').end()
  return count
}

/** Types that the engine's own COPY encoding supports. */
const PLAIN =
  /^(?:BIGINT|BOOLEAN|DATE|DECIMAL\((?:\d|1[0-8]),\d+\)|DOUBLE|FLOAT|INTEGER|SMALLINT|TIMESTAMP(?: WITH TIME ZONE)?|TINYINT|U(?:INTEGER|SMALLINT|TINYINT)|VARCHAR)$/

/** The integer types among them that PostgreSQL has too. */
const PLAIN_BINARY =
  /^(?:BIGINT|BOOLEAN|DATE|DECIMAL\((?:\d|1[0-8]),\d+\)|DOUBLE|FLOAT|INTEGER|SMALLINT|TIMESTAMP(?: WITH TIME ZONE)?|VARCHAR)$/

/** Returns null if the engine cannot write this form, so that rows must be encoded here. */
function encodingOf({ format, delimiter, nullText }: CopyStatement): CopyEncoding | null {
  if (format === 'binary') return 'copy-binary'
  if (format === 'csv') return delimiter === ',' && nullText === '' ? 'copy-csv' : null
  return delimiter === '\t' && nullText === '\\N' ? 'copy' : null
}

const LINE_END = 10
const QUOTE = 34

/** Each row is a message of its own, because clients count messages. */
const ENDS = {
  text: (bytes: Uint8Array, start: number) => bytes.indexOf(LINE_END, start) + 1,
  csv: (bytes: Uint8Array, start: number) => {
    let isQuoted = false
    let at = start
    while (isQuoted || bytes[at] !== LINE_END) {
      if (bytes[at] === QUOTE) isQuoted = !isQuoted
      at += 1
    }
    return at + 1
  },
  binary: (bytes: Uint8Array, start: number) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    let at = start + 2
    for (let count = view.getInt16(start); count > 0; count -= 1) {
      at += 4 + Math.max(0, view.getInt32(at))
    }
    return at
  },
}

/** Clients expect the header and the first row in one message. */
function beginBinary(out: AnswerWriter, isFirst: boolean): void {
  out.begin('d')
  if (isFirst) out.raw(BINARY_HEADER)
}

const TEXT_COLUMN = columnType('VARCHAR')

function writeBinaryRow(
  out: AnswerWriter,
  row: readonly ResultValue[],
  types: readonly ColumnType[],
  isFirst: boolean,
): void {
  beginBinary(out, isFirst)
  out.int16(row.length)
  row.forEach((value, index) => {
    writeBinary(out, value, types[index] ?? TEXT_COLUMN)
  })
  out.end()
}

function writeLine(
  out: AnswerWriter,
  row: readonly ResultValue[],
  types: readonly ColumnType[],
  { format, delimiter, nullText }: CopyStatement,
): void {
  const cells = row.map((value, index) => {
    const text = textValue(value, types[index] ?? TEXT_COLUMN)
    if (text === null) return nullText
    return format === 'csv' ? csvCell(text, delimiter, nullText) : escapedCell(text, delimiter)
  })
  const line = Buffer.from(`${cells.join(delimiter)}\n`)
  out.begin('d').raw(line).end()
}

function csvCell(value: string, delimiter: string, nullText: string): string {
  const isPlain = !value.includes(delimiter) && !/["\n\r]/.test(value) && value !== nullText
  return isPlain ? value : `"${value.replaceAll('"', '""')}"`
}

const ESCAPED: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escapedCell(value: string, delimiter: string): string {
  const escaped = value.replaceAll(/[\\\t\n\r]/g, (sign) => ESCAPED[sign] ?? sign)
  return delimiter === '\t' ? escaped : escaped.replaceAll(delimiter, `\\${delimiter}`)
}

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
  #rows: (readonly ParameterValue[])[] = []
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
      const enough = Math.min(this.#text.length + this.#bytes.length, LINE_BYTES_MAX / 64)
      if (this.#receivedBytes >= enough) await this.#take()
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
    const lines = this.#copy.format === 'csv' ? csvLines : textLines
    const { rows, rest } = lines(this.#text, this.#copy, isLast)
    this.#text = rest
    for (const row of rows) {
      const cells = row.map((cell) => (cell === null ? null : Buffer.from(cell)))
      if (!this.#isHeaderDue) await this.#add(cells, false)
      this.#isHeaderDue = false
    }
  }

  async #add(cells: readonly (Buffer | null)[], isBinary: boolean): Promise<void> {
    if (cells.length !== this.#oids.length) {
      const row = this.#stored + this.#rows.length + 1
      throw malformed(`row ${row} has ${counted(cells.length, 'value')}, not ${this.#oids.length}`)
    }
    this.#rows.push(
      cells.map((cell, index) => parameterValue(cell, this.#oids[index] ?? 0, isBinary)),
    )
    if (this.#rows.length >= ROWS_PER_INSERT) await this.#store()
  }

  async #store(): Promise<void> {
    const rows = this.#rows
    if (rows.length === 0) return
    this.#rows = []
    await this.#insert(insertStatement(this.#copy, rows))
    this.#stored += rows.length
  }
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

interface Lines {
  readonly rows: readonly (readonly (string | null)[])[]
  /** The start of an incomplete line. */
  readonly rest: string
}

function textLines(text: string, copy: CopyStatement, isLast: boolean): Lines {
  const lines = text.split('\n')
  const rest = isLast ? '' : (lines.pop() ?? '')
  const rows = lines
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line !== '\\.' && !(isLast && line === ''))
    .map((line) => line.split(copy.delimiter).map((cell) => textCell(cell, copy.nullText)))
  return { rows, rest }
}

const ESCAPES = new Map(Object.entries({ t: '\t', n: '\n', r: '\r', b: '\b', f: '\f', v: '\v' }))

function textCell(cell: string, nullText: string): string | null {
  if (cell === nullText) return null
  return cell.replaceAll(/\\(.)/gs, (_, sign: string) => ESCAPES.get(sign) ?? sign)
}

function csvLines(text: string, { delimiter, nullText }: CopyStatement, isLast: boolean): Lines {
  const rows: (string | null)[][] = []
  let row: (string | null)[] = []
  let at = 0
  let rest = 0
  while (at < text.length) {
    const isQuoted = text[at] === '"'
    const end = isQuoted ? quotedEnd(text, at) : plainEnd(text, at, delimiter)
    const isSplit = end === text.length || (end === text.length - 1 && text[end] === '\r')
    if (end === -1 || (isSplit && !isLast)) break
    const isCellEnd = text.startsWith(delimiter, end) || /^[\r\n]?$/.test(text[end] ?? '')
    if (!isCellEnd) throw malformed('text follows a quoted value')
    const cell = isQuoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end)
    row.push(!isQuoted && cell === nullText ? null : cell)
    if (text.startsWith(delimiter, end)) {
      at = end + delimiter.length
      if (at < text.length) continue
      row.push(nullText === '' ? null : '')
    }
    at = text[end] === '\r' && text[end + 1] === '\n' ? end + 2 : end + 1
    // psql ends its data with this line.
    if (isQuoted || row.length > 1 || row[0] !== '\\.') rows.push(row)
    row = []
    rest = Math.min(at, text.length)
  }
  return { rows, rest: isLast ? '' : text.slice(rest) }
}

/** The position after the closing quote; -1 if it has not arrived yet. */
function quotedEnd(text: string, start: number): number {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at === -1) return -1
    if (text[at + 1] !== '"') return at + 1
  }
}

function plainEnd(text: string, start: number, delimiter: string): number {
  const newline = text.indexOf('\n', start)
  const line = text.slice(start, newline === -1 ? text.length : newline)
  const cell = line.indexOf(delimiter)
  if (cell !== -1) return start + cell
  return start + line.length - (newline !== -1 && line.endsWith('\r') ? 1 : 0)
}
