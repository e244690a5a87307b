/** SQLite's values have types, its columns only wish for one: which type of DuckDB a column gets, and what fits it. */
import { isExactNumber, type ResultValue } from '../../core/domain/query-result.ts'
import { textConverter } from '../text-values.ts'

export type SqliteValue = null | bigint | number | string | Uint8Array

export type SqliteType = 'BIGINT' | 'DOUBLE' | 'VARCHAR' | 'BLOB' | 'BOOLEAN' | 'DATE' | 'TIMESTAMP'

/** What its declaration says, by the rules of SQLite's own affinities; null: nothing. */
export function declaredType(declared: string | null): SqliteType | null {
  const name = (declared ?? '').toUpperCase()
  if (name === '') return null
  if (name.includes('INT')) return 'BIGINT'
  if (/CHAR|CLOB|TEXT/.test(name)) return 'VARCHAR'
  if (name.includes('BLOB')) return 'BLOB'
  if (/REAL|FLOA|DOUB|NUM|DEC/.test(name)) return 'DOUBLE'
  if (name.includes('BOOL')) return 'BOOLEAN'
  if (/^(DATETIME|TIMESTAMP)\b/.test(name)) return 'TIMESTAMP'
  return /^DATE\b/.test(name) ? 'DATE' : 'VARCHAR'
}

/** The declared type where the first values fit it; else one that fits them all. */
export function columnType(declared: string | null, values: readonly SqliteValue[]): SqliteType {
  const wished = declaredType(declared)
  const candidates = [...(wished === null ? [] : [wished]), 'BIGINT', 'DOUBLE', 'BLOB'] as const
  const held = values.filter((value) => value !== null)
  if (wished !== null && held.length === 0) return wished
  if (held.length === 0) return 'VARCHAR'
  return candidates.find((type) => held.every((value) => fits(type, value))) ?? 'VARCHAR'
}

const EXACT_MAX = 2n ** 53n

export function fits(type: SqliteType, value: Exclude<SqliteValue, null>): boolean {
  switch (type) {
    case 'BIGINT':
      return typeof value === 'bigint'
    case 'DOUBLE':
      return (
        typeof value === 'number' ||
        (typeof value === 'bigint' && value <= EXACT_MAX && value >= -EXACT_MAX)
      )
    case 'VARCHAR':
      return !(value instanceof Uint8Array)
    case 'BLOB':
      return value instanceof Uint8Array
    case 'BOOLEAN':
      return value === 0n || value === 1n
    case 'DATE':
      return typeof value === 'string' && isDate(value)
    case 'TIMESTAMP':
      return typeof value === 'string' && momentOf(value) !== null
  }
}

const DATE = /^\d{4}-\d\d-\d\d$/
const MOMENT =
  /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6})0*)?)?)?(?:Z|[+]00:?00)?$/

function isDate(text: string): boolean {
  if (!DATE.test(text) || text.startsWith('0000')) return false
  const date = new Date(`${text}T00:00:00Z`)
  // A day that its month does not have becomes another one, or none.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/** `2024-05-06 07:08:09.000000`; null: not one that is known to mean the same here. */
function momentOf(text: string): string | null {
  const [, date = '', time = '00:00', seconds = '00', fraction = ''] = MOMENT.exec(text) ?? []
  if (!isDate(date) || time > '23:59' || time.slice(3) > '59' || seconds > '59') return null
  return `${date} ${time}:${seconds}.${fraction.padEnd(6, '0')}`
}

const textOfBlob = (bytes: Uint8Array, encoding: 'hex' | 'base64') => {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)
}

/** Of a value that fits, as answers show it. */
export function shownValue(type: SqliteType, value: SqliteValue): ResultValue {
  if (value === null) return null
  if (value instanceof Uint8Array) return textOfBlob(value, 'base64')
  switch (type) {
    case 'BIGINT':
      return typeof value === 'bigint' && !isExactNumber(value) ? String(value) : Number(value)
    case 'DOUBLE':
      return Number.isFinite(Number(value)) ? Number(value) : null
    case 'BOOLEAN':
      return value === 1n
    case 'TIMESTAMP':
      return textConverter('TIMESTAMP')(momentOf(String(value)) ?? '')
    default:
      return textOf(value)
  }
}

/** Of a value that fits, as it stands in the file of staged rows. */
export function fileValue(type: SqliteType, value: SqliteValue): string {
  if (value === null) return ''
  if (value instanceof Uint8Array) return `"${textOfBlob(value, 'hex')}"`
  switch (type) {
    case 'BOOLEAN':
      return value === 1n ? 'true' : 'false'
    case 'TIMESTAMP':
      return momentOf(String(value)) ?? ''
    case 'VARCHAR':
      return `"${textOf(value).replaceAll('"', '""')}"`
    default:
      return value === Infinity ? 'inf' : value === -Infinity ? '-inf' : String(value)
  }
}

/** As SQLite writes a number as text: a REAL is known by its point. */
function textOf(value: string | number | bigint): string {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e15
    ? `${value}.0`
    : String(value)
}

export function kindOf(value: SqliteValue): string {
  if (value === null) return 'NULL'
  if (value instanceof Uint8Array) return 'BLOB'
  if (typeof value === 'string') return 'TEXT'
  return typeof value === 'bigint' ? 'INTEGER' : 'REAL'
}
