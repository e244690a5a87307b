/**
 * Writes values of DuckDB vectors as text. Frequent types are written without creating a JavaScript
 * value.
 */
import {
  DuckDBDecimalType,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBVector,
} from '@duckdb/node-api'
import type { ResultValue } from '../../../core/domain/query-result.ts'
import { converterOf, exactConverterOf } from '../../../core/domain/shown-values.ts'
import { binaryWriterOf } from './binary-cells.ts'
import {
  ByteBuffer,
  copyTexts,
  type FixedValues,
  type FixedWriter,
  isValid,
  itemBytes,
  type RowRange,
  validBits,
} from './raw-vectors.ts'

export interface CellFormat {
  readonly nullText: string | Uint8Array
  /** Whether values that JSON numbers cannot represent become texts. */
  readonly isExact: boolean
  /** The quote character written around a date. */
  readonly quote: string
  /** Short booleans and seconds, time zones, all digits of a DECIMAL's scale. */
  readonly isPostgres?: boolean
  readonly isBinary?: boolean
  /** Writes `count` bytes of UTF-8 text, starting at `offset`. */
  text(from: Uint8Array, offset: number, count: number, out: ByteBuffer): void
  /** Returns the text for any other value. */
  other(value: ResultValue, type: DuckDBType): string
}

/** Writes one column. First open it for a range of rows of a vector, then write row by row. */
export interface CellColumn {
  open(vector: DuckDBVector, rows: RowRange): void
  write(row: number, out: ByteBuffer): void
}

/** Whether values of this type are copied directly from memory as text. */
export function isText({ typeId, alias }: DuckDBType): boolean {
  return typeId === DuckDBTypeId.VARCHAR && alias === undefined
}

export function cellColumn(type: DuckDBType, format: CellFormat): CellColumn {
  const slow = new ValueColumn(type, format)
  if (isText(type)) return new TextColumn(format)
  if (type.alias !== undefined) return slow
  const write = writerOf(type, format)
  return write === null ? slow : new FixedColumn(write, slow)
}

function writerOf(type: DuckDBType, format: CellFormat): FixedWriter | null {
  if (format.isBinary === true) return binaryWriterOf(type)
  if (type instanceof DuckDBDecimalType) return decimalWriter(type, format)
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN: {
      const [no, yes] = format.isPostgres === true ? ['f', 't'] : ['false', 'true']
      return ({ bytes }, row, out) => written(out, bytes[row] === 0 ? no : yes)
    }
    case DuckDBTypeId.TINYINT:
      return ({ view }, row, out) => writeInteger(view.getInt8(row), out)
    case DuckDBTypeId.UTINYINT:
      return ({ view }, row, out) => writeInteger(view.getUint8(row), out)
    case DuckDBTypeId.SMALLINT:
      return ({ view }, row, out) => writeInteger(view.getInt16(row * 2, true), out)
    case DuckDBTypeId.USMALLINT:
      return ({ view }, row, out) => writeInteger(view.getUint16(row * 2, true), out)
    case DuckDBTypeId.INTEGER:
      return ({ view }, row, out) => writeInteger(view.getInt32(row * 4, true), out)
    case DuckDBTypeId.UINTEGER:
      return ({ view }, row, out) => writeInteger(view.getUint32(row * 4, true), out)
    case DuckDBTypeId.BIGINT:
      return ({ view }, row, out) => {
        const value = exactAt(view, row)
        return value !== null && writeInteger(value, out)
      }
    case DuckDBTypeId.FLOAT:
      return ({ view }, row, out) => writeNumber(view.getFloat32(row * 4, true), format, out)
    case DuckDBTypeId.DOUBLE:
      return ({ view }, row, out) => writeNumber(view.getFloat64(row * 8, true), format, out)
    case DuckDBTypeId.DATE: {
      const days = new DayTexts(format.quote)
      return ({ view }, row, out) => writeDate(view.getInt32(row * 4, true), days, out)
    }
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_TZ: {
      const isShort = format.isPostgres === true
      const zone = isShort && type.typeId === DuckDBTypeId.TIMESTAMP_TZ ? '+00' : ''
      const days = new DayTexts(format.quote, isShort, zone)
      return ({ view }, row, out) => writeTimestamp(exactAt(view, row), days, out)
    }
    default:
      return null
  }
}

const HIGH = 2 ** 32
const EXACT_HIGH = 2 ** 21

/** Returns a 64-bit integer, or null if JavaScript cannot represent it exactly. */
function exactAt(view: DataView, row: number): number | null {
  const high = view.getInt32(row * 8 + 4, true)
  if (high < -EXACT_HIGH || high >= EXACT_HIGH) return null
  return high * HIGH + view.getUint32(row * 8, true)
}

/** A double preserves this many decimal digits. */
const EXACT_WIDTH = 15

/** Writes decimals as DuckDB's cast to text does, if a JavaScript number can hold the digits. */
function decimalWriter(
  { width, scale }: DuckDBDecimalType,
  { isExact, isPostgres = false }: CellFormat,
): FixedWriter | null {
  const divisor = 10 ** scale
  const write = isPostgres
    ? (digits: number, out: ByteBuffer) => writeScaled(digits, scale, out)
    : (digits: number, out: ByteBuffer) => writeFinite(digits / divisor, out)
  if (width <= 4) return ({ view }, row, out) => write(view.getInt16(row * 2, true), out)
  if (width <= 9) return ({ view }, row, out) => write(view.getInt32(row * 4, true), out)
  if (width > 18 || (isExact && !isPostgres && width > EXACT_WIDTH)) return null
  return ({ view }, row, out) => {
    const digits = exactAt(view, row)
    return digits !== null && write(digits, out)
  }
}

/** Writes digits with a decimal point before the last `scale` of them. */
function writeScaled(digits: number, scale: number, out: ByteBuffer): true {
  const text = String(Math.abs(digits)).padStart(scale + 1, '0')
  const sign = digits < 0 ? '-' : ''
  if (scale === 0) return written(out, sign + text)
  const point = text.length - scale
  return written(out, `${sign}${text.slice(0, point)}.${text.slice(point)}`)
}

class FixedColumn implements CellColumn {
  readonly #write: FixedWriter
  readonly #slow: CellColumn
  #values: FixedValues = { bytes: new Uint8Array(), view: new DataView(new ArrayBuffer(0)) }
  #valid: Uint8Array | null = null

  constructor(write: FixedWriter, slow: CellColumn) {
    this.#write = write
    this.#slow = slow
  }

  open(vector: DuckDBVector, rows: RowRange): void {
    const bytes = itemBytes(vector)
    this.#values = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) }
    this.#valid = validBits(vector)
    this.#slow.open(vector, rows)
  }

  write(row: number, out: ByteBuffer): void {
    if (!isValid(this.#valid, row) || !this.#write(this.#values, row, out)) {
      this.#slow.write(row, out)
    }
  }
}

/** Converts values of any type one by one, through JSON. */
class ValueColumn implements CellColumn {
  readonly #format: CellFormat
  readonly #type: DuckDBType
  readonly #convert: ReturnType<typeof converterOf>
  #vector: DuckDBVector | null = null

  constructor(type: DuckDBType, format: CellFormat) {
    this.#format = format
    this.#type = type
    this.#convert = format.isExact ? exactConverterOf(type) : converterOf(type)
  }

  open(vector: DuckDBVector): void {
    this.#vector = vector
  }

  write(row: number, out: ByteBuffer): void {
    const value = this.#vector?.getItem(row) ?? null
    const shown = value === null ? null : this.#convert(value)
    written(out, shown === null ? this.#format.nullText : this.#format.other(shown, this.#type))
  }
}

/** A larger buffer is not kept for the next rows. */
const KEPT_BYTES_MAX = 2 ** 21

class TextColumn implements CellColumn {
  readonly #format: CellFormat
  #texts = new ByteBuffer()
  #ends = new Int32Array(2048)
  #start = 0
  #valid: Uint8Array | null = null

  constructor(format: CellFormat) {
    this.#format = format
  }

  open(vector: DuckDBVector, rows: RowRange): void {
    if (this.#texts.bytes.length > KEPT_BYTES_MAX) this.#texts = new ByteBuffer()
    if (this.#ends.length < rows.count) this.#ends = new Int32Array(rows.count)
    this.#texts.length = 0
    this.#start = rows.start
    this.#valid = validBits(vector)
    copyTexts(vector, rows, this.#texts, { ends: this.#ends, endsAt: 0 })
  }

  write(row: number, out: ByteBuffer): void {
    if (!isValid(this.#valid, row)) {
      written(out, this.#format.nullText)
      return
    }
    const at = row - this.#start
    const from = at === 0 ? 0 : (this.#ends[at - 1] ?? 0)
    this.#format.text(this.#texts.bytes, from, (this.#ends[at] ?? 0) - from, out)
  }
}

const encoder = new TextEncoder()

/** Writes a text. Optimized for short ASCII texts. */
export function written(out: ByteBuffer, text: string | Uint8Array): true {
  if (typeof text !== 'string') {
    out.append(text)
    return true
  }
  const { length } = text
  out.reserve(length * 3)
  const { bytes } = out
  const start = out.length
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at)
    if (code > 127) {
      out.length = start + encoder.encodeInto(text, bytes.subarray(start)).written
      return true
    }
    bytes[start + at] = code
  }
  out.length = start + length
  return true
}

function writeNumber(value: number, format: CellFormat, out: ByteBuffer): boolean {
  if (Number.isFinite(value)) return writeFinite(value, out)
  return !format.isExact && written(out, format.nullText)
}

function writeFinite(value: number, out: ByteBuffer): boolean {
  return Number.isInteger(value) ? writeInteger(value, out) : written(out, String(value))
}

const SHORT_MAX = 2 ** 31

function writeInteger(value: number, out: ByteBuffer): boolean {
  if (value >= SHORT_MAX || value <= -SHORT_MAX) return written(out, String(value))
  out.reserve(11)
  const { bytes } = out
  let rest = value | 0
  if (rest < 0) {
    bytes[out.length] = 45
    out.length += 1
    rest = -rest
  }
  let count = 1
  for (let bound = 10; count < 10 && rest >= bound; bound *= 10) count += 1
  writeDigits(rest, count, out)
  return true
}

/** Writes the number with exactly this many digits. */
function writeDigits(value: number, count: number, out: ByteBuffer): void {
  const { bytes, length } = out
  let rest = value
  for (let at = length + count - 1; at >= length; at -= 1) {
    const next = (rest / 10) | 0
    bytes[at] = 48 + rest - next * 10
    rest = next
  }
  out.length = length + count
}

const DAY_MS = 86_400_000
const DAY_MICROS = DAY_MS * 1000
/** Days between 1696 and 2243, where all years have four digits. */
const DAYS_MAX = 100_000
const KNOWN_DAYS_MAX = 4096

/** Caches the text of each date, because dates often repeat. */
class DayTexts {
  readonly quote: string
  /** Whether to omit zero seconds and trailing zeros of fractions. */
  readonly isShort: boolean
  /** The time zone suffix. */
  readonly zone: string
  readonly #known = new Map<number, string>()

  constructor(quote: string, isShort = false, zone = '') {
    this.quote = quote
    this.isShort = isShort
    this.zone = zone
  }

  of(day: number): string {
    const known = this.#known.get(day)
    if (known !== undefined) return known
    if (this.#known.size >= KNOWN_DAYS_MAX) this.#known.clear()
    const text = new Date(day * DAY_MS).toISOString().slice(0, 10)
    this.#known.set(day, text)
    return text
  }
}

function writeDate(day: number, days: DayTexts, out: ByteBuffer): boolean {
  if (Math.abs(day) > DAYS_MAX) return false
  written(out, days.quote)
  written(out, days.of(day))
  return written(out, days.quote)
}

const COLON = 58

/** Writes a timestamp in the same form as `timestampOf`. */
function writeTimestamp(micros: number | null, days: DayTexts, out: ByteBuffer): boolean {
  if (micros === null) return false
  let day = Math.floor(micros / DAY_MICROS)
  // Floating-point division may have rounded up to the next day.
  if (day * DAY_MICROS > micros) day -= 1
  if (Math.abs(day) > DAYS_MAX) return false
  const rest = micros - day * DAY_MICROS
  const seconds = Math.floor(rest / 1_000_000)
  written(out, days.quote)
  written(out, days.of(day))
  out.reserve(16)
  writeSign(32, out)
  writeDigits((seconds / 3600) | 0, 2, out)
  writeSign(COLON, out)
  writeDigits(((seconds / 60) | 0) % 60, 2, out)
  writeSign(COLON, out)
  writeDigits(seconds % 60, 2, out)
  writeFraction(rest - seconds * 1_000_000, days.isShort, out)
  return written(out, days.zone) && written(out, days.quote)
}

function writeFraction(micros: number, isShort: boolean, out: ByteBuffer): void {
  if (isShort && micros === 0) return
  writeSign(46, out)
  writeDigits(micros, 6, out)
  while (isShort && out.bytes[out.length - 1] === 48) out.length -= 1
}

function writeSign(code: number, out: ByteBuffer): void {
  out.bytes[out.length] = code
  out.length += 1
}
