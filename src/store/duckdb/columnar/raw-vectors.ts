/** Reads DuckDB vectors directly from memory. The views are valid as long as their chunk. */
import {
  DuckDBArrayType,
  type DuckDBDataChunk,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
  DuckDBUnionType,
  type DuckDBVector,
} from '@duckdb/node-api'
import duckdb from '@duckdb/node-bindings'
import { AppError } from '../../../core/errors.ts'

const SHORT_COPY_MAX = 64

export interface RowRange {
  readonly start: number
  readonly count: number
}

/** The values of a vector whose type has a fixed width. */
export interface FixedValues {
  readonly bytes: Uint8Array
  readonly view: DataView
}

/** Writes a value. Returns false, without writing, for a rare kind of value. */
export type FixedWriter = (values: FixedValues, row: number, out: ByteBuffer) => boolean

/** A byte buffer that grows as it is written. */
export class ByteBuffer {
  bytes: Uint8Array
  length = 0

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity)
  }

  /** Makes sure that `count` more bytes fit. */
  reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /**
   * Appends `count` bytes; call `reserve` first. Short parts are copied without creating a view.
   */
  appendPart(from: Uint8Array, offset: number, count: number): void {
    const { bytes, length } = this
    if (count > SHORT_COPY_MAX) bytes.set(from.subarray(offset, offset + count), length)
    else for (let at = 0; at < count; at += 1) bytes[length + at] = from[offset + at] ?? 0
    this.length += count
  }

  /** The bytes written so far. The view is valid until the next write. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
}

/** The values of a type of fixed width, or DuckDB's 16-byte entries for texts. */
export function itemBytes(vector: DuckDBVector): Uint8Array {
  const items = partOf(vector, 'items') ?? partOf(vector, 'dataView')
  if (!ArrayBuffer.isView(items)) throw new Error('the library keeps the items elsewhere now')
  return new Uint8Array(items.buffer, items.byteOffset, items.byteLength)
}

/** Two numbers per list: its start in the vector of items, and its length. */
export function listEntries(vector: DuckDBVector): BigUint64Array {
  const entries = partOf(vector, 'entryData')
  if (entries instanceof BigUint64Array) return entries
  throw new Error('the library keeps the places of lists elsewhere now')
}

/** The vector with the items of all lists. */
export function childVector(vector: DuckDBVector): DuckDBVector {
  return requireVector(partOf(vector, 'childData'))
}

/** DuckDB stores a map as a list of structs, and a union as a struct. */
export function innerVector(vector: DuckDBVector): DuckDBVector {
  return requireVector(partOf(vector, 'listVector') ?? partOf(vector, 'structVector'))
}

export function fieldVectors(vector: DuckDBVector): readonly DuckDBVector[] {
  const fields = partOf(vector, 'entryVectors')
  if (Array.isArray(fields)) return fields.map(requireVector)
  throw new Error('the library keeps the fields of structs elsewhere now')
}

/** 1 for a value, from the lowest bit of the first byte. null if no row is null. */
export function validBits(vector: DuckDBVector): Uint8Array | null {
  const validity = partOf(vector, 'validity')
  if (typeof validity !== 'object' || validity === null) {
    throw new Error('the library keeps the nulls elsewhere now')
  }
  const data = partOf(validity, 'data')
  if (data === null) return null
  if (!ArrayBuffer.isView(data) || partOf(validity, 'offset') !== 0) {
    throw new Error('the library keeps the nulls elsewhere now')
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

export function isValid(bits: Uint8Array | null, row: number): boolean {
  return bits === null || (((bits[row >> 3] ?? 0) >> (row & 7)) & 1) === 1
}

const BIT_COUNTS = Uint8Array.from({ length: 256 }, (_, byte) => {
  return [...byte.toString(2)].filter((bit) => bit === '1').length
})

/** To row `at` of `into`, which must be all zeros. @returns how many are 0 */
export function copyBits(
  bits: Uint8Array | null,
  { start, count }: RowRange,
  into: Uint8Array,
  at: number,
): number {
  let nullCount = 0
  let done = 0
  if (((at | start) & 7) === 0) {
    done = count & ~7
    const whole = bits?.subarray(start >> 3, (start + done) >> 3)
    if (whole === undefined) into.fill(0xff, at >> 3, (at + done) >> 3)
    else {
      into.set(whole, at >> 3)
      for (const byte of whole) nullCount += 8 - (BIT_COUNTS[byte] ?? 0)
    }
  }
  for (let index = done; index < count; index += 1) {
    if (isValid(bits, start + index)) setBit(into, at + index)
    else nullCount += 1
  }
  return nullCount
}

export function setBit(bits: Uint8Array, at: number): void {
  bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7))
}

/** Reads a property that the library's types do not declare. */
function partOf(value: object, name: string): unknown {
  return Reflect.get(value, name)
}

function requireVector(found: unknown): DuckDBVector {
  // This property always holds a vector.
  if (typeof found === 'object' && found !== null) return found as DuckDBVector
  throw new Error('the library keeps vectors within vectors elsewhere now')
}

/** Shorter texts are stored inline after their length, longer ones behind a pointer. */
const LONG_FROM = 13
const HIGH = 2 ** 32

interface Region {
  readonly bytes: Uint8Array
  readonly address: number
}

/** The total size in bytes of the texts in these rows, without nulls. */
export function textBytes(vector: DuckDBVector, start: number, count: number): number {
  const words = textWords(vector)
  const bits = validBits(vector)
  let bytes = 0
  for (let row = start; row < start + count; row += 1) {
    if (isValid(bits, row)) bytes += words[row * 4] ?? 0
  }
  return bytes
}

function textWords(vector: DuckDBVector): Uint32Array {
  const items = itemBytes(vector)
  return new Uint32Array(items.buffer, items.byteOffset, items.byteLength >> 2)
}

/** The values within one row that are converted at once: a quarter of a second of work. */
const INNER_VALUES_MAX = 250_000
/** Rows with fewer values in them, all together, need no check. */
const INNER_VALUES_FEW = 10_000
/** This much text takes as long as one value, and so does parsing this much JSON. */
const TEXT_BYTES_PER_VALUE = 256
const JSON_BYTES_PER_VALUE = 32

/**
 * Call the check before converting a row: a single one can hold as much as all others, and blocks
 * the main thread. null if all rows of the chunk are small.
 */
export function largeRowCheck(
  types: readonly DuckDBType[],
  data: DuckDBDataChunk,
): ((row: number) => void) | null {
  const countIn = (rows: RowRange, most: number) => {
    return types.reduce((sum, type, index) => {
      return sum + innerValues(type, data.getColumnVector(index), rows, most)
    }, 0)
  }
  const all = { start: 0, count: data.rowCount }
  if (countIn(all, INNER_VALUES_FEW) <= INNER_VALUES_FEW) return null
  return (row) => {
    if (countIn({ start: row, count: 1 }, INNER_VALUES_MAX) <= INNER_VALUES_MAX) return
    throw new AppError(
      'sql_too_costly',
      `A row has more than ${INNER_VALUES_MAX} list items and fields, 8 MB of JSON or 64 MB of text; select parts of it, use unnest, or request Arrow or Parquet`,
    )
  }
}

/** How many values are in lists and structs of these rows. Stops counting beyond `most`. */
function innerValues(type: DuckDBType, vector: DuckDBVector, rows: RowRange, most: number): number {
  // DuckDB's maps are lists, and its unions are structs.
  if (type instanceof DuckDBMapType || type instanceof DuckDBUnionType) {
    const inner = innerVector(vector)
    return innerValues(inner.type, inner, rows, most)
  }
  if (type instanceof DuckDBListType) return listedValues(vector, rows, most)
  if (type instanceof DuckDBArrayType) {
    const items = { start: rows.start * type.length, count: rows.count * type.length }
    return items.count + innerValues(type.valueType, childVector(vector), items, most)
  }
  if (type instanceof DuckDBStructType) {
    return fieldVectors(vector).reduce((sum, field) => {
      return sum + rows.count + innerValues(field.type, field, rows, most)
    }, 0)
  }
  if (type.typeId !== DuckDBTypeId.VARCHAR && type.typeId !== DuckDBTypeId.BLOB) return 0
  const bytes = textBytes(vector, rows.start, rows.count)
  return bytes / (type.alias === 'JSON' ? JSON_BYTES_PER_VALUE : TEXT_BYTES_PER_VALUE)
}

function listedValues(vector: DuckDBVector, { start, count }: RowRange, most: number): number {
  const entries = listEntries(vector)
  const bits = validBits(vector)
  const items = childVector(vector)
  let sum = 0
  for (let row = start; row < start + count && sum <= most; row += 1) {
    if (!isValid(bits, row)) continue
    const own = { start: Number(entries[row * 2]), count: Number(entries[row * 2 + 1]) }
    sum += own.count + innerValues(items.type, items, own, most - sum)
  }
  return sum
}

/** As UTF-8. Adjacent texts need one call together. @param ends offsets, from `endsAt` */
export function copyTexts(
  vector: DuckDBVector,
  { start, count }: RowRange,
  into: ByteBuffer,
  { ends, endsAt }: { readonly ends: Int32Array; readonly endsAt: number },
): void {
  const words = textWords(vector)
  const inline = itemBytes(vector)
  const bits = validBits(vector)
  into.reserve(textBytes(vector, start, count))
  let region: Region = { bytes: inline.subarray(0, 0), address: 0 }
  for (let row = start; row < start + count; row += 1) {
    const length = isValid(bits, row) ? (words[row * 4] ?? 0) : 0
    if (length >= LONG_FROM) {
      const address = addressOf(words, row)
      const { bytes, address: first } = region
      if (address < first || address + length > first + bytes.length) {
        region = regionFrom(words, bits, row, start + count)
      }
      into.appendPart(region.bytes, address - region.address, length)
    } else {
      into.appendPart(inline, row * 16 + 4, length)
    }
    ends[endsAt + row - start] = into.length
  }
}

function addressOf(words: Uint32Array, row: number): number {
  return (words[row * 4 + 2] ?? 0) + (words[row * 4 + 3] ?? 0) * HIGH
}

/** Reads the memory of a row's text together with the texts of the next rows, if adjacent. */
function regionFrom(
  words: Uint32Array,
  bits: Uint8Array | null,
  firstRow: number,
  endRow: number,
): Region {
  let first = addressOf(words, firstRow)
  let end = first + (words[firstRow * 4] ?? 0)
  for (let row = firstRow + 1; row < endRow; row += 1) {
    const length = isValid(bits, row) ? (words[row * 4] ?? 0) : 0
    if (length < LONG_FROM) continue
    const address = addressOf(words, row)
    if (address === end) end += length
    else if (address + length === first) first = address
    else if (address < first || address + length > end) break
  }
  return { bytes: bytesAt(first, end - first), address: first }
}

function bytesAt(address: number, length: number): Uint8Array {
  const pointer = new Uint32Array([address % HIGH, Math.floor(address / HIGH)])
  return duckdb.get_data_from_pointer(pointer.buffer, 0, length)
}
