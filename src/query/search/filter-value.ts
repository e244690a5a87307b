import type { MetadataType } from '../../domain/knowledge-base.ts'
import { AppError } from '../../errors.ts'

export type Scalar = string | number | boolean

/** A column of chunks that a filter compares. */
export interface TypedColumn {
  /** As it is written in a filter. */
  readonly name: string
  /** null: no row with a value has come yet. */
  readonly type: MetadataType | null
}

/** Values of one `in`. */
const VALUES_MAX = 10_000

/** @throws AppError `invalid_request` for lists, objects and null */
export function scalarOf(value: unknown, path: string): Scalar {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value
  }
  throw wrong(path, 'must be a text, a number, true or false')
}

/**
 * The value as one of the column's type, to be compared for equality: a text column is compared with texts, and a text
 * that is a number counts as one.
 * @throws AppError `invalid_request` that names the column's type and the value's
 */
export function comparable(value: Scalar, column: TypedColumn, path: string): Scalar {
  if (column.type === null) return value
  const found = COMPARABLE[column.type](value)
  if (found !== undefined) return found
  throw unfit(value, column, path)
}

/** The same for `<`, `<=`, `>` and `>=`; a number orders the texts of a text column that are numbers. */
export function ordered(value: Scalar, column: TypedColumn, path: string): Scalar {
  const { type } = column
  const isUnordered = type === 'BOOLEAN' || type === 'JSON' || typeof value === 'boolean'
  if (isUnordered) throw unfit(value, column, path)
  return type === 'VARCHAR' ? value : comparable(value, column, path)
}

/** The values of an `in`, all of one type. @throws AppError `invalid_request` */
export function valueList(
  value: unknown,
  column: TypedColumn,
  path: string,
): { readonly values: readonly Scalar[]; readonly hasNull: boolean } {
  if (!Array.isArray(value) || value.length > VALUES_MAX) {
    throw wrong(path, `must be a list of at most ${VALUES_MAX} values`)
  }
  const values = value.flatMap((one: unknown, index) => {
    const place = `${path}[${index}]`
    return one === null ? [] : [comparable(scalarOf(one, place), column, place)]
  })
  if (new Set(values.map((one) => typeof one)).size > 1) {
    throw wrong(path, 'must be a list of values of one kind')
  }
  return { values, hasNull: value.includes(null) }
}

const TRUTHS: ReadonlyMap<Scalar, boolean> = new Map<Scalar, boolean>([
  [true, true],
  [false, false],
  ['true', true],
  ['false', false],
])

/** undefined: a column of this type is never equal to such a value. */
const COMPARABLE: Readonly<Record<MetadataType, (value: Scalar) => Scalar | undefined>> = {
  BOOLEAN: (value) => TRUTHS.get(value),
  BIGINT: numberOf,
  DOUBLE: numberOf,
  VARCHAR: String,
  DATE: dateOf,
  TIMESTAMP: dateOf,
  JSON: (value) => (typeof value === 'string' && isJson(value) ? value : undefined),
}

function numberOf(value: Scalar): number | undefined {
  if (typeof value === 'boolean') return undefined
  const number = typeof value === 'number' || value.trim() !== '' ? Number(value) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

function dateOf(value: Scalar): string | undefined {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : undefined
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const HELD: Readonly<Record<MetadataType, string>> = {
  BOOLEAN: 'true and false',
  BIGINT: 'whole numbers',
  DOUBLE: 'numbers',
  VARCHAR: 'texts',
  DATE: 'dates',
  TIMESTAMP: 'times',
  JSON: 'lists and objects (like and not_like compare their JSON)',
}

function unfit(value: Scalar, { name, type }: TypedColumn, path: string): AppError {
  const found =
    typeof value === 'boolean' ? value : `a ${typeof value === 'string' ? 'text' : 'number'}`
  const held = type === null ? 'nothing' : HELD[type]
  return wrong(path, `is ${found}, which cannot be compared so: ${name} holds ${held}`)
}

function wrong(path: string, what: string): AppError {
  return new AppError('invalid_request', `Field "${path}" ${what}`)
}
