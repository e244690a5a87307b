import {
  ARRAY,
  arrayValue,
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBArrayType,
  type DuckDBConnection,
  DuckDBListType,
  type DuckDBMaterializedResult,
  type DuckDBType,
  type DuckDBValue,
  FLOAT,
  HUGEINT,
  INTEGER,
  LIST,
  listValue,
  SQLNULL,
  VARCHAR,
} from '@duckdb/node-api'
import type { BoundSql, BoundValue } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'

const DEPTH_MAX = 50
const INTEGER_MAX = 2 ** 31 - 1
const BIGINT_MAX = 2n ** 63n - 1n
const HUGEINT_MAX = 2n ** 127n - 1n

export interface TypedValue {
  readonly value: DuckDBValue
  readonly type: DuckDBType
}

/** Whole numbers as integers: a DOUBLE would cast a column row by row. @throws AppError */
export function typedValueOf(value: BoundValue, depth = 0): TypedValue {
  if (value === null) return { value, type: SQLNULL }
  if (typeof value === 'boolean') return { value, type: BOOLEAN }
  if (typeof value === 'string') return { value: value.toWellFormed(), type: VARCHAR }
  if (typeof value === 'number') return numberValue(value)
  if (typeof value === 'bigint') return integerValue(value)
  if (value instanceof Float32Array) {
    return { value: arrayValue([...value]), type: ARRAY(FLOAT, value.length) }
  }
  if (depth >= DEPTH_MAX) {
    throw new AppError('invalid_request', `A parameter has at most ${DEPTH_MAX} levels of lists`)
  }
  return typedList(value.map((item) => typedValueOf(item, depth + 1)))
}

function numberValue(value: number): TypedValue {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) return { value, type: DOUBLE }
  if (Math.abs(value) <= INTEGER_MAX) return { value, type: INTEGER }
  return { value: BigInt(value), type: BIGINT }
}

function integerValue(value: bigint): TypedValue {
  const size = value < 0n ? -value : value
  if (size <= BIGINT_MAX) return { value, type: BIGINT }
  if (size <= HUGEINT_MAX) return { value, type: HUGEINT }
  throw new AppError('invalid_request', 'A parameter is an integer of more than 127 bits')
}

/** Gives all items one type. An empty list, or one with only nulls, fits a column of any type. */
function typedList(items: readonly TypedValue[]): TypedValue {
  const type = items.reduce<DuckDBType>((common, item) => commonType(common, item.type), SQLNULL)
  const values = items.map((item) => inType(item, type))
  return { value: listValue(values), type: LIST(type) }
}

const NUMBERS: readonly DuckDBType[] = [INTEGER, BIGINT, HUGEINT, DOUBLE]

function commonType(one: DuckDBType, other: DuckDBType): DuckDBType {
  if (one === SQLNULL || one === other) return other
  if (other === SQLNULL) return one
  const rank = Math.max(NUMBERS.indexOf(one), NUMBERS.indexOf(other))
  const areNumbers = NUMBERS.includes(one) && NUMBERS.includes(other)
  if (areNumbers) return NUMBERS[rank] ?? DOUBLE
  if (one instanceof DuckDBArrayType && other instanceof DuckDBArrayType) return one
  if (one instanceof DuckDBListType && other instanceof DuckDBListType) {
    return LIST(commonType(one.valueType, other.valueType))
  }
  return VARCHAR
}

function inType({ value, type }: TypedValue, wanted: DuckDBType): DuckDBValue {
  if (value === null || type === wanted || type instanceof DuckDBArrayType) return value
  if (wanted === DOUBLE) return Number(value)
  if (wanted === BIGINT || wanted === HUGEINT) return BigInt(String(value))
  if (wanted === VARCHAR) return String(value)
  return value
}

// Binds lists of keys as single parameters, so that DuckDB can use an index, or skip blocks by
// their bounds.

/** Longer lists are joined: planning costs more than 100,000 rows; an index reads 2048. */
const LISTED_KEYS_MAX = 1024

/** Padded to a power of two, so that DuckDB has few texts to plan. */
const LISTED_KEYS_MIN = 16

/** Matches a string, a quoted name, or `IN ($name)`. */
const PIECES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\bIN \(\$(\w+)\)/g

/** A parameter per key, in internal SQL. A list that occurs twice stays a parameter. */
export function withListedKeys(statement: BoundSql): BoundSql {
  const lists = Object.entries(statement.values).flatMap(([name, value]) => {
    return isKeyList(value) ? [[name, value] as const] : []
  })
  if (lists.length === 0) return statement
  const values: Record<string, BoundValue> = { ...statement.values }
  const texts = new Map<string, string>()
  for (const [index, [name, keys]] of lists.entries()) {
    if (!statement.sql.includes(`IN ($${name})`)) continue
    const { text, listed } = listOf(name, keys, index)
    Object.assign(values, listed)
    texts.set(name, text)
  }
  if (texts.size === 0) return statement
  const sql = statement.sql.replace(PIECES, (piece, name) => texts.get(name) ?? piece)
  for (const name of texts.keys()) {
    if (!new RegExp(`\\$${name}\\b`).test(sql)) delete values[name]
  }
  return { ...statement, sql, values }
}

function isKeyList(value: BoundValue): value is readonly bigint[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'bigint')
}

function listOf(name: string, keys: readonly bigint[], index: number) {
  const last = keys.at(-1)
  if (last === undefined || keys.length > LISTED_KEYS_MAX) {
    return { text: `IN (SELECT unnest($${name}::BIGINT[]))`, listed: {} }
  }
  // A single key is found during the scan, in a third of the time.
  const least = keys.length === 1 ? 1 : LISTED_KEYS_MIN
  const count = 2 ** Math.ceil(Math.log2(Math.max(keys.length, least)))
  const names = Array.from({ length: count }, (_, at) => `eider_${index}_${at}`)
  const listed = Object.fromEntries(names.map((key, at) => [key, keys[at] ?? last]))
  return { text: `IN (${names.map((key) => `$${key}`).join(', ')})`, listed }
}

/** Runs internal SQL after expanding its lists of keys. */
export async function runWithKeys(
  connection: DuckDBConnection,
  sql: string,
  values: Readonly<Record<string, BoundValue>>,
): Promise<DuckDBMaterializedResult> {
  const listed = withListedKeys({ sql, values })
  const typed = Object.entries(listed.values).map(([name, value]) => {
    return [name, typedValueOf(value)] as const
  })
  return connection.run(
    listed.sql,
    Object.fromEntries(typed.map(([name, { value }]) => [name, value])),
    Object.fromEntries(typed.map(([name, { type }]) => [name, type])),
  )
}
