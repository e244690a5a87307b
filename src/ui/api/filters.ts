/** Metadata conditions in the form of a search (docs/search.md), and the same in SQL, for counts and links. */
import { isObject } from '../../core/json.ts'
import { literal, quoted } from './sql.ts'

/** Column to condition: a value, or an object of operators. */
export type Filters = Readonly<Record<string, unknown>>
export type ColumnTypes = Readonly<Record<string, string>>

const ORDERS = ['<', '<=', '>', '>=', '=']
const OWN_COLUMNS = new Set(['id', 'chunk_id', 'chunk_content'])

/** ` WHERE …`, or nothing. @throws Error for a condition that the page cannot write in SQL */
export function whereOf(filters: Filters, types: ColumnTypes): string {
  const all = Object.entries(filters).map(([name, condition]) => {
    const column = columnOf(name)
    if (!isObject(condition)) return anyOf(column, [condition])
    return Object.entries(condition)
      .map(([operator, value]) => compared(column, types[name] ?? 'VARCHAR', operator, value))
      .join(' AND ')
  })
  return all.length === 0 ? '' : ` WHERE ${all.map((one) => `(${one})`).join(' AND ')}`
}

function compared(column: string, type: string, operator: string, value: unknown): string {
  if (operator === 'in') return anyOf(column, Array.isArray(value) ? value : [value])
  if (operator === 'contains') {
    if (kindOfType(type) !== 'list') return `contains(${column}::VARCHAR, ${written(value)})`
    return `list_contains(${itemsOf(column, type)}, ${written(value)}::VARCHAR)`
  }
  if (!ORDERS.includes(operator)) throw new Error(`The page cannot write ${operator} in SQL`)
  const sent = kindOfType(type) === 'time' ? `CAST(${written(value)} AS ${type})` : written(value)
  return `${column} ${operator} ${sent}`
}

function anyOf(column: string, values: readonly unknown[]): string {
  const present = values.filter((value) => value !== null).map(written)
  const parts = [
    ...(present.length > 0 ? [`${column} IN (${present.join(', ')})`] : []),
    ...(present.length < values.length ? [`${column} IS NULL`] : []),
  ]
  return parts.join(' OR ') || 'false'
}

function written(value: unknown): string {
  return typeof value === 'string' ? literal(value) : JSON.stringify(value)
}

/** `metadata."price"`: always the metadata, even if something else has that name. */
export function columnOf(name: string): string {
  if (OWN_COLUMNS.has(name.toLowerCase())) return name.toLowerCase()
  return `metadata.${quoted(name.replace(/^metadata\./i, ''))}`
}

/** The items of a list as texts; also of a list in JSON. */
export function itemsOf(column: string, type: string): string {
  if (type !== 'JSON') return `${column}::VARCHAR[]`
  return `CASE WHEN json_type(${column}) = 'ARRAY' THEN from_json(${column}, '["VARCHAR"]') END`
}

type ColumnKind = 'number' | 'time' | 'list' | 'value'

/** How a column can be filtered: by a range, by an item, by its values. */
export function kindOfType(type: string): ColumnKind {
  if (type === 'JSON' || type.endsWith(']')) return 'list'
  if (/INT|^(DOUBLE|FLOAT|REAL|DECIMAL)/.test(type) && !/^INTERVAL/.test(type)) return 'number'
  return /^(DATE|TIMESTAMP)/.test(type) ? 'time' : 'value'
}

export function without(filters: Filters, column: string): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([name]) => name !== column))
}
