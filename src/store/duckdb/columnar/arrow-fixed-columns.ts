/** Columns of values of a fixed width: mostly copies of memory. */
import type { DuckDBVector } from '@duckdb/node-api'
import { AppError } from '../../../core/errors.ts'
import { type ArrowColumn, type ArrowParts, type RowRange, ValidBits } from './arrow-column.ts'
import { DIGITS_MAX } from './arrow-types.ts'
import { ByteBuffer, isValid, itemBytes, validBits } from './raw-vectors.ts'

/** Values of a fixed width that Arrow has as DuckDB has them. */
export class FixedColumn implements ArrowColumn {
  protected readonly valid = new ValidBits()
  protected readonly values = new ByteBuffer()
  readonly #width: number

  constructor(width: number) {
    this.#width = width
  }

  bytesOf(_vector: DuckDBVector, { count }: RowRange): number {
    return count * this.#width
  }

  append(vector: DuckDBVector, rows: RowRange): void {
    this.valid.append(validBits(vector), rows)
    this.appendValues(vector, rows)
  }

  protected appendValues(vector: DuckDBVector, { start, count }: RowRange): void {
    const width = this.#width
    this.values.append(itemBytes(vector).subarray(start * width, (start + count) * width))
  }

  finish(into: ArrowParts): void {
    this.valid.finish(into)
    into.buffers.push(this.values.written())
  }

  clear(): void {
    this.valid.clear()
    this.values.length = 0
  }
}

export class NullColumn implements ArrowColumn {
  #length = 0

  bytesOf(): number {
    return 0
  }

  append(_vector: DuckDBVector, { count }: RowRange): void {
    this.#length += count
  }

  finish({ nodes }: ArrowParts): void {
    nodes.push({ length: this.#length, nullCount: this.#length })
  }

  clear(): void {
    this.#length = 0
  }
}

/** Booleans: bytes there, bits here. */
export class BitColumn implements ArrowColumn {
  readonly #valid = new ValidBits()
  readonly #values = new ByteBuffer()

  bytesOf(_vector: DuckDBVector, { count }: RowRange): number {
    return Math.ceil(count / 8)
  }

  append(vector: DuckDBVector, rows: RowRange): void {
    const from = this.#valid.length
    this.#valid.append(validBits(vector), rows)
    const bytes = Math.ceil(this.#valid.length / 8)
    this.#values.reserve(bytes - this.#values.length)
    const out = this.#values.bytes
    out.fill(0, this.#values.length, bytes)
    this.#values.length = bytes
    const items = itemBytes(vector)
    for (let index = 0; index < rows.count; index += 1) {
      const at = from + index
      if (items[rows.start + index] === 1) out[at >> 3] = (out[at >> 3] ?? 0) | (1 << (at & 7))
    }
  }

  finish(into: ArrowParts): void {
    this.#valid.finish(into)
    into.buffers.push(this.#values.written())
  }

  clear(): void {
    this.#valid.clear()
    this.#values.length = 0
  }
}

const WIDE = 16

/** Integers of 2, 4, 8 or 16 bytes as decimals of 16. */
export class WideColumn extends FixedColumn {
  constructor() {
    super(WIDE)
  }

  protected override appendValues(vector: DuckDBVector, { start, count }: RowRange): void {
    const items = itemBytes(vector)
    const width = items.length / vector.itemCount
    const part = items.subarray(start * width, (start + count) * width)
    if (width === WIDE) {
      checkDigits(vector, part, start)
      this.values.append(part)
      return
    }
    this.values.reserve(count * WIDE)
    const { bytes, length } = this.values
    const from = new DataView(part.buffer, part.byteOffset, part.byteLength)
    const to = new DataView(bytes.buffer, length, count * WIDE)
    for (let row = 0; row < count; row += 1) {
      const low = width === 2 ? from.getInt16(row * 2, true) : from.getInt32(row * width, true)
      const sign = low >> 31
      const second = width === 8 ? from.getInt32(row * 8 + 4, true) : sign
      const rest = second >> 31
      to.setInt32(row * WIDE, low, true)
      to.setInt32(row * WIDE + 4, second, true)
      to.setInt32(row * WIDE + 8, rest, true)
      to.setInt32(row * WIDE + 12, rest, true)
    }
    this.values.length += count * WIDE
  }
}

const WIDE_MAX = 10n ** BigInt(DIGITS_MAX)
/** The highest 32 bits of it. */
const HIGH_MAX = Number(WIDE_MAX >> 96n)

/** @throws AppError `sql_failed` for a number with 39 digits */
function checkDigits(vector: DuckDBVector, part: Uint8Array, start: number): void {
  const view = new DataView(part.buffer, part.byteOffset, part.byteLength)
  for (let at = 12; at < part.length; at += WIDE) {
    const high = view.getInt32(at, true)
    // Most numbers are far from it, of either sign.
    if (high < HIGH_MAX && high >= -HIGH_MAX) continue
    const value: unknown = vector.getItem(start + (at - 12) / WIDE)
    if (typeof value !== 'bigint' || (value < WIDE_MAX && value > -WIDE_MAX)) continue
    const found = `The number ${value} has more than the ${DIGITS_MAX} digits of Arrow's decimals`
    throw new AppError('sql_failed', `${found}; cast its column to VARCHAR`)
  }
}

/** Months and days stay; microseconds become nanoseconds. */
export class IntervalColumn extends FixedColumn {
  constructor() {
    super(WIDE)
  }

  protected override appendValues(vector: DuckDBVector, { start, count }: RowRange): void {
    this.values.append(itemBytes(vector).subarray(start * WIDE, (start + count) * WIDE))
    const { bytes, length } = this.values
    const view = new DataView(bytes.buffer)
    for (let at = length - count * WIDE + 8; at < length; at += WIDE) {
      view.setBigInt64(at, view.getBigInt64(at, true) * 1000n, true)
    }
  }
}

/** Indexes into a dictionary. */
export class IndexColumn extends FixedColumn {
  constructor() {
    super(4)
  }

  protected override appendValues(vector: DuckDBVector, { start, count }: RowRange): void {
    const bits = validBits(vector)
    const items = itemBytes(vector)
    const width = items.length / vector.itemCount
    const view = new DataView(items.buffer, items.byteOffset, items.byteLength)
    this.values.reserve(count * 4)
    const out = new DataView(this.values.bytes.buffer, this.values.length)
    for (let row = 0; row < count; row += 1) {
      const at = (start + row) * width
      const index = width === 1 ? view.getUint8(at) : sixteenOrMore(view, at, width)
      // What stands in the place of a null may be no index at all.
      out.setInt32(row * 4, isValid(bits, start + row) ? index : 0, true)
    }
    this.values.length += count * 4
  }
}

function sixteenOrMore(view: DataView, at: number, width: number): number {
  return width === 2 ? view.getUint16(at, true) : view.getUint32(at, true)
}
