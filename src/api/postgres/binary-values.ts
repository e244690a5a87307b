/** The binary format for values (`…_send` and `…_recv` in PostgreSQL's src/backend/utils/adt). */
import { isUtf8 } from 'node:buffer'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import type { PgType } from '../../query/postgres/pg-catalog.ts'
import { arrayOfArrays } from '../../query/postgres/statement-text.ts'
import type { MessageWriter } from './messages.ts'
import { type ColumnType, elementOf, PG, scalarText, textValue } from './pg-types.ts'

/** PostgreSQL's epoch, 2000-01-01, in days since 1970-01-01. */
const EPOCH_DAYS = 10_957
const DAY_MS = 86_400_000
const DAY_MICROS = 86_400_000_000n
const DATE_INFINITY = 2 ** 31 - 1
const TIMESTAMP_INFINITY = 2n ** 63n - 1n

type Written = Exclude<ResultValue, null>

export function writeBinary(out: MessageWriter, value: ResultValue, type: ColumnType): void {
  if (value === null) {
    out.int32(-1)
    return
  }
  const { element, scalar } = type
  if (element !== null && Array.isArray(value)) writeArray(out, value, element)
  else if (scalar === PG.NUMERIC) out.value(numericBinary(textValue(value, type) ?? ''))
  else writeScalar(out, value, scalar)
}

function writeScalar(out: MessageWriter, value: Written, scalar: PgType): void {
  const write = WRITERS.get(scalar)
  if (write === undefined) out.value(scalarText(value, scalar))
  else write(out, value)
}

const WRITERS: ReadonlyMap<PgType, (out: MessageWriter, value: Written) => void> = new Map<
  PgType,
  (out: MessageWriter, value: Written) => void
>([
  [PG.BOOL, (out, value) => out.int32(1).byte(value === true ? 1 : 0)],
  [PG.BYTEA, (out, value) => out.value(Buffer.from(String(value), 'base64'))],
  [PG.INT2, (out, value) => out.int32(2).int16(Number(value))],
  [PG.INT4, (out, value) => out.int32(4).int32(Number(value))],
  [PG.OID, (out, value) => out.int32(4).int32(Number(value))],
  [PG.INT8, (out, value) => out.int32(8).int64(integerOf(value))],
  [PG.FLOAT4, (out, value) => out.int32(4).float32(Number(value))],
  [PG.FLOAT8, (out, value) => out.int32(8).float64(Number(value))],
  [PG.UUID, (out, value) => out.value(Buffer.from(String(value).replaceAll('-', ''), 'hex'))],
  [PG.JSONB, (out, value) => out.value(`\x01${scalarText(value, PG.JSONB)}`)],
  [PG.DATE, (out, value) => out.int32(4).int32(daysOf(String(value)))],
  [PG.TIME, (out, value) => out.int32(8).int64(timeMicros(String(value)))],
  [PG.TIMETZ, (out, value) => writeTimeWithZone(out, String(value))],
  [PG.TIMESTAMP, (out, value) => out.int32(8).int64(timestampMicros(String(value)))],
  [PG.TIMESTAMPTZ, (out, value) => out.int32(8).int64(timestampMicros(String(value)))],
  [PG.INTERVAL, (out, value) => writeInterval(out, String(value))],
  [PG.BIT, (out, value) => writeBits(out, String(value))],
  [PG.NUMERIC, (out, value) => out.value(numericBinary(String(value)))],
])

/** @throws AppError `sql_not_supported` for nested lists of different lengths */
function writeArray(out: MessageWriter, values: readonly ResultValue[], element: PgType): void {
  const lengths = arrayLengths(values)
  let items = values
  for (let level = 1; level < lengths.length; level += 1) {
    items = items.flatMap((item): readonly ResultValue[] => (Array.isArray(item) ? item : [item]))
  }
  const isFull = items.length === lengths.reduce((product, length) => product * length, 1)
  if (!isFull || items.some((item) => Array.isArray(item))) {
    const message = 'A list of lists of different lengths has no binary form; cast it to VARCHAR'
    throw new AppError('sql_not_supported', message)
  }
  const start = out.startValue()
  out.int32(items.length === 0 ? 0 : lengths.length).int32(items.includes(null) ? 1 : 0)
  out.int32(element.oid)
  if (items.length > 0) for (const length of lengths) out.int32(length).int32(1)
  for (const item of items) {
    if (item === null) out.int32(-1)
    else writeScalar(out, item, element)
  }
  out.endValue(start)
}

/** The number of elements at each nesting level. */
function arrayLengths(values: readonly ResultValue[]): readonly number[] {
  const [first] = values
  return [values.length, ...(Array.isArray(first) ? arrayLengths(first) : [])]
}

/** Days in the proleptic Gregorian calendar, which has a larger range than JavaScript dates. */
function daysOf(date: string): number {
  if (date.endsWith('infinity')) return date.startsWith('-') ? -DATE_INFINITY - 1 : DATE_INFINITY
  const [, years = '0', month = '1', day = '1'] = /^([-+]?\d+)-(\d+)-(\d+)/.exec(date) ?? []
  const year = date.includes('(BC)') ? 1 - Number(years) : Number(years)
  // Years start in March here, so that a leap day is the last day of its year.
  const sinceMarch = (Number(month) + 9) % 12
  const shifted = sinceMarch >= 10 ? year - 1 : year
  const leapDays = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400)
  const monthDays = Math.floor((153 * sinceMarch + 2) / 5)
  const DAYS_TO_1970 = 719_469
  return 365 * shifted + leapDays + monthDays + Number(day) - DAYS_TO_1970 - EPOCH_DAYS
}

function integerOf(value: Written): bigint | number {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : BigInt(String(value))
}

/** The microseconds of a time, or of the time part of an interval. */
function timeMicros(time: string): number {
  const [, sign, hours = '0', minutes = '0', seconds = '0', fraction = ''] =
    /(-?)(\d+):(\d+):(\d+)(?:\.(\d+))?/.exec(time) ?? []
  const whole = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  const micros = whole * 1_000_000 + Number(fraction.padEnd(6, '0').slice(0, 6))
  return sign === '-' ? -micros : micros
}

function timestampMicros(value: string): bigint | number {
  if (value === 'infinity') return TIMESTAMP_INFINITY
  if (value === '-infinity') return -TIMESTAMP_INFINITY - 1n
  const days = daysOf(value)
  const micros = days * Number(DAY_MICROS) + timeMicros(value)
  if (Number.isSafeInteger(micros)) return micros
  return BigInt(days) * DAY_MICROS + BigInt(timeMicros(value))
}

/** Writes the time, then the time zone in seconds west of UTC. */
function writeTimeWithZone(out: MessageWriter, value: string): void {
  const [, time = '', sign, hours = '0', minutes = '0', seconds = '0'] =
    /^([\d:.]+)([+-])(\d+)(?::(\d+))?(?::(\d+))?$/.exec(value) ?? []
  const zone = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  out.int32(12).int64(timeMicros(time))
  out.int32(sign === '-' ? zone : -zone)
}

function writeInterval(out: MessageWriter, value: string): void {
  const count = (unit: string) => {
    return Number(new RegExp(`(-?\\d+) ${unit}`).exec(value)?.[1] ?? 0)
  }
  out.int32(16).int64(timeMicros(value))
  out.int32(count('day')).int32(count('year') * 12 + count('mon'))
}

function writeBits(out: MessageWriter, bits: string): void {
  const start = out.startValue()
  out.int32(bits.length)
  for (let at = 0; at < bits.length; at += 8) {
    out.byte(Number.parseInt(bits.slice(at, at + 8).padEnd(8, '0'), 2))
  }
  out.endValue(start)
}

const NUMERIC_BASE_DIGITS = 4
const NUMERIC_NEGATIVE = 0x4000
const NUMERIC_NAN = 0xc000

/** Groups of four digits, preceded by the weight of the first group. */
function numericBinary(text: string): Buffer {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(plain(text)) ?? []
  if (whole === '') return Buffer.from([0, 0, 0, 0, NUMERIC_NAN >> 8, NUMERIC_NAN & 255, 0, 0])
  const padded = whole.padStart(Math.ceil(whole.length / 4) * NUMERIC_BASE_DIGITS, '0')
  const digits = padded + fraction.padEnd(Math.ceil(fraction.length / 4) * NUMERIC_BASE_DIGITS, '0')
  const groups = (digits.match(/\d{4}/g) ?? []).map(Number)
  let weight = padded.length / NUMERIC_BASE_DIGITS - 1
  while (groups.length > 0 && groups[0] === 0) {
    groups.shift()
    weight -= 1
  }
  while (groups.at(-1) === 0) groups.pop()
  const bytes = Buffer.alloc(8 + groups.length * 2)
  bytes.writeInt16BE(groups.length, 0)
  bytes.writeInt16BE(groups.length === 0 ? 0 : weight, 2)
  bytes.writeUInt16BE(sign === '-' && groups.length > 0 ? NUMERIC_NEGATIVE : 0, 4)
  bytes.writeInt16BE(fraction.length, 6)
  groups.forEach((group, index) => {
    bytes.writeInt16BE(group, 8 + index * 2)
  })
  return bytes
}

/** Writes the number without an exponent. */
function plain(text: string): string {
  if (!/e/i.test(text)) return text
  const number = Number(text)
  return Number.isInteger(number) ? BigInt(number).toString() : number.toFixed(20)
}

/** Converts a client's parameter to the text of a literal. @throws AppError `invalid_request` */
export function parameterText(bytes: Buffer, type: PgType | undefined, isBinary: boolean): string {
  if (!isBinary) return type === PG.BYTEA ? byteaText(bytes.toString()) : bytes.toString()
  try {
    return binaryText(bytes, type)
  } catch (error) {
    const name = type === undefined ? 'its type' : `type ${type.name}`
    const message = `The bytes of a parameter do not fit ${name}`
    throw new AppError('invalid_request', message, { cause: error })
  }
}

function binaryText(bytes: Buffer, type: PgType | undefined): string {
  const read = type === undefined ? undefined : READERS.get(type)
  if (read !== undefined) return read(bytes)
  // Drivers send bytes without a type, assuming that the server knows the column's type.
  return isUtf8(bytes) ? bytes.toString() : blobText(bytes.toString('hex'))
}

/** Converts PostgreSQL's `\xabcd` to DuckDB's `\xAB\xCD`. */
function byteaText(text: string): string {
  return text.startsWith('\\x') ? blobText(text.slice(2)) : text
}

function blobText(hex: string): string {
  return hex.replaceAll(/../g, '\\x$&')
}

const READERS: ReadonlyMap<PgType, (bytes: Buffer) => string> = new Map([
  [PG.BOOL, (bytes: Buffer) => String(bytes[0] === 1)],
  [PG.BYTEA, (bytes) => blobText(bytes.toString('hex'))],
  [PG.INT2, (bytes) => String(bytes.readInt16BE())],
  [PG.INT4, (bytes) => String(bytes.readInt32BE())],
  [PG.OID, (bytes) => String(bytes.readUInt32BE())],
  [PG.INT8, (bytes) => String(bytes.readBigInt64BE())],
  [PG.FLOAT4, (bytes) => String(bytes.readFloatBE())],
  [PG.FLOAT8, (bytes) => String(bytes.readDoubleBE())],
  [PG.JSONB, (bytes) => bytes.toString('utf8', 1)],
  [
    PG.UUID,
    (bytes) => {
      return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    },
  ],
  [PG.DATE, (bytes) => dayText(bytes.readInt32BE())],
  [PG.TIME, (bytes) => timeText(bytes.readBigInt64BE())],
  [PG.TIMETZ, (bytes) => timeText(bytes.readBigInt64BE()) + zoneText(-bytes.readInt32BE(8))],
  [PG.TIMESTAMP, (bytes) => timestampText(bytes.readBigInt64BE())],
  [PG.TIMESTAMPTZ, (bytes) => timestampText(bytes.readBigInt64BE(), '+00')],
  [
    PG.INTERVAL,
    (bytes) => {
      const [days, months] = [bytes.readInt32BE(8), bytes.readInt32BE(12)]
      return `${months} months ${days} days ${bytes.readBigInt64BE()} microseconds`
    },
  ],
  [PG.NUMERIC, numericText],
])

/** @throws RangeError for a date that JavaScript cannot represent */
function dayText(days: number): string {
  if (days === DATE_INFINITY) return 'infinity'
  if (days === -DATE_INFINITY - 1) return '-infinity'
  const [day = ''] = new Date((days + EPOCH_DAYS) * DAY_MS).toISOString().split('T')
  return day.replace(/^\+0*/, '')
}

function timeText(micros: bigint): string {
  const seconds = Number(micros / 1_000_000n)
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60]
  const clock = parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join(':')
  return `${clock}.${String(micros % 1_000_000n).padStart(6, '0')}`
}

function zoneText(seconds: number): string {
  const minutes = Math.floor(Math.abs(seconds) / 60)
  const parts = [minutes / 60, minutes % 60].map((part) =>
    String(Math.floor(part)).padStart(2, '0'),
  )
  return (seconds < 0 ? '-' : '+') + parts.join(':')
}

function timestampText(micros: bigint, zone = ''): string {
  if (micros === TIMESTAMP_INFINITY) return 'infinity'
  if (micros === -TIMESTAMP_INFINITY - 1n) return '-infinity'
  const within = ((micros % DAY_MICROS) + DAY_MICROS) % DAY_MICROS
  return `${dayText(Number((micros - within) / DAY_MICROS))} ${timeText(within)}${zone}`
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

/** Reads the elements of an array. @throws AppError `invalid_request`, `sql_not_supported` */
export function arrayParameter(bytes: Buffer, arrayOid: number): readonly (string | null)[] {
  const element = elementOf(arrayOid)
  const fields = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  try {
    if (fields.getInt32(0) === 0) return []
    if (fields.getInt32(0) > 1) throw arrayOfArrays()
    let at = 20
    return Array.from({ length: Math.min(fields.getInt32(12), bytes.length) }, () => {
      const length = fields.getInt32(at)
      const start = at + 4
      at = start + Math.max(0, length)
      return length === -1 ? null : parameterText(bytes.subarray(start, at), element, true)
    })
  } catch (error) {
    if (error instanceof AppError) throw error
    const message = 'The bytes of a parameter do not fit an array'
    throw new AppError('invalid_request', message, { cause: error })
  }
}
