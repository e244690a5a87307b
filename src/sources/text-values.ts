/** Values that a source sends as text, as answers show those of the same DuckDB type (docs/contract.md 4.11). */
import { exactJson, isExactNumber, type ResultValue } from '../core/domain/query-result.ts'
import { timestampOf } from '../core/domain/timestamp.ts'

export type TextConverter = (text: string) => ResultValue

const CONVERTERS: Readonly<Record<string, TextConverter>> = {
  BOOLEAN: (text) => text === 't' || text === 'true' || text === '1',
  TINYINT: exactInteger,
  SMALLINT: exactInteger,
  INTEGER: exactInteger,
  UTINYINT: exactInteger,
  USMALLINT: exactInteger,
  UINTEGER: exactInteger,
  BIGINT: exactInteger,
  UBIGINT: exactInteger,
  HUGEINT: exactInteger,
  FLOAT: (text) => finite(Math.fround(numberOf(text))),
  DOUBLE: (text) => finite(numberOf(text)),
  DATE: dateText,
  TIME: timeText,
  TIMESTAMP: timestampText,
  'TIMESTAMP WITH TIME ZONE': timestampText,
  INTERVAL: intervalText,
  JSON: exactJson,
}

/** Of a DuckDB type that is not a list. */
export function textConverter(type: string): TextConverter {
  return CONVERTERS[type] ?? (type.startsWith('DECIMAL') ? (text) => finite(numberOf(text)) : same)
}

function same(text: string): ResultValue {
  return text
}

function finite(number: number): ResultValue {
  return Number.isFinite(number) ? number : null
}

function exactInteger(text: string): ResultValue {
  const number = numberOf(text)
  if (Number.isSafeInteger(number)) return number
  return isExactNumber(BigInt(text)) ? number : text
}

/** @throws Error where a server sends another text */
function numberOf(text: string): number {
  const number = Number(text)
  if (text !== '' && (!Number.isNaN(number) || text === 'NaN')) return number
  throw new Error(
    `the server sends ${JSON.stringify(text.slice(0, 40))} where it promised a number`,
  )
}

/** Always with six digits of the second. */
function timeText(text: string): ResultValue {
  const [time = '', fraction = ''] = text.split('.')
  return `${time}.${fraction.padEnd(6, '0')}`
}

/** `0044-03-15 BC` → `0044-03-15 (BC)`. */
function dateText(text: string): ResultValue {
  return text.endsWith(' BC') ? `${text.slice(0, -3)} (BC)` : text
}

const TIMESTAMP =
  /^(\d{4,6})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:[+]00(?::00)?)?( BC)?$/

function timestampText(text: string): ResultValue {
  const parts = TIMESTAMP.exec(text)
  if (parts === null) return text
  const [, year = '', month, day, hour, minute, second, fraction = '', bc] = parts
  if (year.length === 4 && bc === undefined) {
    return `${year}-${month}-${day} ${hour}:${minute}:${second}.${fraction.padEnd(6, '0')}`
  }
  const date = new Date(0)
  date.setUTCFullYear(
    bc === undefined ? Number(year) : 1 - Number(year),
    Number(month) - 1,
    Number(day),
  )
  date.setUTCHours(Number(hour), Number(minute), Number(second))
  if (Number.isNaN(date.getTime())) return text
  return timestampOf(BigInt(date.getTime()) * 1000n + BigInt(fraction.padEnd(6, '0')))
}

/** PostgreSQL's units under DuckDB's names. */
function intervalText(text: string): ResultValue {
  return text
    .replace(/\bmon(s?)\b/, 'month$1')
    .replace(/(^| )-1 (year|month|day)s\b/g, '$1-1 $2')
    .replaceAll('+', '')
}
