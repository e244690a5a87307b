/** Maps DuckDB's types to PostgreSQL's, and values to PostgreSQL's text format. */
import type { ResultValue } from '../../core/domain/query-result.ts'
import { postgresMoment } from '../../core/time.ts'
import type { PgType } from '../../query/postgres/pg-catalog.ts'

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
/** Catalog lists whose text has spaces between the elements. */
const VECTORS: Readonly<Record<string, readonly [vector: PgType, element: PgType]>> = {
  int2vector: [type('int2vector', 22, -1, 1006), INT2],
  oidvector: [type('oidvector', 30, -1, 1013), OID],
}

/** By the DuckDB name, without parameters. */
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

export const PG_TYPES: readonly PgType[] = [
  ...[BOOL, BYTEA, INT8, INT2, INT4, TEXT, OID, JSON_TYPE, FLOAT4, FLOAT8, VARCHAR, DATE, TIME],
  ...[TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ, BIT, NUMERIC, UUID, JSONB],
]
const BY_OID = new Map(PG_TYPES.map((one) => [one.oid, one]))
const ELEMENT_OF = new Map(PG_TYPES.map((one) => [one.array, one]))

export interface ColumnType {
  readonly oid: number
  readonly size: number
  readonly modifier: number
  /** The number of decimal places of a DECIMAL; null means all digits. */
  readonly scale: number | null
  readonly element: PgType | null
  readonly scalar: PgType
}

/** @param duckdb the DuckDB name of the type: `DECIMAL(18,3)`, `INTEGER[]` */
export function columnType(duckdb: string): ColumnType {
  const [vector, element = null] = VECTORS[duckdb] ?? []
  if (vector !== undefined) {
    return { oid: vector.oid, size: -1, modifier: -1, scale: null, element, scalar: vector }
  }
  const list = /^(.*?)(?:\[\d*\])+$/s.exec(duckdb)
  const name = list?.[1] ?? duckdb
  const decimal = /^DECIMAL\((\d+),(\d+)\)$/.exec(name)
  const base = decimal === null ? name : 'DECIMAL'
  // A STRUCT, MAP or UNION becomes JSON; an ENUM becomes text.
  const scalar = BY_DUCKDB[base] ?? (/^(STRUCT|MAP|UNION|VARIANT)/.test(name) ? JSON_TYPE : TEXT)
  if (list !== null && scalar !== JSON_TYPE) {
    return { oid: scalar.array, size: -1, modifier: -1, scale: null, element: scalar, scalar }
  }
  const modifier =
    decimal === null ? -1 : ((Number(decimal[1]) << 16) | Number(decimal[2])) + MODIFIER_HEADER
  const scale = decimal === null ? null : Number(decimal[2])
  return { oid: scalar.oid, size: scalar.size, modifier, scale, element: null, scalar }
}

/** PostgreSQL adds this to the type modifier of variable-length types. */
const MODIFIER_HEADER = 4

/** The value as text; null stays null. */
export function textValue(
  value: ResultValue,
  { element, scalar, scale }: ColumnType,
): string | null {
  if (value === null) return null
  if (scale !== null && typeof value === 'number') return value.toFixed(scale)
  if (element !== null && Array.isArray(value)) {
    return scalar.name.endsWith('vector') ? value.join(' ') : arrayText(value, element)
  }
  return scalarText(value, scalar)
}

export function scalarText(value: Exclude<ResultValue, null>, scalar: PgType): string {
  if (typeof value === 'string') return TEXTS.get(scalar)?.(value) ?? value
  if (typeof value === 'boolean' && scalar === BOOL) return value ? 't' : 'f'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Types whose text format differs between PostgreSQL and DuckDB. */
const TEXTS: ReadonlyMap<PgType, (text: string) => string> = new Map([
  [BYTEA, (text) => `\\x${Buffer.from(text, 'base64').toString('hex')}`],
  [DATE, (text) => postgresMoment(text)],
  [TIME, (text) => postgresMoment(text)],
  [TIMESTAMP, (text) => postgresMoment(text)],
  [TIMESTAMPTZ, (text) => postgresMoment(text, '+00')],
  [INTERVAL, (text) => text.replace(/month(s?)/, 'mon$1')],
  [JSON_TYPE, (text) => JSON.stringify(text)],
  [JSONB, (text) => JSON.stringify(text)],
])

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

/** The DuckDB type for casting a parameter's text; null if the other operand determines it. */
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

/** undefined for an unknown type or an array type. */
export function scalarOf(oid: number): PgType | undefined {
  return BY_OID.get(oid)
}

/** The element type of an array type; undefined for other types. */
export function elementOf(oid: number): PgType | undefined {
  return ELEMENT_OF.get(oid)
}

export const PG = {
  ...{ BOOL, BYTEA, INT2, INT4, INT8, TEXT, OID, FLOAT4, FLOAT8, DATE, TIME, TIMETZ, TIMESTAMP },
  ...{ TIMESTAMPTZ, INTERVAL, BIT, NUMERIC, UUID, JSONB },
}
