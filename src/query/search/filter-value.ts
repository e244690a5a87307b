import { isNumberType, parseColumnType } from '../../core/domain/column-type.ts'
import { type AppError, wrongField } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'

export type Scalar = string | number | boolean

export interface TypedColumn {
  /** The name as written in the filter. */
  readonly name: string
  /** Null if no row has a value yet. */
  readonly type: string | null
}

/** Up to this many values of an `in` are bound one by one. */
export const LIST_VALUES_MAX = 10_000
/** The most texts to pass as one JSON text, equal to the most points on a map. */
const TEXTS_MAX = 200_000

/** @throws AppError `invalid_request` for lists, objects and null */
export function scalarOf(value: unknown, path: string): Scalar {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value
  }
  throw wrongField(path, 'must be a string, a number, true or false')
}

/** Text columns compare texts; others take texts with a number. @throws AppError with types */
export function comparable(value: Scalar, column: TypedColumn, path: string): Scalar {
  if (column.type === null) return value
  const found = COMPARABLE[columnKind(column.type)](value)
  if (found !== undefined) return found
  throw unfit(value, column, path)
}

/** In a text column, only texts that are numbers are compared with a number. */
export function ordered(value: Scalar, column: TypedColumn, path: string): Scalar {
  const kind = column.type === null ? null : columnKind(column.type)
  const isUnordered = kind !== null && UNORDERED.has(kind)
  if (isUnordered || typeof value === 'boolean') throw unfit(value, column, path)
  return kind === 'text' ? value : comparable(value, column, path)
}

function isOfTexts({ type }: TypedColumn): boolean {
  return type !== null && columnKind(type) === 'text'
}

/** Returns the values of an `in`, all with one type. @throws AppError `invalid_request` */
export function valueList(
  value: unknown,
  column: TypedColumn,
  path: string,
): { readonly values: readonly Scalar[]; readonly hasNull: boolean } {
  const valuesMax = isOfTexts(column) ? TEXTS_MAX : LIST_VALUES_MAX
  if (!Array.isArray(value) || value.length > valuesMax) {
    throw wrongField(path, `must be a list of at most ${valuesMax} values`)
  }
  const values = value.flatMap((one: unknown, index) => {
    const place = `${path}[${index}]`
    return one === null ? [] : [comparable(scalarOf(one, place), column, place)]
  })
  if (new Set(values.map((one) => typeof one)).size > 1) {
    throw wrongField(path, 'must be a list of values of one kind')
  }
  return { values, hasNull: value.includes(null) }
}

const TRUTHS: ReadonlyMap<Scalar, boolean> = new Map<Scalar, boolean>([
  [true, true],
  [false, false],
  ['true', true],
  ['false', false],
])

/** Kinds of column types, each compared in its own way. */
type ColumnKind = 'truth' | 'number' | 'text' | 'day' | 'time' | 'other' | 'list' | 'json'

const UNORDERED: ReadonlySet<ColumnKind> = new Set(['truth', 'list', 'json'])

const KIND_OF_TYPE: Readonly<Record<string, ColumnKind>> = {
  BOOLEAN: 'truth',
  VARCHAR: 'text',
  DATE: 'day',
  TIMESTAMP: 'day',
  TIMESTAMP_S: 'day',
  TIMESTAMP_MS: 'day',
  TIMESTAMP_NS: 'day',
  'TIMESTAMP WITH TIME ZONE': 'day',
  TIME: 'time',
  UUID: 'other',
  INTERVAL: 'other',
  BLOB: 'other',
}

export function columnKind(type: string): ColumnKind {
  const known = KIND_OF_TYPE[type]
  if (known !== undefined) return known
  const parsed = parseColumnType(type)
  if (parsed === null) return 'json'
  if (isNumberType(parsed)) return 'number'
  return parsed.kind === 'list' || parsed.kind === 'array' ? 'list' : 'json'
}

/** null: DuckDB compares the text as it is. */
export function castFor({ type }: TypedColumn, value: Scalar): string | null {
  if (type === null || typeof value !== 'string') return null
  const kind = columnKind(type)
  return kind === 'text' || kind === 'truth' || kind === 'json' ? null : type
}

/** Returns undefined if such a value never equals a value of this kind. */
const COMPARABLE: Readonly<Record<ColumnKind, (value: Scalar) => Scalar | undefined>> = {
  truth: (value) => TRUTHS.get(value),
  number: filterNumber,
  text: String,
  day: (value) => (matchesText(value, DAY) && !Number.isNaN(Date.parse(value)) ? value : undefined),
  time: (value) => (matchesText(value, TIME_TEXT) ? value : undefined),
  other: (value) => (typeof value === 'string' ? value : undefined),
  list: () => undefined,
  json: (value) =>
    typeof value === 'string' && parsedJson(value) !== undefined ? value : undefined,
}

const DAY = /^\s*[+-]?\d+-\d{1,2}-\d{1,2}([T ]\d|\s*$)/
const TIME_TEXT = /^\s*\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*$/

function matchesText(value: Scalar, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

/** A text with more digits than a JavaScript number can hold stays a text. */
function filterNumber(value: Scalar): number | string | undefined {
  if (typeof value === 'boolean') return undefined
  const number = typeof value === 'number' || value.trim() !== '' ? Number(value) : Number.NaN
  if (!Number.isFinite(number)) return undefined
  const isLong = typeof value === 'string' && value.replaceAll(/\D/g, '').length > EXACT_DIGITS
  return isLong ? value : number
}

const EXACT_DIGITS = 15

const HELD: Readonly<Record<ColumnKind, string>> = {
  truth: 'true and false',
  number: 'numbers',
  text: 'texts',
  day: 'dates, as in 2024-01-31 or 2024-01-31 10:00:00',
  time: 'times of the day, as in 10:00:00',
  other: 'values that are written as texts',
  list: 'lists: use contains',
  json: 'lists and objects (like and not_like compare their JSON, contains looks into lists)',
}

function unfit(value: Scalar, { name, type }: TypedColumn, path: string): AppError {
  const found =
    typeof value === 'boolean' ? value : `a ${typeof value === 'string' ? 'text' : 'number'}`
  const held = type === null ? 'nothing' : HELD[columnKind(type)]
  return wrongField(path, `is ${found}, which cannot be compared so: ${name} holds ${held}`)
}
