import {
  ARRAY,
  arrayValue,
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBArrayType,
  DuckDBListType,
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
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
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
 * @throws AppError `invalid_request` for what no type can hold
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

/** One type for all items. An empty list, or one of nulls, goes with any type of column. */
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
