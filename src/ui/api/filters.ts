/** Conditions on metadata as a search takes them (docs/search.md), and the same in SQL, for counts. */
import type { Params } from './sql.ts'
import { literal, quoted } from './sql.ts'

/** Column to condition: a value, or an object of operators. */
export type Filters = Readonly<Record<string, unknown>>
export type ColumnTypes = Readonly<Record<string, string>>

export interface Where {
  /** ` WHERE …`, or nothing. */
  readonly sql: string
  readonly params: Params
}

const ORDERS = new Set(['<', '<=', '>', '>=', '='])
const OWN_COLUMNS = new Set(['id', 'chunk_id', 'chunk_content'])

/** @throws Error that names a condition that SQL has no word for here */
export function whereOf(filters: Filters, types: ColumnTypes): Where {
  const params: Record<string, unknown> = {}
  const bound = (value: unknown) => {
    const name = `f${Object.keys(params).length}`
    params[name] = value
    return `:${name}`
  }
  const sql = allOf(filters, { bound, types })
  return { sql: sql === '' ? '' : ` WHERE ${sql}`, params }
}

/** The same with its values in it, for people to read. */
export function literalWhereOf(filters: Filters, types: ColumnTypes): string {
  const bound = (value: unknown) => (typeof value === 'string' ? literal(value) : String(value))
  const sql = allOf(filters, { bound, types })
  return sql === '' ? '' : ` WHERE ${sql}`
}

interface Writing {
  readonly bound: (value: unknown) => string
  readonly types: ColumnTypes
}

function allOf(filters: Filters, writing: Writing): string {
  return Object.entries(filters)
    .map(([name, condition]) => `(${conditionOf(name, condition, writing)})`)
    .join(' AND ')
}

function conditionOf(name: string, condition: unknown, writing: Writing): string {
  const key = name.toLowerCase()
  if ((key === 'and' || key === 'or') && Array.isArray(condition)) {
    const parts = condition.map((one) => `(${isFields(one) ? allOf(one, writing) : 'true'})`)
    return parts.join(` ${key.toUpperCase()} `) || 'true'
  }
  if (key === 'not' && isFields(condition))
    return `NOT coalesce(${allOf(condition, writing)}, false)`
  const column = columnOf(name)
  if (!isFields(condition)) return equal(column, condition, writing)
  return Object.entries(condition)
    .map(([operator, value]) => `(${compared(name, operator, value, writing)})`)
    .join(' AND ')
}

function compared(name: string, operator: string, value: unknown, writing: Writing): string {
  const column = columnOf(name)
  const { bound } = writing
  if (operator === 'in') return anyOf(column, value, writing)
  if (operator === 'not_in') return `NOT coalesce(${anyOf(column, value, writing)}, false)`
  if (operator === 'not') return `${column} IS DISTINCT FROM ${bound(value)}`
  if (operator === 'like') return `${column} LIKE ${bound(value)}`
  if (operator === 'not_like') return `coalesce(${column} NOT LIKE ${bound(value)}, true)`
  const type = typeOf(name, writing.types)
  if (operator === 'contains') {
    if (kindOfType(type) !== 'list') return `contains(${column}::VARCHAR, ${bound(value)})`
    return `list_contains(${itemsOf(column, type)}, ${bound(value)}::VARCHAR)`
  }
  if (!ORDERS.has(operator)) throw new Error(`There is no condition ${operator}`)
  const sent = bound(value)
  return `${column} ${operator} ${kindOfType(type) === 'time' ? `CAST(${sent} AS ${type})` : sent}`
}

function equal(column: string, value: unknown, { bound }: Writing): string {
  return value === null ? `${column} IS NULL` : `${column} = ${bound(value)}`
}

function anyOf(column: string, list: unknown, { bound }: Writing): string {
  const values = Array.isArray(list) ? list : [list]
  const present = values.filter((value) => value !== null)
  const parts = [
    ...(present.length > 0 ? [`${column} IN (${present.map(bound).join(', ')})`] : []),
    ...(present.length < values.length ? [`${column} IS NULL`] : []),
  ]
  return parts.join(' OR ') || 'false'
}

/** `metadata."price"`: always the metadata, whatever else has that name. */
export function columnOf(name: string): string {
  if (OWN_COLUMNS.has(name.toLowerCase())) return name.toLowerCase()
  return `metadata.${quoted(name.replace(/^metadata\./i, ''))}`
}

function typeOf(name: string, types: ColumnTypes): string {
  const key = name.replace(/^metadata\./i, '').toLowerCase()
  return Object.entries(types).find(([column]) => column.toLowerCase() === key)?.[1] ?? 'VARCHAR'
}

/** The items of a list as texts; of JSON, where it is one. */
export function itemsOf(column: string, type: string): string {
  if (type !== 'JSON') return `${column}::VARCHAR[]`
  return `CASE WHEN json_type(${column}) = 'ARRAY' THEN from_json(${column}, '["VARCHAR"]') END`
}

export type ColumnKind = 'number' | 'time' | 'list' | 'value'

/** How a column can be narrowed down: by a range, by an item, by its values. */
export function kindOfType(type: string): ColumnKind {
  if (type === 'JSON' || type.endsWith(']')) return 'list'
  if (/INT|^(DOUBLE|FLOAT|REAL|DECIMAL)/.test(type) && !/^INTERVAL/.test(type)) return 'number'
  return /^(DATE|TIMESTAMP)/.test(type) ? 'time' : 'value'
}

export function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function without(filters: Filters, column: string): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([name]) => name !== column))
}
