import { itemType } from '../../core/domain/column-type.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal, quote } from '../../core/domain/names.ts'
import { wrongField } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { shortened } from '../../core/short-text.ts'
import { isTakenName } from '../../sql/search/search-options.ts'
import {
  castFor,
  columnKind,
  comparable,
  LIST_VALUES_MAX,
  ordered,
  type Scalar,
  scalarOf,
  type TypedColumn,
  valueList,
} from './filter-value.ts'

export interface SearchFilter {
  readonly sql: string
  readonly params: Readonly<Record<string, unknown>>
}

/** The maximum nesting of AND, OR and NOT. */
const FILTER_DEPTH_MAX = 10
const CONDITIONS_MAX = 200
/** The most names to list in an error. */
const SHOWN_NAMES_MAX = 50

interface Building {
  readonly columns: ReadonlyMap<string, FilterColumn>
  readonly params: Record<string, unknown>
  /** Whether to write values into the text. */
  readonly isInline: boolean
  conditionCount: number
}

interface Place {
  /** The position, for example `filters.or[1].price`. */
  readonly path: string
  readonly depth: number
  readonly building: Building
}

/**
 * Converts a JSON filter to SQL, for example `{"category": "book", "price": {"<": 10}, "or": [{…},
 * {…}]}`. Names are columns of the knowledge base, in any case; `metadata.or` is a column named
 * `or`. Values are always bound.
 * @throws AppError `invalid_request` naming the position
 */
export function searchFilter(kb: KnowledgeBase, filters: unknown): SearchFilter {
  return builtFilter(kb, filters, false)
}

/** Like `searchFilter`, but with values in the text, for people to copy. @throws the same */
export function inlineFilter(kb: KnowledgeBase, filters: unknown): string {
  return builtFilter(kb, filters, true).sql
}

function builtFilter(kb: KnowledgeBase, filters: unknown, isInline: boolean): SearchFilter {
  const building = { columns: filterColumns(kb), params: {}, conditionCount: 0, isInline }
  const sql = allOf(filters, { path: 'filters', depth: 0, building })
  return { sql, params: building.params }
}

function allOf(filters: unknown, { path, depth, building }: Place): string {
  if (!isObject(filters)) {
    const isColumn = path.endsWith('.not') && building.columns.has(`${METADATA_PREFIX}not`)
    const hint = isColumn ? `; the column is "${METADATA_PREFIX}not"` : ''
    throw wrongField(path, `must be an object of conditions${hint}`)
  }
  if (depth > FILTER_DEPTH_MAX)
    throw wrongField('filters', `may be nested ${FILTER_DEPTH_MAX} levels deep`)
  const parts = Object.entries(filters).map(([name, value]) => {
    const inner = {
      path: `${path}.${shortened(name, SHOWN_NAME_CHARS_MAX)}`,
      depth: depth + 1,
      building,
    }
    const key = name.toLowerCase()
    if (key === 'and' || key === 'or') return joinedFilters(key, value, inner)
    if (key === 'not') return `NOT coalesce(${allOf(value, inner)}, FALSE)`
    return columnCondition(columnNamed(name, inner), value, inner)
  })
  return parts.length === 0 ? 'TRUE' : `(${parts.join(' AND ')})`
}

function joinedFilters(operator: 'and' | 'or', value: unknown, place: Place): string {
  const { path } = place
  if (!Array.isArray(value) || value.length === 0) {
    const isColumn = place.building.columns.has(`${METADATA_PREFIX}${operator}`)
    const hint = isColumn ? `; the column is "${METADATA_PREFIX}${operator}"` : ''
    throw wrongField(path, `must be a list of at least one object of conditions${hint}`)
  }
  const parts = value.map((one, index) => allOf(one, { ...place, path: `${path}[${index}]` }))
  return `(${parts.join(operator === 'and' ? ' AND ' : ' OR ')})`
}

function columnNamed(name: string, { path, building: { columns } }: Place): FilterColumn {
  const column = columns.get(name.toLowerCase())
  if (column !== undefined) return column
  const names = new Set(
    [...columns.values()].map((one) => shortened(one.name, SHOWN_NAME_CHARS_MAX)),
  )
  const shown = [...names].slice(0, SHOWN_NAMES_MAX).join(', ')
  const more = names.size > SHOWN_NAMES_MAX ? ', …' : ''
  throw wrongField(path, `names no column. There are: ${shown}${more}`)
}

function columnCondition(column: FilterColumn, value: unknown, place: Place): string {
  if (!isObject(value)) return comparison(column, '=', value, place)
  const parts = Object.entries(value).map(([operator, operand]) => {
    const path = `${place.path}.${shortened(operator, SHOWN_NAME_CHARS_MAX)}`
    return comparison(column, operator, operand, { ...place, path })
  })
  if (parts.length === 0) throw wrongField(place.path, `needs an operator: ${OPERATORS}`)
  return `(${parts.join(' AND ')})`
}

const OPERATORS = '=, not, <, <=, >, >=, in, not_in, like, not_like, contains'
const ORDERS = new Set(['<', '<=', '>', '>='])

function comparison(
  column: FilterColumn,
  operator: string,
  value: unknown,
  { path, building }: Place,
): string {
  building.conditionCount += 1
  if (building.conditionCount > CONDITIONS_MAX) {
    throw wrongField('filters', `may have ${CONDITIONS_MAX} conditions`)
  }
  const bind = (bound: unknown) => boundName(bound, building)
  const bindTyped = (bound: Scalar) => {
    const type = castFor(column, bound)
    return type === null ? bind(bound) : `CAST(${bind(bound)} AS ${type})`
  }
  const name = column.sql
  const listSql = (values: readonly Scalar[]) => {
    const [first] = values
    const isCast = first !== undefined && castFor(column, first) !== null
    if (isCast) return `(${values.map(bindTyped).join(', ')})`
    return values.length > LIST_VALUES_MAX ? longList(values, bind) : bind(values)
  }
  if (operator === 'contains') return containing(column, scalarOf(value, path), { path, bind })
  if (operator === 'in' || operator === 'not_in') {
    const { values, hasNull } = valueList(value, column, path)
    const isIn = [
      ...(values.length === 0 ? [] : [`${name} IN ${listSql(values)}`]),
      ...(hasNull ? [`${name} IS NULL`] : []),
    ]
    const any = isIn.length === 0 ? 'FALSE' : isIn.join(' OR ')
    return operator === 'in' ? `(${any})` : `(NOT coalesce(${any}, FALSE))`
  }
  if (value === null && operator === '=') return `${name} IS NULL`
  if (value === null && operator === 'not') return `${name} IS NOT NULL`
  if (operator === 'like' || operator === 'not_like') {
    if (typeof value !== 'string') throw wrongField(path, 'must be a string')
    const like = `CAST(${name} AS VARCHAR) LIKE ${bind(value)}`
    return operator === 'like' ? like : `(NOT coalesce(${like}, FALSE))`
  }
  if (operator === '=') {
    return `${name} = ${bindTyped(comparable(scalarOf(value, path), column, path))}`
  }
  if (operator === 'not') {
    return `${name} IS DISTINCT FROM ${bindTyped(comparable(scalarOf(value, path), column, path))}`
  }
  if (ORDERS.has(operator)) {
    const bound = ordered(scalarOf(value, path), column, path)
    const isNumber = column.type === 'VARCHAR' && typeof bound === 'number'
    const side = isNumber ? `TRY_CAST(${name} AS DOUBLE)` : name
    return `${side} ${operator} ${isNumber ? bind(bound) : bindTyped(bound)}`
  }
  throw wrongField(path, `is not an operator. There are: ${OPERATORS}`)
}

/** Passes the list as one JSON text, because binding values one by one blocks the main thread. */
function longList(texts: readonly Scalar[], bind: (value: unknown) => string): string {
  const json = JSON.stringify(texts.map((one) => String(one).toWellFormed()))
  return `(SELECT unnest(from_json(${bind(json)}, '["VARCHAR"]')))`
}

/** Tests for an item in a list, or a part of a text. */
function containing(
  column: FilterColumn,
  value: Scalar,
  { path, bind }: { readonly path: string; readonly bind: (value: unknown) => string },
): string {
  const { sql, type } = column
  const kind = type === null ? null : columnKind(type)
  if (kind === 'text' && typeof value === 'string') return `contains(${sql}, ${bind(value)})`
  const asJson = `json_contains(to_json(${sql}), ${bind(JSON.stringify(value))}::JSON)`
  if (kind === null || (type === 'JSON' && kind === 'json')) return asJson
  const item = type === null ? null : itemType(type)
  if (item === null)
    throw wrongField(path, `needs a column of lists or texts; ${column.name} is ${type}`)
  const typed = comparable(value, { name: `an item of ${column.name}`, type: item }, path)
  return `list_contains(${sql}, CAST(${bind(typed)} AS ${item}))`
}

function boundName(value: unknown, { params, isInline }: Building): string {
  if (isInline) return literalOf(value)
  const name = `filter_${Object.keys(params).length}`
  params[name] = value
  return `:${name}`
}

function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `(${value.map(literalOf).join(', ')})`
  return typeof value === 'string' ? literal(value) : String(value)
}

const SHOWN_NAME_CHARS_MAX = 60

interface FilterColumn extends TypedColumn {
  readonly sql: string
}

/** For a column whose plain name means something else: `metadata.or`. */
const METADATA_PREFIX = 'metadata.'

/** By lower-case name. A metadata column has two, or only `metadata.price`. */
function filterColumns(kb: KnowledgeBase): ReadonlyMap<string, FilterColumn> {
  const columns = new Map<string, FilterColumn>()
  const add = (key: string, column: FilterColumn) => {
    if (!columns.has(key)) columns.set(key, column)
  }
  for (const name of OWN) columns.set(name, { name, sql: name, type: 'VARCHAR' })
  const metadata = metadataOf(kb).map(({ name, type }) => {
    const isOperator = ['and', 'or', 'not'].includes(name.toLowerCase())
    const isPlain = !isTakenName(name) && !isOperator
    const sql = isTakenName(name) ? `metadata.${quote(name)}` : quote(name)
    return { key: name.toLowerCase(), isPlain, column: { sql, type, name } }
  })
  // Added first: if the column exists, the prefixed name means that column.
  for (const { key, isPlain, column } of metadata) {
    const name = isPlain ? column.name : `${METADATA_PREFIX}${column.name}`
    add(`${METADATA_PREFIX}${key}`, { ...column, name })
  }
  for (const { key, isPlain, column } of metadata) if (isPlain) add(key, column)
  // Unless the knowledge base has a column of this name.
  add('document_id', { name: 'id', sql: 'id', type: 'VARCHAR' })
  return columns
}

const OWN = ['id', 'chunk_id', 'chunk_content'] as const

function metadataOf(kb: KnowledgeBase): readonly TypedColumn[] {
  const declared = (kb.metadataColumns ?? []).map((name) => ({ name, type: null }))
  return [...kb.storedMetadata, ...declared]
}
