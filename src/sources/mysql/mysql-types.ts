import type { MysqlField } from './mysql-connection.ts'

const UNSIGNED = 32
const BINARY_CHARACTERS = 63
const DIGITS_MAX = 38

const INTEGERS: Readonly<Record<number, string>> = {
  1: 'TINYINT',
  2: 'SMALLINT',
  3: 'INTEGER',
  8: 'BIGINT',
  9: 'INTEGER',
}

const OTHERS: Readonly<Record<number, string>> = {
  4: 'FLOAT',
  5: 'DOUBLE',
  7: 'TIMESTAMP WITH TIME ZONE',
  10: 'DATE',
  11: 'INTERVAL',
  12: 'TIMESTAMP',
  13: 'SMALLINT',
  14: 'DATE',
  242: 'BLOB',
  245: 'JSON',
  255: 'BLOB',
}
const DECIMALS: ReadonlySet<number> = new Set([0, 246])
const BIT = 16

export function fieldType(field: MysqlField): string {
  const { columnType, columnLength, decimals, flags, characterSet } = field
  if (field.extendedFormat === 'json') return 'JSON'
  if (field.extendedTypeName === 'uuid') return 'UUID'
  if (field.extendedTypeName?.startsWith('inet') === true) return 'VARCHAR'
  const isUnsigned = (flags & UNSIGNED) !== 0
  const integer = INTEGERS[columnType]
  if (integer !== undefined) return isUnsigned ? `U${integer}` : integer
  if (DECIMALS.has(columnType)) {
    const digits = columnLength - (isUnsigned ? 0 : 1) - (decimals > 0 ? 1 : 0)
    return decimalType(digits, decimals)
  }
  if (columnType === BIT) return bitType(columnLength)
  const other = OTHERS[columnType]
  if (other !== undefined) return other
  return characterSet === BINARY_CHARACTERS && columnType >= 249 ? 'BLOB' : binaryText(field)
}

function binaryText({ columnType, characterSet }: MysqlField): string {
  return characterSet === BINARY_CHARACTERS && columnType === 15 ? 'BLOB' : 'VARCHAR'
}

function decimalType(digits: number, scale: number): string {
  return digits <= DIGITS_MAX ? `DECIMAL(${Math.max(digits, scale, 1)},${scale})` : 'VARCHAR'
}

function bitType(bits: number): string {
  return bits === 1 ? 'BOOLEAN' : 'UBIGINT'
}

const NAMED: Readonly<Record<string, string>> = {
  tinyint: 'TINYINT',
  smallint: 'SMALLINT',
  mediumint: 'INTEGER',
  int: 'INTEGER',
  bigint: 'BIGINT',
  float: 'FLOAT',
  double: 'DOUBLE',
  timestamp: 'TIMESTAMP WITH TIME ZONE',
  datetime: 'TIMESTAMP',
  date: 'DATE',
  time: 'INTERVAL',
  year: 'SMALLINT',
  json: 'JSON',
  uuid: 'UUID',
}
const BINARY_NAMES =
  /^(var)?binary|blob$|^(geometry|point|linestring|polygon|multi\w+|geomcollection|geometrycollection|vector)$/

/** Returns the type of a column from its declaration, such as `decimal(10,2) unsigned`. */
export function declaredType(declared: string): string {
  const [, name = '', first, second] = /^(\w+)(?:\((\d+)(?:,(\d+))?\))?/.exec(declared) ?? []
  if (name === 'decimal') return decimalType(Number(first ?? 10), Number(second ?? 0))
  if (name === 'bit') return bitType(Number(first ?? 1))
  const known = NAMED[name]
  if (known === undefined) return BINARY_NAMES.test(name) ? 'BLOB' : 'VARCHAR'
  const isUnsigned = /\bunsigned\b/.test(declared) && /INT(?:EGER)?$/.test(known)
  return isUnsigned ? `U${known}` : known
}

/** Makes one character of each byte, which is written as the same byte again. */
function asBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** Whether the date has a zero part, such as `0000-00-00` or `2024-00-10`. */
function hasZeros(text: string): boolean {
  return text.startsWith('0000') || text.slice(5, 7) === '00' || text.slice(8, 10) === '00'
}

function bitsOf(bytes: Uint8Array): bigint {
  return bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
}

/** Returns a function that writes a column's bytes for the file of staged rows. */
export function fileWriter(field: MysqlField): (bytes: Uint8Array) => string {
  const type = fieldType(field)
  if (type === 'BLOB') return (bytes) => `"${Buffer.from(bytes).toString('hex')}"`
  if (field.columnType === BIT) return (bytes) => bitsOf(bytes).toString()
  if (type === 'DATE' || type.startsWith('TIMESTAMP')) {
    const zone = type === 'TIMESTAMP' || type === 'DATE' ? '' : '+00'
    return (bytes) => {
      const text = asBytes(bytes)
      return hasZeros(text) ? '' : `${text}${zone}`
    }
  }
  if (!TEXTS.has(type)) return asBytes
  return (bytes) => {
    const text = asBytes(bytes)
    return `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`
  }
}

const TEXTS: ReadonlySet<string> = new Set(['VARCHAR', 'JSON', 'UUID'])
