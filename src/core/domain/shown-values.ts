/** Converts DuckDB values to JSON values (docs/contract.md 4.11). */
import {
  DuckDBArrayType,
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListType,
  DuckDBListValue,
  DuckDBMapType,
  DuckDBMapValue,
  DuckDBStructType,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  type DuckDBType,
  DuckDBTypeId,
  DuckDBUnionType,
  DuckDBUnionValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { timestampOf } from '../time.ts'
import { exactJson, isExactNumber, type ResultValue } from './query-result.ts'

/** By number: in an unnamed struct all names are empty, and `__proto__` cannot be a key. */
export function numberFields(type: DuckDBType): void {
  if (type instanceof DuckDBStructType) {
    // Declared read-only, but this type object belongs to this vector alone.
    const names = type.entryNames as string[]
    for (const index of names.keys()) names[index] = String(index)
  }
  for (const inner of innerTypes(type)) numberFields(inner)
}

function innerTypes(type: DuckDBType): readonly DuckDBType[] {
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) return [type.valueType]
  if (type instanceof DuckDBStructType) return type.entryTypes
  if (type instanceof DuckDBMapType) return [type.keyType, type.valueType]
  return type instanceof DuckDBUnionType ? type.memberTypes : []
}

/** Converts a value that is not null. */
type ValueConverter = (value: DuckDBValue) => ResultValue

/** The converter to JSON for a type. Call it once per column. */
export function converterOf(type: DuckDBType): ValueConverter {
  return converterFor(type, converterOf) ?? CONVERTERS[type.typeId] ?? textOrNull
}

/** Like `converterOf`, but NaN, infinities and DECIMALs with more than 15 digits become strings. */
export function exactConverterOf(type: DuckDBType): ValueConverter {
  const own = EXACT_CONVERTERS[type.typeId] ?? CONVERTERS[type.typeId]
  return converterFor(type, exactConverterOf) ?? own ?? textOrNull
}

/** @param inner the converter for nested types; undefined for a type without any */
function converterFor(
  type: DuckDBType,
  inner: (type: DuckDBType) => ValueConverter,
): ValueConverter | undefined {
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) {
    return listConverter(inner(type.valueType))
  }
  if (type instanceof DuckDBStructType) return structConverter(type, inner)
  if (type instanceof DuckDBMapType) return mapConverter(type, inner)
  if (type instanceof DuckDBUnionType) return unionConverter(type, inner)
  return type.alias === 'JSON' ? jsonValue : undefined
}

/** `DECIMAL(18,3)`, `JSON`, `STRUCT("a" INTEGER)`. */
export function typeName(type: DuckDBType): string {
  // DuckDB's JSON type is a VARCHAR with an alias, which the library drops inside lists.
  if (type instanceof DuckDBListType) return `${typeName(type.valueType)}[]`
  if (type instanceof DuckDBArrayType) return `${typeName(type.valueType)}[${type.length}]`
  return type.alias ?? type.toString()
}

const unchanged: ValueConverter = (value) => {
  // Only reached for types whose values are already booleans, strings or small integers.
  return value as ResultValue
}

const CONVERTERS: Partial<Record<DuckDBTypeId, ValueConverter>> = {
  [DuckDBTypeId.SQLNULL]: () => null,
  [DuckDBTypeId.BOOLEAN]: unchanged,
  [DuckDBTypeId.TINYINT]: unchanged,
  [DuckDBTypeId.SMALLINT]: unchanged,
  [DuckDBTypeId.INTEGER]: unchanged,
  [DuckDBTypeId.UTINYINT]: unchanged,
  [DuckDBTypeId.USMALLINT]: unchanged,
  [DuckDBTypeId.UINTEGER]: unchanged,
  [DuckDBTypeId.VARCHAR]: unchanged,
  [DuckDBTypeId.ENUM]: unchanged,
  [DuckDBTypeId.BIGINT]: exactInteger,
  [DuckDBTypeId.UBIGINT]: exactInteger,
  [DuckDBTypeId.HUGEINT]: exactInteger,
  [DuckDBTypeId.UHUGEINT]: exactInteger,
  [DuckDBTypeId.BIGNUM]: exactInteger,
  [DuckDBTypeId.FLOAT]: finiteNumber,
  [DuckDBTypeId.DOUBLE]: finiteNumber,
  [DuckDBTypeId.DECIMAL]: (value) => {
    return value instanceof DuckDBDecimalValue ? value.toDouble() : null
  },
  [DuckDBTypeId.DATE]: dateText,
  [DuckDBTypeId.TIME]: timeText,
  [DuckDBTypeId.TIMESTAMP]: timestampText,
  [DuckDBTypeId.TIMESTAMP_S]: timestampText,
  [DuckDBTypeId.TIMESTAMP_MS]: timestampText,
  [DuckDBTypeId.TIMESTAMP_NS]: timestampText,
  [DuckDBTypeId.TIMESTAMP_TZ]: timestampText,
  [DuckDBTypeId.BLOB]: (value) => {
    return value instanceof DuckDBBlobValue ? Buffer.from(value.bytes).toString('base64') : null
  },
}

const EXACT_CONVERTERS: Partial<Record<DuckDBTypeId, ValueConverter>> = {
  [DuckDBTypeId.FLOAT]: numberOrText,
  [DuckDBTypeId.DOUBLE]: numberOrText,
  [DuckDBTypeId.DECIMAL]: exactDecimal,
}

/** For UUID, INTERVAL, BIT, TIMETZ and any types added by later DuckDB versions. */
function textOrNull(value: DuckDBValue): ResultValue {
  return value === null ? null : String(value)
}

function exactInteger(value: DuckDBValue): ResultValue {
  if (typeof value !== 'bigint') return null
  return isExactNumber(value) ? Number(value) : value.toString()
}

function finiteNumber(value: DuckDBValue): ResultValue {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

function numberOrText(value: DuckDBValue): ResultValue {
  return Number.isFinite(value) ? finiteNumber(value) : textOrNull(value)
}

/** A double represents this many decimal digits exactly. */
const EXACT_DIGITS = 15

function exactDecimal(value: DuckDBValue): ResultValue {
  if (!(value instanceof DuckDBDecimalValue)) return null
  const digits = value.toString()
  const significant = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits
  const isExact = significant.replaceAll(/^[-0.]+|\D/g, '').length <= EXACT_DIGITS
  return isExact ? value.toDouble() : digits
}

function dateText(value: DuckDBValue): ResultValue {
  if (!(value instanceof DuckDBDateValue)) return null
  return value.isFinite ? value.toString() : infinity(value.days)
}

/** Always six digits for the fraction of a second, like timestamps. */
function timeText(value: DuckDBValue): ResultValue {
  if (!(value instanceof DuckDBTimeValue)) return null
  const [time = '', fraction = ''] = value.toString().split('.')
  return `${time}.${fraction.padEnd(6, '0')}`
}

function timestampText(value: DuckDBValue): ResultValue {
  const micros = microsOf(value)
  if (micros === null) return null
  const canBeInfinite = typeof value === 'object' && value !== null && 'isFinite' in value
  if (canBeInfinite && !value.isFinite) return infinity(micros)
  const shown = timestampOf(micros)
  // DuckDB's calendar extends about twenty thousand years beyond JavaScript's.
  return shown === 'infinity' ? String(value) : shown
}

/** In UTC for a TIMESTAMPTZ; precision beyond microseconds is cut off. */
function microsOf(value: DuckDBValue): bigint | null {
  if (value instanceof DuckDBTimestampValue) return value.micros
  if (value instanceof DuckDBTimestampTZValue) return value.micros
  if (value instanceof DuckDBTimestampSecondsValue) return value.seconds * 1_000_000n
  if (value instanceof DuckDBTimestampMillisecondsValue) return value.millis * 1000n
  if (!(value instanceof DuckDBTimestampNanosecondsValue)) return null
  const { nanos } = value
  return nanos >= 0n ? nanos / 1000n : (nanos - 999n) / 1000n
}

function infinity(sign: number | bigint): string {
  return sign > 0 ? 'infinity' : '-infinity'
}

function listConverter(item: ValueConverter): ValueConverter {
  return (value) => {
    const isList = value instanceof DuckDBListValue || value instanceof DuckDBArrayValue
    return isList ? value.items.map(item) : null
  }
}

/** Converts to an object, or to an array if the fields have no names. */
function structConverter(
  type: DuckDBStructType,
  inner: (type: DuckDBType) => ValueConverter,
): ValueConverter {
  const fields = type.entryNames.map((name, index) => {
    const fieldType = type.entryTypes[index]
    return [name, fieldType === undefined ? textOrNull : inner(fieldType)] as const
  })
  const isUnnamed = fields.every(([name]) => name === '')
  return (value) => {
    if (!(value instanceof DuckDBStructValue)) return null
    const { entries } = value
    const converted = fields.map(([name, convert], index) => {
      const field = entries[index] ?? null
      return [name, field === null ? null : convert(field)] as const
    })
    return isUnnamed ? converted.map(([, item]) => item) : Object.fromEntries(converted)
  }
}

/** Converts to a JSON object, like DuckDB's `to_json` for a map. */
function mapConverter(
  type: DuckDBMapType,
  inner: (type: DuckDBType) => ValueConverter,
): ValueConverter {
  const keyOf = inner(type.keyType)
  const itemOf = inner(type.valueType)
  return (value) => {
    if (!(value instanceof DuckDBMapValue)) return null
    return Object.fromEntries(
      value.entries.map((entry) => [keyText(keyOf(entry.key)), itemOf(entry.value)]),
    )
  }
}

function keyText(key: ResultValue): string {
  return typeof key === 'object' ? JSON.stringify(key) : String(key)
}

/** Converts to `{"<tag>": value}`, like DuckDB's `to_json` for a union. */
function unionConverter(
  type: DuckDBUnionType,
  inner: (type: DuckDBType) => ValueConverter,
): ValueConverter {
  const converters = new Map(
    type.memberTags.map((tag, index) => {
      const member = type.memberTypes[index]
      return [tag, member === undefined ? textOrNull : inner(member)] as const
    }),
  )
  return (value) => {
    if (!(value instanceof DuckDBUnionValue)) return null
    const convert = converters.get(value.tag) ?? textOrNull
    return { [value.tag]: convert(value.value) }
  }
}

function jsonValue(value: DuckDBValue): ResultValue {
  return typeof value === 'string' ? exactJson(value) : null
}
