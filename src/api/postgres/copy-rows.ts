/** COPY: rows out of a SELECT as lines of text or CSV or in the binary form, and in as INSERT statements of many rows. */
import { literal, quote } from '../../core/domain/names.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import type { CopyStatement } from '../../query/postgres/statement-text.ts'
import type { AnswerWriter } from './answer-writer.ts'
import { writeBinary } from './binary-values.ts'
import { type ColumnType, columnType, textValue } from './pg-types.ts'
import type { RunResult } from './portals.ts'

const ROWS_PER_INSERT = 500
const LINE_BYTES_MAX = 16 * 1024 * 1024

/** A signature, no flags and no further header (PostgreSQL's manual, "COPY"). */
const BINARY_HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const BINARY_END = -1

/** @param send sends what is written so far @returns the number of rows */
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
  if (copied !== undefined && isPlainCopy(copy) && shown.every(({ type }) => PLAIN.test(type))) {
    const lines = await writeLines(out, copied(), send)
    out.begin('c').end()
    return lines
  }
  let count = 0
  for await (const batch of batches) {
    for (const row of batch) {
      if (isBinary) writeBinaryRow(out, row, types, count === 0)
      else writeLine(out, row, types, copy)
      count += 1
      if (out.isFull) await send()
    }
  }
  if (isBinary) {
    beginBinary(out, count === 0)
    out.int16(BINARY_END).end()
  }
  out.begin('c').end()
  return count
}

/** Types whose values COPY's own encoding can write. */
const PLAIN =
  /^(?:BIGINT|BOOLEAN|DATE|DECIMAL\((?:\d|1[0-8]),\d+\)|DOUBLE|FLOAT|INTEGER|SMALLINT|TIMESTAMP(?: WITH TIME ZONE)?|TINYINT|U(?:INTEGER|SMALLINT|TINYINT)|VARCHAR)$/

function isPlainCopy({ format, delimiter, nullText }: CopyStatement): boolean {
  return format === 'text' && delimiter === '\t' && nullText === '\\N'
}

const LINE_END = 10

/** Each line as its own message, as clients count them. @returns the number of rows */
async function writeLines(
  out: AnswerWriter,
  pieces: AsyncIterable<Uint8Array>,
  send: () => Promise<void>,
): Promise<number> {
  let count = 0
  let rest: Uint8Array = new Uint8Array()
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    let start = 0
    for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, start)) {
      out
        .begin('d')
        .raw(bytes.subarray(start, end + 1))
        .end()
      start = end + 1
      count += 1
      if (out.isFull) await send()
    }
    rest = bytes.subarray(start)
  }
  return count
}

/** Clients expect the header in one message with the first row. */
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
  out
    .begin('d')
    .raw(Buffer.from(`${cells.join(delimiter)}\n`))
    .end()
}

function csvCell(value: string, delimiter: string, nullText: string): string {
  const isPlain = !value.includes(delimiter) && !/["\n\r]/.test(value) && value !== nullText
  return isPlain ? value : `"${value.replaceAll('"', '""')}"`
}

const ESCAPED: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
}

function escapedCell(value: string, delimiter: string): string {
  const escaped = NEEDS_ESCAPE.test(value)
    ? value.replaceAll(/[\\\t\n\r]/g, (sign) => ESCAPED[sign] ?? sign)
    : value
  return delimiter === '\t' ? escaped : escaped.replaceAll(delimiter, `\\${delimiter}`)
}

const NEEDS_ESCAPE = /[\\\t\n\r]/

/** Stores each batch as it fills: a later failure reports how many rows are stored. */
export class CopyIn {
  readonly #copy: CopyStatement
  readonly #insert: (sql: string) => Promise<number>
  readonly #decoder = new TextDecoder()
  #text = ''
  #rows: (readonly (string | null)[])[] = []
  #stored = 0
  #isHeaderDue: boolean
  #failure: { readonly error: unknown } | null = null

  constructor(copy: CopyStatement, insert: (sql: string) => Promise<number>) {
    this.#copy = copy
    this.#insert = insert
    this.#isHeaderDue = copy.hasHeader
    if (copy.format === 'binary') {
      throw new AppError('sql_not_supported', 'COPY FROM reads text or CSV, not the binary format')
    }
  }

  /** After a failure, the rest is read and dropped: clients learn of it after sending everything. */
  async push(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== null) return
    try {
      await this.#take(bytes)
    } catch (error) {
      this.#failure = { error }
    }
  }

  async #take(bytes: Uint8Array): Promise<void> {
    this.#text += this.#decoder.decode(bytes, { stream: true })
    await this.#takeLines(false)
    if (this.#text.length > LINE_BYTES_MAX) {
      throw new AppError('statement_too_large', 'A line of COPY is longer than 16 MB')
    }
  }

  /** @returns the number of stored rows */
  async end(): Promise<number> {
    if (this.#failure !== null) throw this.#failure.error
    this.#text += this.#decoder.decode()
    await this.#takeLines(true)
    await this.#store()
    return this.#stored
  }

  async #takeLines(isLast: boolean): Promise<void> {
    const lines = this.#copy.format === 'csv' ? csvLines : textLines
    const { rows, rest } = lines(this.#text, this.#copy, isLast)
    this.#text = rest
    for (const row of rows) {
      if (this.#isHeaderDue) {
        this.#isHeaderDue = false
        continue
      }
      this.#rows.push(row)
      if (this.#rows.length >= ROWS_PER_INSERT) await this.#store()
    }
  }

  async #store(): Promise<void> {
    const rows = this.#rows
    if (rows.length === 0) return
    this.#rows = []
    const { table, columns } = this.#copy
    const names = columns.length === 0 ? '' : ` (${columns.map(quote).join(', ')})`
    const values = rows.map((row) => {
      return `(${row.map((cell) => (cell === null ? 'NULL' : literal(cell))).join(', ')})`
    })
    try {
      await this.#insert(`INSERT INTO ${table}${names} VALUES ${values.join(', ')}`)
    } catch (error) {
      if (!(error instanceof AppError) || this.#stored === 0) throw error
      const message = `${error.message}; the first ${this.#stored} rows are stored`
      throw new AppError(error.code, message, { cause: error })
    }
    this.#stored += rows.length
  }
}

interface Lines {
  readonly rows: readonly (readonly (string | null)[])[]
  /** The start of an incomplete line. */
  readonly rest: string
}

function textLines(text: string, copy: CopyStatement, isLast: boolean): Lines {
  const lines = text.split('\n')
  const rest = isLast ? '' : (lines.pop() ?? '')
  const whole = lines.map((line) => line.replace(/\r$/, ''))
  const rows = whole
    .filter((line) => line !== '\\.' && !(isLast && line === ''))
    .map((line) => line.split(copy.delimiter).map((cell) => textCell(cell, copy.nullText)))
  return { rows, rest }
}

const ESCAPES: Readonly<Record<string, string>> = {
  t: '\t',
  n: '\n',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
}

function textCell(cell: string, nullText: string): string | null {
  if (cell === nullText) return null
  return cell.replaceAll(/\\(.)/gs, (_, sign: string) => ESCAPES[sign] ?? sign)
}

function csvLines(text: string, { delimiter, nullText }: CopyStatement, isLast: boolean): Lines {
  const rows: (string | null)[][] = []
  let row: (string | null)[] = []
  let at = 0
  let rest = 0
  while (at < text.length) {
    const isQuoted = text[at] === '"'
    const end = isQuoted ? quotedEnd(text, at) : plainEnd(text, at, delimiter)
    if (end === -1 || (end === text.length && !isLast)) break
    const cell = isQuoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end)
    row.push(!isQuoted && cell === nullText ? null : cell)
    if (text.startsWith(delimiter, end)) {
      at = end + delimiter.length
      if (at < text.length) continue
      row.push(nullText === '' ? null : '')
    }
    const next = text[end] === '\r' && text[end + 1] === '\n' ? end + 2 : end + 1
    at = next
    rows.push(row)
    row = []
    rest = Math.min(next, text.length)
  }
  return { rows, rest: isLast ? '' : text.slice(rest) }
}

/** After the closing quote; -1: not there yet. */
function quotedEnd(text: string, start: number): number {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at === -1) return -1
    if (text[at + 1] !== '"') return at + 1
  }
}

function plainEnd(text: string, start: number, delimiter: string): number {
  const line = text.slice(start).search(/\r?\n/)
  const lineEnd = line === -1 ? text.length : start + line
  const cell = text.indexOf(delimiter, start)
  return cell === -1 || cell > lineEnd ? lineEnd : cell
}
