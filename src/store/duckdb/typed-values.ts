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

/**
 * A value with the type under which DuckDB compares it best: an integer as an integer, since a
 * DOUBLE would make an integer column be cast row by row.
 * @throws AppError `invalid_request` for a value that no type can hold
 */
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

/** One type for all items. An empty list, or one of nulls, fits any type of column. */
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

// Lists of keys as separate parameters: DuckDB then reads these rows by an index or the bounds of blocks.

/**
 * More keys are joined: planning this many parameters takes longer than reading 100 000 rows. DuckDB reads at most 2048 rows
 * by an index in any case.
 */
const LISTED_KEYS_MAX = 1024

/** Few different texts are planned when the numbers of parameters are 1 and the powers of two from here on. */
const LISTED_KEYS_MIN = 16

/** A string, a quoted name, or a list of one parameter. */
const PIECES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\bIN \(\$(\w+)\)/g

/**
 * `IN ($name)` with a list of bigint, as internal SQL writes it: the keys one by one. A list that is used more than once
 * stays bound.
 */
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
  // A single key is found within the scan, in a third of the time, without an index.
  const least = keys.length === 1 ? 1 : LISTED_KEYS_MIN
  const count = 2 ** Math.ceil(Math.log2(Math.max(keys.length, least)))
  const names = Array.from({ length: count }, (_, at) => `eider_${index}_${at}`)
  const listed = Object.fromEntries(names.map((key, at) => [key, keys[at] ?? last]))
  return { text: `IN (${names.map((key) => `$${key}`).join(', ')})`, listed }
}

/** Runs internal SQL with its values, its lists of keys as above. */
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
