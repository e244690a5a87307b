/** DuckDB's values as what JSON can say (docs/contract.md 4.11). */
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

/**
 * The library puts a struct's values into an object by name: in a struct without names all names are empty, and `__proto__`
 * is not a usable key. Numbering them keeps every value.
 */
export function numberFields(type: DuckDBType): void {
  if (type instanceof DuckDBStructType) {
    // Read-only by its declaration. The type is this vector's own.
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

/** For values that are not null. */
type ValueConverter = (value: DuckDBValue) => ResultValue

/** What JSON says of a value. Chosen once per column. */
export function converterOf(type: DuckDBType): ValueConverter {
  return converterFor(type, converterOf) ?? CONVERTERS[type.typeId] ?? textOrNull
}

/** The same, with texts for what a number of JSON cannot say: NaN, infinities, more than 15 digits of a DECIMAL. */
export function exactConverterOf(type: DuckDBType): ValueConverter {
  const own = EXACT_CONVERTERS[type.typeId] ?? CONVERTERS[type.typeId]
  return converterFor(type, exactConverterOf) ?? own ?? textOrNull
}

/** @param inner for the types within it; undefined: it has none */
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
  // DuckDB's JSON is a VARCHAR under another name, which the library forgets within lists.
  if (type instanceof DuckDBListType) return `${typeName(type.valueType)}[]`
  if (type instanceof DuckDBArrayType) return `${typeName(type.valueType)}[${type.length}]`
  return type.alias ?? type.toString()
}

const unchanged: ValueConverter = (value) => {
  // Only for types whose values are booleans, texts or small integers already.
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

/** UUID, INTERVAL, BIT, TIMETZ and all types that a later DuckDB adds. */
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

/** A double returns this many digits unchanged. */
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

/** Always with six digits of the second, as timestamps have. */
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
  // DuckDB's calendar reaches twenty thousand years further than JavaScript's.
  return shown === 'infinity' ? String(value) : shown
}

/** UTC for a TIMESTAMPTZ; what is finer than a microsecond is cut off. */
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

/** An object, or a list if the fields have no names. */
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

/** A JSON object, as DuckDB's own `to_json` writes a map. */
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

/** `{"<tag>": value}`, as DuckDB's own `to_json` writes a union. */
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

/** CSV in the excel dialect (RFC 4180): rows end with `\r\n`, quotes are doubled in quotes. */

/** One row with its end. A null is an empty cell; an empty string is quoted, so that the two differ. */
export function csvRow(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/** One cell. */
export function csvCell(text: string | null): string {
  if (text === null) return ''
  const isPlain = text !== '' && !/[",\r\n]/.test(text)
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`
}

/**
 * The rows of a text. Rows may also end with `\n`. Lenient: an unclosed quote lasts to the end, and text after a closed one
 * belongs to the cell.
 */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = []
  let row: string[] = []
  let start = 0
  while (start < text.length) {
    const cell = cellAt(text, start)
    row.push(cell.value)
    start = cell.end + 1
    if (text[cell.end] === ',') {
      // A comma at the very end still promises an empty cell.
      if (start >= text.length) row.push('')
      continue
    }
    if (text[cell.end] === '\r' && text[start] === '\n') start += 1
    rows.push(row)
    row = []
  }
  if (row.length > 0) rows.push(row)
  return rows
}

interface Cell {
  readonly value: string
  /** Index of what ends it: a comma, the end of a line or of the text. */
  readonly end: number
}

function cellAt(text: string, start: number): Cell {
  if (text[start] !== '"') {
    const end = plainEnd(text, start)
    return { value: text.slice(start, end), end }
  }
  let value = ''
  let from = start + 1
  for (;;) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return { value: value + text.slice(from), end: text.length }
    value += text.slice(from, quote)
    if (text[quote + 1] !== '"') {
      const end = plainEnd(text, quote + 1)
      return { value: value + text.slice(quote + 1, end), end }
    }
    value += '"'
    from = quote + 2
  }
}

const CELL_END = /[,\r\n]/g

function plainEnd(text: string, start: number): number {
  const end = new RegExp(CELL_END)
  end.lastIndex = start
  return end.exec(text)?.index ?? text.length
}
