import { quote } from '../domain/identifier.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { AppError } from '../errors.ts'
import { isSearchName } from '../sql/search-options.ts'

/** A condition over the columns of chunks: text for a WHERE, and the values that it names. */
export interface SearchFilter {
  readonly sql: string
  readonly params: Readonly<Record<string, unknown>>
}

/** ANDs, ORs and NOTs within each other. */
const DEPTH_MAX = 10
const CONDITIONS_MAX = 200
/** Values of one `in`. */
const VALUES_MAX = 10_000
/** Names that an error lists. */
const SHOWN_NAMES_MAX = 50

type Scalar = string | number | boolean

interface Column {
  readonly name: string
  readonly isText: boolean
}

interface Building {
  /** By name in lower case. */
  readonly columns: ReadonlyMap<string, Column>
  readonly params: Record<string, unknown>
  conditionCount: number
}

interface Place {
  /** As in `filters.or[1].price`. */
  readonly path: string
  readonly depth: number
  readonly building: Building
}

/**
 * A filter in JSON as SQL: `{"category": "book", "price": {"<": 10}, "or": [{…}, {…}]}`. Names are those of the knowledge
 * base's columns, without case; values never become part of the text.
 * @throws AppError `invalid_request` that names the place
 */
export function searchFilter(kb: KnowledgeBase, filters: unknown): SearchFilter {
  const building = { columns: columnsOf(kb), params: {}, conditionCount: 0 }
  const sql = allOf(filters, { path: 'filters', depth: 0, building })
  return { sql, params: building.params }
}

function columnsOf(kb: KnowledgeBase): ReadonlyMap<string, Column> {
  const own = ['id', 'chunk_id', 'chunk_content'].map((name) => ({ name, isText: true }))
  const stored = kb.storedMetadata.map(({ name, type }) => ({ name, isText: type === 'VARCHAR' }))
  const declared = (kb.metadataColumns ?? []).map((name) => ({ name, isText: false }))
  const columns = new Map<string, Column>()
  for (const column of [...own, ...stored, ...declared]) {
    const key = column.name.toLowerCase()
    if (!columns.has(key) && !isSearchName(key)) columns.set(key, column)
  }
  return columns
}

function allOf(filters: unknown, { path, depth, building }: Place): string {
  if (!isObject(filters)) throw wrong(path, 'must be an object of conditions')
  if (depth > DEPTH_MAX) throw wrong('filters', `may be nested ${DEPTH_MAX} levels deep`)
  const parts = Object.entries(filters).map(([name, value]) => {
    const inner = { path: `${path}.${shortened(name)}`, depth: depth + 1, building }
    const key = name.toLowerCase()
    if (key === 'and' || key === 'or') return joined(key, value, inner)
    if (key === 'not') return `NOT coalesce(${allOf(value, inner)}, FALSE)`
    return columnCondition(columnNamed(name, inner), value, inner)
  })
  return parts.length === 0 ? 'TRUE' : `(${parts.join(' AND ')})`
}

function joined(operator: 'and' | 'or', value: unknown, place: Place): string {
  const { path } = place
  if (!Array.isArray(value) || value.length === 0) throw wrong(path, 'must be a list of conditions')
  const parts = value.map((one, index) => allOf(one, { ...place, path: `${path}[${index}]` }))
  return `(${parts.join(operator === 'and' ? ' AND ' : ' OR ')})`
}

function columnNamed(name: string, { path, building: { columns } }: Place): Column {
  const column = columns.get(name.toLowerCase())
  if (column !== undefined) return column
  const names = [...columns.values()].map((one) => shortened(one.name))
  const shown = names.slice(0, SHOWN_NAMES_MAX).join(', ')
  const more = names.length > SHOWN_NAMES_MAX ? ', …' : ''
  throw wrong(path, `names no column. There are: ${shown}${more}`)
}

function columnCondition(column: Column, value: unknown, { path, building }: Place): string {
  if (!isObject(value)) return comparison({ column, operator: '=', value, path }, building)
  const parts = Object.entries(value).map(([operator, operand]) => {
    const place = `${path}.${shortened(operator)}`
    return comparison({ column, operator, value: operand, path: place }, building)
  })
  if (parts.length === 0) throw wrong(path, `needs an operator: ${OPERATORS}`)
  return `(${parts.join(' AND ')})`
}

interface Comparison {
  readonly column: Column
  readonly operator: string
  readonly value: unknown
  readonly path: string
}

const OPERATORS = '=, not, <, <=, >, >=, in, not_in, like, not_like'
const ORDERS = new Set(['<', '<=', '>', '>='])

function comparison({ column, operator, value, path }: Comparison, building: Building): string {
  building.conditionCount += 1
  if (building.conditionCount > CONDITIONS_MAX) {
    throw wrong('filters', `may have ${CONDITIONS_MAX} conditions`)
  }
  const name = quote(column.name)
  const bind = (bound: unknown) => boundName(bound, building)
  if (operator === 'in' || operator === 'not_in') {
    const list = listOf(value, column, path)
    const isIn = list.length === 0 ? 'FALSE' : `${name} IN ${bind(list)}`
    return operator === 'in' ? `(${isIn})` : `(NOT coalesce(${isIn}, FALSE))`
  }
  if (value === null && operator === '=') return `${name} IS NULL`
  if (value === null && operator === 'not') return `${name} IS NOT NULL`
  const scalar = scalarOf(value, path)
  if (operator === '=') return `${name} = ${bind(ofColumn(scalar, column))}`
  if (operator === 'not') return `${name} IS DISTINCT FROM ${bind(ofColumn(scalar, column))}`
  if (ORDERS.has(operator)) {
    const isNumber = column.isText && typeof scalar === 'number'
    const side = isNumber ? `TRY_CAST(${name} AS DOUBLE)` : name
    return `${side} ${operator} ${bind(scalar)}`
  }
  if (operator === 'like' || operator === 'not_like') {
    if (typeof scalar !== 'string') throw wrong(path, 'must be a text')
    const like = operator === 'like' ? 'LIKE' : 'NOT LIKE'
    return `CAST(${name} AS VARCHAR) ${like} ${bind(scalar)}`
  }
  throw wrong(path, `is no operator. There are: ${OPERATORS}`)
}

function boundName(value: unknown, { params }: Building): string {
  const name = `filter_${Object.keys(params).length}`
  params[name] = value
  return `:${name}`
}

function listOf(value: unknown, column: Column, path: string): readonly Scalar[] {
  if (!Array.isArray(value) || value.length > VALUES_MAX) {
    throw wrong(path, `must be a list of at most ${VALUES_MAX} values`)
  }
  const values = value.map((one, index) => ofColumn(scalarOf(one, `${path}[${index}]`), column))
  if (new Set(values.map((one) => typeof one)).size > 1) {
    throw wrong(path, 'must be a list of values of one kind')
  }
  return values
}

function scalarOf(value: unknown, path: string): Scalar {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value
  }
  throw wrong(path, 'must be a text, a number, true or false')
}

/** A text column is compared with texts. */
function ofColumn(value: Scalar, { isText }: Column): Scalar {
  return isText ? String(value) : value
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const NAME_CHARS_MAX = 60

function shortened(name: string): string {
  return name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX).toWellFormed()}…` : name
}

function wrong(path: string, what: string): AppError {
  return new AppError('invalid_request', `Field "${path}" ${what}`)
}
