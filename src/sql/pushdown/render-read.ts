/** Writes a read as the SELECT to send to its source. */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import { columnKind, SourceText } from './column-kinds.ts'
import {
  type GivenValues,
  givenValue,
  type Rendering,
  renderCondition,
} from './render-condition.ts'
import type {
  Operand,
  SourceCondition,
  SourceGroups,
  SourceOrder,
  SourceRead,
  SourceSlice,
  SourceTotal,
} from './source-read.ts'

/** Whether the source can return exactly the rows that meet the condition, for any parameters. */
export function isSentWhole({ condition, source }: SourceRead): boolean {
  const rendering: Rendering = { text: new SourceText(source.engine), params: new Map() }
  const rendered = renderCondition(condition, rendering)
  return rendered !== null && rendered.exactness !== 'wide'
}

/** Returns the SELECT for a read, with columns under the source's names. */
export function renderRead(
  read: SourceRead,
  params: GivenValues,
): {
  readonly select: SourceSelect
  /** The rows that meet the whole condition, in order and within the LIMIT. */
  readonly isExact: boolean
} {
  if (read.from.kind === 'native') {
    const select = { sql: read.from.sql, values: [], rowsMax: nativeRowsMax(read, params) }
    return { select, isExact: false }
  }
  const text = new SourceText(read.source.engine)
  const { groups } = read
  if (groups !== null) return { select: renderGroups(read, groups, params), isExact: true }
  const columns = read.columns.map(({ name }) => text.name(name)).join(', ')
  const from = `SELECT ${columns === '' ? '1' : columns} FROM ${text.table(read.from.table)}`
  const rendering: Rendering = { text, params }
  const condition = renderCondition(read.condition, rendering)
  const isFiltered = condition !== null && condition.exactness !== 'wide'
  const where = condition === null || condition.sql === '' ? '' : ` WHERE ${condition.sql}`
  const slice = isFiltered ? renderSlice(read.slice, rendering) : null
  return {
    select: { sql: `${from}${where}${slice?.sql ?? ''}`, values: text.values },
    isExact: slice !== null && isFiltered,
  }
}

function renderGroups(
  { source, from, condition }: SourceRead,
  { keys, totals }: SourceGroups,
  params: GivenValues,
): SourceSelect {
  if (from.kind === 'native') throw new Error('native SQL is not grouped')
  const text = new SourceText(source.engine)
  const keySql = keys.map((key) => sortKeys(key, text))
  const items = [
    ...keySql.map(({ shown }) => shown),
    ...totals.map((total) => totalSql(total, text)),
  ]
  const where = renderCondition(condition, { text, params })?.sql ?? ''
  const filter = where === '' ? '' : ` WHERE ${where}`
  const groups = keySql.map(({ group }) => group).join(', ')
  const groupBy = groups === '' ? '' : ` GROUP BY ${groups}`
  const sql = `SELECT ${items.join(', ')} FROM ${text.table(from.table)}${filter}${groupBy}`
  return { sql, values: text.values }
}

/** A key as shown, and the value to group by, which for a text is its bytes. */
function sortKeys(column: SourceColumn, text: SourceText): { shown: string; group: string } {
  const name = text.name(column.name)
  const kind = columnKind(column, text.engine)?.kind
  if (kind === 'text' && text.engine === 'postgres') {
    const group = `${name} COLLATE "C"`
    return { shown: group, group }
  }
  // All texts in a group have the same bytes.
  if (kind === 'text' && text.engine === 'mysql')
    return { shown: `MIN(${name})`, group: text.bytes(name) }
  const value = kind === 'decimal' ? decimalValue(column, text) : name
  const shown = value === name ? name : `CAST(${value} AS ${column.type})`
  return { shown, group: value }
}

/** Turns NaN into NULL. */
function decimalValue({ name }: SourceColumn, text: SourceText): string {
  return text.engine === 'postgres' ? `NULLIF(${text.name(name)}, 'NaN')` : text.name(name)
}

function totalSql({ kind, column, isDistinct }: SourceTotal, text: SourceText): string {
  if (kind === 'rows' || column === null) return 'count(*)'
  const type = columnKind(column, text.engine)
  const value = type?.kind === 'decimal' ? decimalValue(column, text) : text.name(column.name)
  const call = `${kind}(${isDistinct ? 'DISTINCT ' : ''}${value})`
  if (kind === 'sum') {
    return `CAST(${call} AS DECIMAL(38,${type?.kind === 'decimal' ? type.scale : 0}))`
  }
  // Without a CAST, the source does not report its precision.
  return type?.kind === 'decimal' && kind !== 'count' ? `CAST(${call} AS ${column.type})` : call
}

/** A caller's own SELECT is sent unchanged, so reading stops after the rows that a LIMIT asks for. null: all. */
function nativeRowsMax({ condition, slice }: SourceRead, params: GivenValues): number | null {
  if (slice === null || slice.limit === null) return null
  if (slice.order.length > 0 || !isEveryRow(condition)) return null
  const limit = rowCount(slice.limit, params)
  const offset = slice.offset === null ? 0 : rowCount(slice.offset, params)
  return limit === null || offset === null ? null : Math.max(1, limit + offset)
}

function isEveryRow(condition: SourceCondition): boolean {
  return condition.kind === 'and' && condition.conditions.length === 0
}

/** Null if the source cannot determine the first rows. */
function renderSlice(
  slice: SourceSlice | null,
  { text, params }: Rendering,
): { readonly sql: string } | null {
  if (slice === null) return null
  const order = slice.order.map((item) => orderSql(item, text))
  if (!order.every((item) => item !== null)) return null
  const orderBy = order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`
  if (slice.limit === null && slice.offset === null) return { sql: orderBy }
  const limit = slice.limit === null ? null : rowCount(slice.limit, params)
  const offset = slice.offset === null ? 0 : rowCount(slice.offset, params)
  if (limit === null || offset === null) return null
  return { sql: `${orderBy} LIMIT ${limit + offset}` }
}

/** Returns the row count of a LIMIT or OFFSET. */
export function rowCount(operand: Operand, params: GivenValues): number | null {
  const value = givenValue(operand, params)
  if (value?.kind !== 'number' || !/^\d{1,15}$/.test(value.digits)) return null
  return Number(value.digits)
}

/** Sorts in DuckDB's order: texts by bytes, NULLs as the statement says. */
function orderSql(
  { column, isDescending, nullsFirst }: SourceOrder,
  text: SourceText,
): string | null {
  const kind = columnKind(column, text.engine)?.kind
  const isPlain = kind === 'integer' || kind === 'double' || kind === 'truth' || kind === 'decimal'
  const isMoment =
    (kind === 'date' || kind === 'timestamp' || kind === 'timestamptz') && text.engine !== 'mysql'
  if (!isPlain && !isMoment && kind !== 'text') return null
  const name = text.name(column.name)
  // PostgreSQL sorts NaN after all other numbers. It arrives as NULL, so it would be in the wrong
  // place.
  const mayBeNaN = kind === 'decimal' && text.engine === 'postgres'
  const isInPlace = !mayBeNaN || (!isDescending && !nullsFirst)
  const plain = isInPlace ? name : `NULLIF(${name}, 'NaN')`
  const key = kind === 'text' ? text.bytes(name) : plain
  const direction = isDescending ? ' DESC' : ''
  if (!column.isNullable && isInPlace) return `${key}${direction}`
  if (text.engine !== 'mysql') return `${key}${direction} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`
  // MySQL has no NULLS LAST, and sorts NULL lowest.
  if (nullsFirst !== isDescending) return `${key}${direction}`
  return `${name} IS NULL${nullsFirst ? ' DESC' : ''}, ${key}${direction}`
}
