/**
 * Metadata conditions in the form that searches use (docs/search.md), and as SQL for counts and
 * links.
 */
import { literal, quote } from '../../core/domain/names.ts'
import { isObject } from '../../core/json.ts'

/** Maps a column to its condition: a value, or an object with operators. */
export type Filters = Readonly<Record<string, unknown>>
export type ColumnTypes = Readonly<Record<string, string>>

const ORDERS = ['<', '<=', '>', '>=', '=']
const OWN_COLUMNS = new Set(['id', 'chunk_id', 'chunk_content'])

/** ` WHERE …` or an empty string. @throws Error for a condition that SQL cannot express here */
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

/** Returns `metadata."price"`, which is unambiguous even if another column has the same name. */
export function columnOf(name: string): string {
  if (OWN_COLUMNS.has(name.toLowerCase())) return name.toLowerCase()
  return `metadata.${quote(name.replace(/^metadata\./i, ''))}`
}

/** SQL for the items of a list as strings, also of a JSON list. */
export function itemsOf(column: string, type: string): string {
  if (type !== 'JSON') return `${column}::VARCHAR[]`
  return `CASE WHEN json_type(${column}) = 'ARRAY' THEN from_json(${column}, '["VARCHAR"]') END`
}

type ColumnKind = 'number' | 'time' | 'list' | 'value'

/** How a column can be filtered: by range, by item or by value. */
export function kindOfType(type: string): ColumnKind {
  if (type === 'JSON' || type.endsWith(']')) return 'list'
  if (/INT|^(DOUBLE|FLOAT|REAL|DECIMAL)/.test(type) && !/^INTERVAL/.test(type)) return 'number'
  return /^(DATE|TIMESTAMP)/.test(type) ? 'time' : 'value'
}

export function without(filters: Filters, column: string): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([name]) => name !== column))
}
