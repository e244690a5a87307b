/**
 * Writes values of DuckDB vectors in PostgreSQL's binary format: the length, then the value, in
 * network byte order.
 */
import { DuckDBDecimalType, type DuckDBType, DuckDBTypeId } from '@duckdb/node-api'
import type { ByteBuffer, FixedWriter } from './raw-vectors.ts'

/** PostgreSQL's epoch, 2000-01-01, in days since 1970. */
const EPOCH_DAYS = 10_957
const EPOCH_MICROS = BigInt(EPOCH_DAYS) * 86_400_000_000n
const DAYS_MAX = 2 ** 31 - 1
const MICROS_MAX = 2n ** 63n - 1n

/** Returns the writer for a type of fixed width, or null if there is none. */
export function binaryWriterOf(type: DuckDBType): FixedWriter | null {
  if (type instanceof DuckDBDecimalType) return decimalWriter(type)
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
      return reversed(1)
    case DuckDBTypeId.SMALLINT:
      return reversed(2)
    case DuckDBTypeId.INTEGER:
    case DuckDBTypeId.FLOAT:
      return reversed(4)
    case DuckDBTypeId.BIGINT:
    case DuckDBTypeId.DOUBLE:
      return reversed(8)
    case DuckDBTypeId.DATE:
      return ({ view }, row, out) => {
        const days = view.getInt32(row * 4, true)
        // Both databases use the ends of the range for infinity.
        const isInfinite = Math.abs(days) === DAYS_MAX
        const infinity = days < 0 ? -DAYS_MAX - 1 : DAYS_MAX
        return writeInt32(out, 4) && writeInt32(out, isInfinite ? infinity : days - EPOCH_DAYS)
      }
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_TZ:
      return ({ view }, row, out) => {
        const micros = view.getBigInt64(row * 8, true)
        const isInfinite = micros === MICROS_MAX || micros === -MICROS_MAX
        const infinity = micros < 0n ? -MICROS_MAX - 1n : MICROS_MAX
        const value = isInfinite ? infinity : micros - EPOCH_MICROS
        writeInt32(out, 8)
        writeInt32(out, Number(value >> 32n))
        return writeInt32(out, Number(value & 0xffff_ffffn))
      }
    default:
      return null
  }
}

export function writeBinaryText(
  from: Uint8Array,
  offset: number,
  count: number,
  out: ByteBuffer,
): void {
  writeInt32(out, count)
  out.reserve(count)
  out.appendPart(from, offset, count)
}

/** Reverses the bytes, because DuckDB stores the lowest byte first. */
function reversed(size: number): FixedWriter {
  return ({ bytes }, row, out) => {
    writeInt32(out, size)
    out.reserve(size)
    const last = (row + 1) * size - 1
    for (let at = 0; at < size; at += 1) out.bytes[out.length + at] = bytes[last - at] ?? 0
    out.length += size
    return true
  }
}

function writeInt32(out: ByteBuffer, value: number): true {
  out.reserve(4)
  const { bytes, length } = out
  bytes[length] = value >>> 24
  bytes[length + 1] = value >>> 16
  bytes[length + 2] = value >>> 8
  bytes[length + 3] = value
  out.length = length + 4
  return true
}

function writeInt16(out: ByteBuffer, value: number): void {
  out.reserve(2)
  out.bytes[out.length] = value >>> 8
  out.bytes[out.length + 1] = value
  out.length += 2
}

const NEGATIVE = 0x4000

/**
 * Writes base-10000 digits without leading or trailing zeros, after the weight of the first one.
 */
function decimalWriter({ width, scale }: DuckDBDecimalType): FixedWriter | null {
  if (width > 18) return null
  const padding = '0'.repeat((4 - (scale % 4)) % 4)
  const groupsAfter = (scale + padding.length) / 4
  return ({ view }, row, out) => {
    const value = decimalAt(view, row, width)
    const digits = String(value).replace('-', '') + padding
    const text = digits.padStart(Math.ceil(digits.length / 4) * 4, '0')
    let first = 0
    let last = text.length
    while (first < last && text.startsWith('0000', first)) first += 4
    while (last > first && text.startsWith('0000', last - 4)) last -= 4
    const count = (last - first) / 4
    writeInt32(out, 8 + count * 2)
    writeInt16(out, count)
    writeInt16(out, count === 0 ? 0 : (text.length - first) / 4 - groupsAfter - 1)
    writeInt16(out, value < 0 ? NEGATIVE : 0)
    writeInt16(out, scale)
    for (let at = first; at < last; at += 4) writeInt16(out, Number(text.slice(at, at + 4)))
    return true
  }
}

function decimalAt(view: DataView, row: number, width: number): bigint | number {
  if (width <= 4) return view.getInt16(row * 2, true)
  return width <= 9 ? view.getInt32(row * 4, true) : view.getBigInt64(row * 8, true)
}
