/** Which type holds the values of two types without losing anything. */
import type { ColumnType, PlainTypeName, StructField } from './column-type.ts'

const INTEGER_BITS: Partial<
  Record<PlainTypeName, { readonly bits: number; readonly signed: boolean }>
> = {
  TINYINT: { bits: 8, signed: true },
  SMALLINT: { bits: 16, signed: true },
  INTEGER: { bits: 32, signed: true },
  BIGINT: { bits: 64, signed: true },
  HUGEINT: { bits: 128, signed: true },
  UTINYINT: { bits: 8, signed: false },
  USMALLINT: { bits: 16, signed: false },
  UINTEGER: { bits: 32, signed: false },
  UBIGINT: { bits: 64, signed: false },
  UHUGEINT: { bits: 128, signed: false },
}

/** In rising order. */
const SIGNED: readonly PlainTypeName[] = ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT']
const UNSIGNED: readonly PlainTypeName[] = [
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
  'UBIGINT',
  'UHUGEINT',
]

/** The range of an integer type, both ends included; null for any other type. */
export function integerRange(
  type: ColumnType,
): { readonly min: bigint; readonly max: bigint } | null {
  const known = type.kind === 'plain' ? INTEGER_BITS[type.name] : undefined
  if (known === undefined) return null
  const bits = BigInt(known.bits)
  return known.signed
    ? { min: -(1n << (bits - 1n)), max: (1n << (bits - 1n)) - 1n }
    : { min: 0n, max: (1n << bits) - 1n }
}

export function isNumberType(type: ColumnType): boolean {
  return type.kind === 'decimal' || integerRange(type) !== null || isFloat(type)
}

function isFloat(type: ColumnType): boolean {
  return type.kind === 'plain' && (type.name === 'FLOAT' || type.name === 'DOUBLE')
}

/** Of times of the day on a day, from coarse to fine. */
const TIMESTAMPS: readonly PlainTypeName[] = [
  'DATE',
  'TIMESTAMP_S',
  'TIMESTAMP_MS',
  'TIMESTAMP',
  'TIMESTAMP_NS',
]

/**
 * The narrowest type that holds values of both; null where there is none but text. Numbers of different kinds meet in
 * DECIMAL where its 38 digits hold them, else in DOUBLE.
 */
export function commonType(one: ColumnType, other: ColumnType): ColumnType | null {
  if (one.kind === 'list' && other.kind === 'list') {
    const item = commonType(one.item, other.item)
    return item && { kind: 'list', item }
  }
  if (one.kind === 'struct' && other.kind === 'struct') return commonStruct(one, other)
  if (one.kind === 'map' && other.kind === 'map') {
    const key = commonType(one.key, other.key)
    const value = commonType(one.value, other.value)
    return key && value && { kind: 'map', key, value }
  }
  if (one.kind === 'array' && other.kind === 'array' && one.length === other.length) {
    const item = commonType(one.item, other.item)
    return item && { kind: 'array', item, length: one.length }
  }
  if (isNumberType(one) && isNumberType(other)) return commonNumber(one, other)
  if (one.kind !== 'plain' || other.kind !== 'plain') return null
  if (one.name === other.name) return one
  const rank = Math.min(TIMESTAMPS.indexOf(one.name), TIMESTAMPS.indexOf(other.name))
  if (rank < 0) return null
  const later = Math.max(TIMESTAMPS.indexOf(one.name), TIMESTAMPS.indexOf(other.name))
  return plainType(TIMESTAMPS[later] ?? 'TIMESTAMP')
}

function plainType(name: PlainTypeName): ColumnType {
  return { kind: 'plain', name }
}

function commonStruct(
  one: { readonly fields: readonly StructField[] },
  other: { readonly fields: readonly StructField[] },
): ColumnType | null {
  if (one.fields.length !== other.fields.length) return null
  const fields: StructField[] = []
  for (const [index, { name, type }] of one.fields.entries()) {
    const twin = other.fields[index]
    const common = twin?.name === name ? commonType(type, twin.type) : null
    if (common === null) return null
    fields.push({ name, type: common })
  }
  return { kind: 'struct', fields }
}

function commonNumber(one: ColumnType, other: ColumnType): ColumnType {
  const [a, b] = [integerRange(one), integerRange(other)]
  if (a !== null && b !== null) {
    const min = a.min < b.min ? a.min : b.min
    const max = a.max > b.max ? a.max : b.max
    return narrowestInteger(min, max)
  }
  if (isFloat(one) || isFloat(other)) {
    const isSame = one.kind === 'plain' && other.kind === 'plain' && one.name === other.name
    return isSame ? one : plainType('DOUBLE')
  }
  const [p, q] = [digitsOf(one), digitsOf(other)]
  if (one.kind === 'decimal' && q.whole <= p.whole && q.scale <= p.scale) return one
  if (other.kind === 'decimal' && p.whole <= q.whole && p.scale <= q.scale) return other
  return decimalWith(Math.max(p.whole, q.whole), Math.max(p.scale, q.scale))
}

/** The type of integers from `min` to `max`: the first that has room for both, with a sign where there is one. */
function narrowestInteger(min: bigint, max: bigint): ColumnType {
  const names = min < 0n ? SIGNED : UNSIGNED
  const found = names.find((name) => {
    const range = integerRange(plainType(name))
    return range !== null && range.min <= min && max <= range.max
  })
  return plainType(found ?? 'DOUBLE')
}

/** Digits before and after the point. */
function digitsOf(type: ColumnType): { readonly whole: number; readonly scale: number } {
  if (type.kind === 'decimal') return { whole: type.width - type.scale, scale: type.scale }
  const range = integerRange(type)
  return { whole: range === null ? 0 : String(range.max).length, scale: 0 }
}

const DECIMAL_WIDTHS = [18, 38]

/**
 * A DECIMAL for so many digits before and after the point, or DOUBLE where there is none. Wider than it needs to be at
 * once, unless it is to be narrow, so that a column does not grow digit by digit.
 */
export function decimalWith(
  whole: number,
  scale: number,
  size: 'narrow' | 'roomy' = 'roomy',
): ColumnType {
  const needed = Math.max(1, whole + scale)
  const roomy = DECIMAL_WIDTHS.find((digits) => digits >= needed)
  if (roomy === undefined) return plainType('DOUBLE')
  return { kind: 'decimal', width: size === 'narrow' ? needed : roomy, scale }
}
