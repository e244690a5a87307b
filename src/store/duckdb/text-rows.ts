/**
 * Writes the rows of a result as CSV or NDJSON, with the same bytes as `sqlFormat`, or in
 * PostgreSQL's COPY formats.
 */
import {
  type DuckDBDataChunk,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBVector,
} from '@duckdb/node-api'
import type { RowEncoding } from '../../core/domain/query-result.ts'
import { numberFields } from '../../core/domain/shown-values.ts'
import { TimeSlice, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { csvCell, csvRow } from '../../core/text/csv.ts'
import { postgresMoment } from '../../core/time.ts'
import { writeBinaryText } from './columnar/binary-cells.ts'
import { ByteBuffer, largeRowCheck, textBytes } from './columnar/raw-vectors.ts'
import {
  type CellColumn,
  type CellFormat,
  cellColumn,
  isText,
  written,
} from './columnar/text-cells.ts'
import type { ChunkSource } from './read-session.ts'

/**
 * Send a piece when it has this many bytes, at the end of a vector, or when its time slice is over.
 */
const PIECE_BYTES_MAX = 2 ** 18
/** The most bytes of a column's text to copy at once. */
const TEXT_BYTES_MAX = 2 ** 20
/** Keep the buffer for the next piece only up to this size. */
const OUT_BYTES_MAX = 2 ** 22
const SLICE_MS = 6
/** Check the clock after writing this many values. */
const VALUES_PER_LOOK = 1024

/** The text around the cells of a row. */
interface LineFormat extends CellFormat {
  readonly head: string
  /** The text before each cell. */
  readonly before: readonly (string | Uint8Array)[]
  readonly end: string
}

export type TextEncoding = Exclude<RowEncoding, 'arrow'>

/**
 * Yields the pieces of one response body. If reading fails, an error takes the place of the end.
 */
export async function* textPieces(
  encoding: TextEncoding,
  given: {
    readonly names: readonly string[]
    readonly types: readonly DuckDBType[]
    readonly isExact: boolean
  },
  {
    source,
    first,
  }: { readonly source: Pick<ChunkSource, 'next'>; readonly first: DuckDBDataChunk | null },
): AsyncGenerator<Uint8Array, void, void> {
  const { names, types, isExact } = given
  const lines = FORMATS[encoding](names)
  const format = { ...lines, isExact }
  const writer = new LineWriter(types, format)
  let slice = new TimeSlice(SLICE_MS)
  for (let data = first; data !== null; data = await source.next()) {
    let step = new TimeSlice(SLICE_MS)
    for (const _ of writer.write(data)) {
      const stepMs = step.spentMs
      if (writer.isFull || slice.isSpent) {
        yield writer.take()
        if (slice.isSpent) {
          await yieldToEventLoop(stepMs)
          slice = new TimeSlice(SLICE_MS)
        }
      }
      step = new TimeSlice(SLICE_MS)
    }
    if (!writer.isEmpty) yield writer.take()
  }
  // A result without rows still has a header with column names.
  if (!writer.isEmpty) yield writer.take()
}

class LineWriter {
  readonly #format: LineFormat
  readonly #columns: readonly CellColumn[]
  readonly #texts: readonly number[]
  readonly #types: readonly DuckDBType[]
  #out = new ByteBuffer(PIECE_BYTES_MAX)

  constructor(types: readonly DuckDBType[], format: LineFormat) {
    this.#format = format
    this.#types = types
    this.#columns = types.map((type) => cellColumn(type, format))
    this.#texts = types.flatMap((type, index) => (isText(type) ? [index] : []))
    written(this.#out, format.head)
  }

  get isFull(): boolean {
    return this.#out.length >= PIECE_BYTES_MAX
  }

  get isEmpty(): boolean {
    return this.#out.length === 0
  }

  *write(data: DuckDBDataChunk): Generator<void, void, void> {
    const vectors = this.#columns.map((_, index) => data.getColumnVector(index))
    for (const { type } of vectors) numberFields(type)
    const check = largeRowCheck(this.#types, data)
    const rowsPerLook =
      check === null ? Math.max(1, Math.floor(VALUES_PER_LOOK / this.#columns.length)) : 1
    for (let start = 0; start < data.rowCount; ) {
      const count = this.#countFrom(vectors, start, data.rowCount)
      // Texts of several rows are copied at once only if they are small.
      if (count === 1) check?.(start)
      for (const [index, column] of this.#columns.entries()) {
        const vector = vectors[index]
        if (vector !== undefined) column.open(vector, { start, count })
      }
      for (let row = start; row < start + count; row += 1) {
        check?.(row)
        this.#writeRow(row)
        if (row % rowsPerLook === 0 || this.isFull) yield
      }
      start += count
    }
  }

  /** One long value may be shared by all rows of a vector. */
  #countFrom(vectors: readonly DuckDBVector[], start: number, end: number): number {
    let count = end - start
    for (const index of this.#texts) {
      const vector = vectors[index]
      if (vector === undefined) continue
      while (count > 1 && textBytes(vector, start, count) > TEXT_BYTES_MAX) count = count >> 1
    }
    return count
  }

  #writeRow(row: number): void {
    const out = this.#out
    const { before, end } = this.#format
    for (let at = 0; at < this.#columns.length; at += 1) {
      written(out, before[at] ?? '')
      this.#columns[at]?.write(row, out)
    }
    written(out, end)
  }

  /** Returns the bytes written since the last call. */
  take(): Uint8Array {
    const piece = this.#out.written().slice()
    if (this.#out.bytes.length > OUT_BYTES_MAX) this.#out = new ByteBuffer(PIECE_BYTES_MAX)
    this.#out.length = 0
    return piece
  }
}

/** CSV as in RFC 4180, in the same form as `csvRow`. */
function csvFormat(names: readonly string[]): Omit<LineFormat, 'isExact'> {
  return {
    head: csvRow(names),
    before: names.map((_, index) => (index === 0 ? '' : ',')),
    end: '\r\n',
    nullText: '',
    quote: '',
    text: writeCsvText,
    other: (value) => csvCell(typeof value === 'string' ? value : JSON.stringify(value)),
  }
}

const QUOTE = 34

function writeCsvText(from: Uint8Array, offset: number, count: number, out: ByteBuffer): void {
  out.reserve(count * 2 + 2)
  const end = offset + count
  let isPlain = count > 0
  for (let at = offset; at < end && isPlain; at += 1) {
    const byte = from[at] ?? 0
    // True unless the byte is a quote, a comma or a line end.
    isPlain = byte > 44 || (byte !== QUOTE && byte !== 44 && byte !== 13 && byte !== 10)
  }
  if (isPlain) {
    out.appendPart(from, offset, count)
    return
  }
  const { bytes } = out
  let to = out.length
  bytes[to++] = QUOTE
  for (let at = offset; at < end; at += 1) {
    const byte = from[at] ?? 0
    if (byte === QUOTE) bytes[to++] = QUOTE
    bytes[to++] = byte
  }
  bytes[to++] = QUOTE
  out.length = to
}

function ndjsonFormat(names: readonly string[]): Omit<LineFormat, 'isExact'> {
  return {
    head: '',
    before: names.map((name, index) => `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    end: '}\n',
    nullText: 'null',
    quote: '"',
    text: writeJsonText,
    other: (value) => JSON.stringify(value),
  }
}

/** PostgreSQL's COPY in text format (PostgreSQL manual, "COPY"). */
function copyFormat(names: readonly string[]): Omit<LineFormat, 'isExact'> {
  return {
    head: '',
    before: names.map((_, index) => (index === 0 ? '' : '\t')),
    end: '\n',
    nullText: '\\N',
    quote: '',
    isPostgres: true,
    text: writeCopyText,
    other: (value, type) => (typeof value === 'string' ? copyText(value, type) : String(value)),
  }
}

/** Unlike `csv`, with PostgreSQL's values and line ends, and no header. */
function copyCsvFormat(names: readonly string[]): Omit<LineFormat, 'isExact'> {
  const before = names.map((_, index) => (index === 0 ? '' : ','))
  return { ...copyFormat(names), before, nullText: '', text: writeCsvText }
}

/** PostgreSQL's COPY in binary format: the number of values, then each value after its length. */
function copyBinaryFormat(names: readonly string[]): Omit<LineFormat, 'isExact'> {
  const count = Uint8Array.of(names.length >> 8, names.length)
  return {
    ...copyFormat(names),
    before: names.map((_, index) => (index === 0 ? count : '')),
    end: '',
    nullText: Uint8Array.of(255, 255, 255, 255),
    isBinary: true,
    text: writeBinaryText,
  }
}

/** Returns the text of unusual dates, and of numbers shown as text, which needs no escaping. */
function copyText(text: string, { typeId }: DuckDBType): string {
  if (typeId === DuckDBTypeId.TIMESTAMP_TZ) return postgresMoment(text, '+00')
  const isMoment = typeId === DuckDBTypeId.TIMESTAMP || typeId === DuckDBTypeId.DATE
  return isMoment ? postgresMoment(text) : text
}

/** The letter to write after a backslash, for a byte that would otherwise end a cell or a line. */
const COPY_ESCAPES: ReadonlyMap<number, number> = new Map(
  ['\\\\', '\tt', '\nn', '\rr'].map(([sign = '', letter = '']) => {
    return [sign.charCodeAt(0), letter.charCodeAt(0)]
  }),
)

function writeCopyText(from: Uint8Array, offset: number, count: number, out: ByteBuffer): void {
  out.reserve(count * 2)
  const { bytes } = out
  let to = out.length
  for (let at = offset; at < offset + count; at += 1) {
    const byte = from[at] ?? 0
    const letter = byte > 13 && byte !== BACKSLASH ? undefined : COPY_ESCAPES.get(byte)
    if (letter !== undefined) bytes[to++] = BACKSLASH
    bytes[to++] = letter ?? byte
  }
  out.length = to
}

const BACKSLASH = 92
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

function writeJsonText(from: Uint8Array, offset: number, count: number, out: ByteBuffer): void {
  const end = offset + count
  let isPlain = true
  for (let at = offset; at < end && isPlain; at += 1) {
    const byte = from[at] ?? 0
    isPlain = byte >= 32 && byte !== QUOTE && byte !== BACKSLASH
  }
  if (!isPlain) {
    written(out, JSON.stringify(decoder.decode(from.subarray(offset, end))))
    return
  }
  out.reserve(count + 2)
  out.bytes[out.length++] = QUOTE
  out.appendPart(from, offset, count)
  out.bytes[out.length++] = QUOTE
}

const FORMATS: Readonly<
  Record<TextEncoding, (names: readonly string[]) => Omit<LineFormat, 'isExact'>>
> = {
  copy: copyFormat,
  'copy-binary': copyBinaryFormat,
  'copy-csv': copyCsvFormat,
  csv: csvFormat,
  ndjson: ndjsonFormat,
}
