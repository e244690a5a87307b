/** DuckDB's types as PostgreSQL's, and their values as text or in the binary form that drivers ask for. */
import type { ResultValue } from '../../core/domain/query-result.ts'

export interface PgType {
  readonly oid: number
  /** Bytes of a value; -1: it varies. */
  readonly size: number
  /** Of the type of arrays of it. */
  readonly array: number
  readonly name: string
}

function type(name: string, oid: number, size: number, array: number): PgType {
  return { name, oid, size, array }
}

const BOOL = type('bool', 16, 1, 1000)
const BYTEA = type('bytea', 17, -1, 1001)
const INT8 = type('int8', 20, 8, 1016)
const INT2 = type('int2', 21, 2, 1005)
const INT4 = type('int4', 23, 4, 1007)
const TEXT = type('text', 25, -1, 1009)
const OID = type('oid', 26, 4, 1028)
const JSON_TYPE = type('json', 114, -1, 199)
const FLOAT4 = type('float4', 700, 4, 1021)
const FLOAT8 = type('float8', 701, 8, 1022)
const VARCHAR = type('varchar', 1043, -1, 1015)
const DATE = type('date', 1082, 4, 1182)
const TIME = type('time', 1083, 8, 1183)
const TIMESTAMP = type('timestamp', 1114, 8, 1115)
const TIMESTAMPTZ = type('timestamptz', 1184, 8, 1185)
const INTERVAL = type('interval', 1186, 16, 1187)
const TIMETZ = type('timetz', 1266, 12, 1270)
const BIT = type('varbit', 1562, -1, 1563)
const NUMERIC = type('numeric', 1700, -1, 1231)
const UUID = type('uuid', 2950, 16, 2951)
const JSONB = type('jsonb', 3802, -1, 3807)

/** By DuckDB's name, without anything in parentheses. */
const BY_DUCKDB: Readonly<Record<string, PgType>> = {
  BOOLEAN: BOOL,
  TINYINT: INT2,
  UTINYINT: INT2,
  SMALLINT: INT2,
  USMALLINT: INT4,
  INTEGER: INT4,
  UINTEGER: INT8,
  BIGINT: INT8,
  UBIGINT: NUMERIC,
  HUGEINT: NUMERIC,
  UHUGEINT: NUMERIC,
  BIGNUM: NUMERIC,
  FLOAT: FLOAT4,
  DOUBLE: FLOAT8,
  DECIMAL: NUMERIC,
  VARCHAR: TEXT,
  JSON: JSON_TYPE,
  BLOB: BYTEA,
  BIT,
  DATE,
  TIME,
  TIME_NS: TIME,
  'TIME WITH TIME ZONE': TIMETZ,
  TIMESTAMP,
  TIMESTAMP_S: TIMESTAMP,
  TIMESTAMP_MS: TIMESTAMP,
  TIMESTAMP_NS: TIMESTAMP,
  'TIMESTAMP WITH TIME ZONE': TIMESTAMPTZ,
  INTERVAL,
  UUID,
  OID,
  '"NULL"': TEXT,
}

const TYPES_SERVED: readonly PgType[] = [
  ...[BOOL, BYTEA, INT8, INT2, INT4, TEXT, OID, JSON_TYPE, FLOAT4, FLOAT8, VARCHAR, DATE, TIME],
  ...[TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ, BIT, NUMERIC, UUID, JSONB],
]
const BY_OID = new Map(TYPES_SERVED.map((one) => [one.oid, one]))
const ELEMENT_OF = new Map(TYPES_SERVED.map((one) => [one.array, one]))

export interface ColumnType {
  readonly oid: number
  readonly size: number
  readonly modifier: number
  /** Digits behind the point of a DECIMAL; null: as many as there are. */
  readonly scale: number | null
  /** Of a list: what it holds. */
  readonly element: PgType | null
  readonly scalar: PgType
}

/** @param duckdb DuckDB's name of the type: `DECIMAL(18,3)`, `INTEGER[]` */
export function columnType(duckdb: string): ColumnType {
  const list = /^(.*?)(?:\[\d*\])+$/s.exec(duckdb)
  const name = list?.[1] ?? duckdb
  const decimal = /^DECIMAL\((\d+),(\d+)\)$/.exec(name)
  const base = decimal === null ? name : 'DECIMAL'
  // A STRUCT, MAP or UNION is JSON; an ENUM is its text.
  const scalar = BY_DUCKDB[base] ?? (/^(STRUCT|MAP|UNION|VARIANT)/.test(name) ? JSON_TYPE : TEXT)
  if (list !== null && scalar !== JSON_TYPE) {
    return { oid: scalar.array, size: -1, modifier: -1, scale: null, element: scalar, scalar }
  }
  const modifier =
    decimal === null ? -1 : ((Number(decimal[1]) << 16) | Number(decimal[2])) + MODIFIER_HEADER
  const scale = decimal === null ? null : Number(decimal[2])
  return { oid: scalar.oid, size: scalar.size, modifier, scale, element: null, scalar }
}

/** What PostgreSQL adds to the modifier of a varying length. */
const MODIFIER_HEADER = 4

/** A value as text; null stays null. */
export function textValue(
  value: ResultValue,
  { element, scalar, scale }: ColumnType,
): string | null {
  if (value === null) return null
  if (scale !== null && typeof value === 'number') return value.toFixed(scale)
  if (element !== null && Array.isArray(value)) return arrayText(value, element)
  return scalarText(value, scalar)
}

function scalarText(value: Exclude<ResultValue, null>, scalar: PgType): string {
  if (typeof value === 'string' && scalar !== TIMESTAMPTZ) {
    return scalar === BYTEA ? `\\x${Buffer.from(value, 'base64').toString('hex')}` : value
  }
  if (scalar === TIMESTAMPTZ && typeof value === 'string') return `${value}+00`
  if (typeof value === 'boolean' && scalar === BOOL) return value ? 't' : 'f'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function arrayText(values: readonly ResultValue[], element: PgType): string {
  const parts = values.map((value) => {
    if (value === null) return 'NULL'
    if (Array.isArray(value)) return arrayText(value, element)
    const text = scalarText(value, element)
    const isPlain = text !== '' && !/[\s{}",\\]/.test(text) && text.toUpperCase() !== 'NULL'
    return isPlain ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
  })
  return `{${parts.join(',')}}`
}

/** 2000-01-01, from which PostgreSQL counts, in days since 1970. */
const EPOCH_DAYS = 10_957
const DAY_MS = 86_400_000

/** A value in the binary form; null stays null. @throws Error for a type that has none here */
export function binaryValue(value: ResultValue, type: ColumnType): Uint8Array | null {
  if (value === null) return null
  const { element, scalar } = type
  if (element !== null && Array.isArray(value)) return arrayBinary(value, element)
  if (scalar === NUMERIC) return numericBinary(textValue(value, type) ?? '')
  return scalarBinary(value, scalar)
}

function scalarBinary(value: Exclude<ResultValue, null>, scalar: PgType): Uint8Array {
  const write = WRITERS.get(scalar)
  return write === undefined ? Buffer.from(scalarText(value, scalar)) : write(value)
}

function sized(size: number, fill: (buffer: Buffer) => void): Buffer {
  const buffer = Buffer.alloc(size)
  fill(buffer)
  return buffer
}

type Written = Exclude<ResultValue, null>

const WRITERS: ReadonlyMap<PgType, (value: Written) => Uint8Array> = new Map<
  PgType,
  (value: Written) => Uint8Array
>([
  [BOOL, (value) => Buffer.from([value === true ? 1 : 0])],
  [BYTEA, (value) => Buffer.from(String(value), 'base64')],
  [INT2, (value) => sized(2, (to) => to.writeInt16BE(Number(value)))],
  [INT4, (value) => sized(4, (to) => to.writeInt32BE(Number(value)))],
  [OID, (value) => sized(4, (to) => to.writeUInt32BE(Number(value)))],
  [INT8, (value) => sized(8, (to) => to.writeBigInt64BE(BigInt(String(value))))],
  [FLOAT4, (value) => sized(4, (to) => to.writeFloatBE(Number(value)))],
  [FLOAT8, (value) => sized(8, (to) => to.writeDoubleBE(Number(value)))],
  [UUID, (value) => Buffer.from(String(value).replaceAll('-', ''), 'hex')],
  [JSONB, (value) => Buffer.concat([Buffer.from([1]), Buffer.from(scalarText(value, JSONB))])],
  [DATE, (value) => sized(4, (to) => to.writeInt32BE(daysOf(String(value))))],
  [TIME, (value) => sized(8, (to) => to.writeBigInt64BE(timeMicros(String(value))))],
  [TIMESTAMP, (value) => sized(8, (to) => to.writeBigInt64BE(timestampMicros(String(value))))],
  [TIMESTAMPTZ, (value) => sized(8, (to) => to.writeBigInt64BE(timestampMicros(String(value))))],
  [NUMERIC, (value) => numericBinary(String(value))],
])

function arrayBinary(values: readonly ResultValue[], element: PgType): Buffer {
  const head = sized(values.length === 0 ? 12 : 20, (to) => {
    to.writeInt32BE(values.length === 0 ? 0 : 1, 0)
    to.writeInt32BE(values.includes(null) ? 1 : 0, 4)
    to.writeInt32BE(element.oid, 8)
    if (values.length > 0) {
      to.writeInt32BE(values.length, 12)
      to.writeInt32BE(1, 16)
    }
  })
  const parts = values.flatMap((value) => {
    const bytes = value === null ? null : scalarBinary(value, element)
    const length = sized(4, (to) => to.writeInt32BE(bytes === null ? -1 : bytes.length))
    return bytes === null ? [length] : [length, bytes]
  })
  return Buffer.concat([head, ...parts])
}

function daysOf(date: string): number {
  return Math.floor(Date.parse(`${date}T00:00:00Z`) / DAY_MS) - EPOCH_DAYS
}

function timeMicros(time: string): bigint {
  const [, hours = '0', minutes = '0', seconds = '0', fraction = ''] =
    /(\d+):(\d+):(\d+)(?:\.(\d+))?/.exec(time) ?? []
  const whole = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6))
}

function timestampMicros(value: string): bigint {
  const [date = '', time = '00:00:00'] = value.split(/[ T]/)
  return BigInt(daysOf(date)) * 86_400_000_000n + timeMicros(time)
}

const NUMERIC_BASE_DIGITS = 4
const NUMERIC_NEGATIVE = 0x4000
const NUMERIC_NAN = 0xc000

/** Groups of four digits, with the weight of the first (src/backend/utils/adt/numeric.c, `numeric_send`). */
function numericBinary(text: string): Buffer {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(plain(text)) ?? []
  if (whole === '') return sized(8, (to) => to.writeUInt16BE(NUMERIC_NAN, 4))
  const padded = whole.padStart(Math.ceil(whole.length / 4) * NUMERIC_BASE_DIGITS, '0')
  const digits = padded + fraction.padEnd(Math.ceil(fraction.length / 4) * NUMERIC_BASE_DIGITS, '0')
  const groups = (digits.match(/\d{4}/g) ?? []).map(Number)
  let weight = padded.length / NUMERIC_BASE_DIGITS - 1
  while (groups.length > 0 && groups[0] === 0) {
    groups.shift()
    weight -= 1
  }
  while (groups.at(-1) === 0) groups.pop()
  return sized(8 + groups.length * 2, (to) => {
    to.writeInt16BE(groups.length, 0)
    to.writeInt16BE(groups.length === 0 ? 0 : weight, 2)
    to.writeUInt16BE(sign === '-' && groups.length > 0 ? NUMERIC_NEGATIVE : 0, 4)
    to.writeInt16BE(fraction.length, 6)
    groups.forEach((group, index) => {
      to.writeInt16BE(group, 8 + index * 2)
    })
  })
}

/** Without an exponent. */
function plain(text: string): string {
  if (!/e/i.test(text)) return text
  const number = Number(text)
  return Number.isInteger(number) ? BigInt(number).toString() : number.toFixed(20)
}

/** What a client sent for a parameter, as the text of a literal. @throws Error where the bytes do not fit the type */
export function parameterText(bytes: Buffer, oid: number, isBinary: boolean): string {
  if (!isBinary) return bytes.toString()
  const element = ELEMENT_OF.get(oid)
  if (element !== undefined) return arrayParameter(bytes, element.oid)
  const read = READERS[oid]
  return read === undefined ? bytes.toString() : read(bytes)
}

const READERS: Readonly<Record<number, (bytes: Buffer) => string>> = {
  [BOOL.oid]: (bytes) => String(bytes[0] === 1),
  [BYTEA.oid]: (bytes) => `\\x${bytes.toString('hex')}`,
  [INT2.oid]: (bytes) => String(bytes.readInt16BE()),
  [INT4.oid]: (bytes) => String(bytes.readInt32BE()),
  [OID.oid]: (bytes) => String(bytes.readUInt32BE()),
  [INT8.oid]: (bytes) => String(bytes.readBigInt64BE()),
  [FLOAT4.oid]: (bytes) => String(bytes.readFloatBE()),
  [FLOAT8.oid]: (bytes) => String(bytes.readDoubleBE()),
  [JSONB.oid]: (bytes) => bytes.toString('utf8', 1),
  [UUID.oid]: (bytes) => {
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  },
  [DATE.oid]: (bytes) => dayText(bytes.readInt32BE()),
  [TIME.oid]: (bytes) => timeText(bytes.readBigInt64BE()),
  [TIMESTAMP.oid]: (bytes) => timestampText(bytes.readBigInt64BE()),
  [TIMESTAMPTZ.oid]: (bytes) => `${timestampText(bytes.readBigInt64BE())}+00`,
  [NUMERIC.oid]: numericText,
}

function dayText(days: number): string {
  return new Date((days + EPOCH_DAYS) * DAY_MS).toISOString().slice(0, 10)
}

function timeText(micros: bigint): string {
  const seconds = Number(micros / 1_000_000n)
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60]
  const clock = parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':')
  return `${clock}.${String(micros % 1_000_000n).padStart(6, '0')}`
}

function timestampText(micros: bigint): string {
  const day = 86_400_000_000n
  const within = ((micros % day) + day) % day
  return `${dayText(Number((micros - within) / day))} ${timeText(within)}`
}

function numericText(bytes: Buffer): string {
  const count = bytes.readInt16BE(0)
  const weight = bytes.readInt16BE(2)
  const sign = bytes.readUInt16BE(4)
  const scale = bytes.readInt16BE(6)
  if (sign === NUMERIC_NAN) return 'NaN'
  let digits = ''
  for (let index = 0; index < Math.max(count, weight + 1); index += 1) {
    const group = index < count ? bytes.readInt16BE(8 + index * 2) : 0
    digits += String(group).padStart(NUMERIC_BASE_DIGITS, '0')
  }
  const wholeDigits = (weight + 1) * NUMERIC_BASE_DIGITS
  const all = wholeDigits > 0 ? digits : '0'.repeat(-wholeDigits) + digits
  const whole = wholeDigits > 0 ? all.slice(0, wholeDigits).replace(/^0+(?=\d)/, '') : '0'
  const fraction = all.slice(Math.max(0, wholeDigits)).slice(0, scale)
  const text = fraction === '' ? whole : `${whole}.${fraction}`
  return sign === NUMERIC_NEGATIVE ? `-${text}` : text
}

function arrayParameter(bytes: Buffer, elementOid: number): string {
  if (bytes.readInt32BE(0) === 0) return '{}'
  if (bytes.readInt32BE(0) > 1) throw new Error('arrays of arrays are read as text only')
  const count = bytes.readInt32BE(12)
  const parts: string[] = []
  let at = 20
  for (let index = 0; index < count; index += 1) {
    const length = bytes.readInt32BE(at)
    at += 4
    if (length === -1) parts.push('NULL')
    else {
      const text = parameterText(bytes.subarray(at, at + length), elementOid, true)
      parts.push(`"${text.replaceAll(/["\\]/g, '\\$&')}"`)
      at += length
    }
  }
  return `{${parts.join(',')}}`
}

/** The elements of an array's text, `{1,"a b",NULL}`. */
export function arrayElements(text: string): readonly (string | null)[] {
  const elements: (string | null)[] = []
  const ELEMENT = /\s*(?:"((?:[^"\\]|\\.)*)"|([^,{}"]*))\s*(?:,|\}$)/gsy
  ELEMENT.lastIndex = text.indexOf('{') + 1
  if (/^\s*\{\s*\}\s*$/.test(text)) return elements
  for (let found = ELEMENT.exec(text); found !== null; found = ELEMENT.exec(text)) {
    const [whole, quoted, bare = ''] = found
    if (quoted !== undefined) elements.push(quoted.replaceAll(/\\(.)/gs, '$1'))
    else elements.push(bare.trim().toUpperCase() === 'NULL' ? null : bare.trim())
    if (whole.endsWith('}')) break
  }
  return elements
}

/** DuckDB's name of a parameter's type, to cast its text to; null: what it is compared with decides. */
export function castType(oid: number): string | null {
  const element = ELEMENT_OF.get(oid)
  const scalar = element ?? BY_OID.get(oid)
  if (scalar === undefined || scalar === VARCHAR) return element === undefined ? null : 'VARCHAR[]'
  const name = CASTS.get(scalar) ?? 'VARCHAR'
  return element === undefined ? name : `${name}[]`
}

const CASTS: ReadonlyMap<PgType, string> = new Map([
  ...[...Object.entries(BY_DUCKDB)].reverse().map(([name, one]) => [one, name] as const),
  [INT2, 'SMALLINT'],
  [INT4, 'INTEGER'],
  [INT8, 'BIGINT'],
  [NUMERIC, 'DECIMAL(38,10)'],
  [TIME, 'TIME'],
  [TIMESTAMP, 'TIMESTAMP'],
  [TEXT, 'VARCHAR'],
  [OID, 'BIGINT'],
  [JSONB, 'JSON'],
])

export { BY_OID as PG_TYPES_BY_OID, INT8 as PG_INT8, TEXT as PG_TEXT, TYPES_SERVED as PG_TYPES }
