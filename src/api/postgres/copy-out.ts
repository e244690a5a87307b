/** COPY … TO STDOUT: sends a SELECT's rows as text, CSV or binary. */
import type { ResultValue } from '../../core/domain/query-result.ts'
import type { CopyStatement } from '../../query/postgres/statement-text.ts'
import type { AnswerWriter } from './answer-writer.ts'
import { writeBinary } from './binary-values.ts'
import { type ColumnType, columnType, textValue } from './pg-types.ts'
import type { CopyEncoding, RunResult } from './portals.ts'

/** The signature, no flags, and no header extension (PostgreSQL manual, "COPY"). */
export const BINARY_HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
export const BINARY_END = -1

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
