/** A read as the SELECT sent to its source. */
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
  DirectAnswer,
  Operand,
  SourceCondition,
  SourceGroups,
  SourceOrder,
  SourceRead,
  SourceSlice,
  SourceTotal,
} from './source-read.ts'

/** Whether the source can return exactly the rows that meet the condition, for all values of the parameters. */
export function isSentWhole({ condition, source }: SourceRead): boolean {
  const rendering: Rendering = { text: new SourceText(source.engine), params: new Map() }
  const rendered = renderCondition(condition, rendering)
  return rendered !== null && rendered.exactness !== 'wide'
}

/** The rows of a read, with its columns under the source's names. */
export function renderRead(
  read: SourceRead,
  params: GivenValues,
): {
  readonly select: SourceSelect
  /** Whether the result is exactly the rows that meet the whole condition, in the requested order, within its LIMIT. */
  readonly isExact: boolean
} {
  if (read.from.kind === 'native') {
    return { select: { sql: read.from.sql, values: [] }, isExact: false }
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

/** A key as shown, and the value to group by: texts by their bytes. */
function sortKeys(column: SourceColumn, text: SourceText): { shown: string; group: string } {
  const name = text.name(column.name)
  const kind = columnKind(column, text.engine)?.kind
  if (kind === 'text' && text.engine === 'postgres') {
    const group = `${name} COLLATE "C"`
    return { shown: group, group }
  }
  // All texts of a group have the same bytes.
  if (kind === 'text' && text.engine === 'mysql')
    return { shown: `MIN(${name})`, group: text.bytes(name) }
  const value = kind === 'decimal' ? decimalValue(column, text) : name
  const shown = value === name ? name : `CAST(${value} AS ${column.type})`
  return { shown, group: value }
}

/** NaN has no value here. */
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
  // Without a CAST the source does not report its digits.
  return type?.kind === 'decimal' && kind !== 'count' ? `CAST(${call} AS ${column.type})` : call
}

/** null: something else is left to do here. */
export function renderDirect(
  { read, items }: DirectAnswer,
  params: GivenValues,
): {
  readonly select: SourceSelect
  /** After this many rows; null: at the end. */
  readonly rowsMax: number | null
} | null {
  if (items.length === 0) return null
  const { limit = null, offset = null } = read.slice ?? {}
  if (offset !== null && rowCount(offset, params) !== 0) return null
  if (read.from.kind === 'native') {
    const rowsMax = limit === null ? null : rowCount(limit, params)
    const isCounted = limit === null || rowsMax !== null
    const isAsked = isEveryRow(read.condition) && read.slice?.order.length === 0
    if (!isAsked || !isCounted || !isEachColumn(read, items)) return null
    return { select: { sql: read.from.sql, values: [] }, rowsMax }
  }
  const text = new SourceText(read.source.engine)
  const columns = items.map(({ column }) => text.name(column.name)).join(', ')
  const from = `SELECT ${columns} FROM ${text.table(read.from.table)}`
  const rendering: Rendering = { text, params }
  const condition = renderCondition(read.condition, rendering)
  if (condition === null || condition.exactness === 'wide') return null
  const slice = renderSlice(read.slice, rendering)
  if (slice === null) return null
  const where = condition.sql === '' ? '' : ` WHERE ${condition.sql}`
  return { select: { sql: `${from}${where}${slice.sql}`, values: text.values }, rowsMax: null }
}

function isEveryRow(condition: SourceCondition): boolean {
  return condition.kind === 'and' && condition.conditions.length === 0
}

/** Each column once, in order, with any name. */
function isEachColumn({ columns }: SourceRead, items: DirectAnswer['items']): boolean {
  return (
    items.length === columns.length &&
    items.every(({ column }, index) => column.name === columns[index]?.name)
  )
}

/** null: the source cannot determine the first rows. */
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

/** LIMIT and OFFSET that are numbers of rows. */
export function rowCount(operand: Operand, params: GivenValues): number | null {
  const value = givenValue(operand, params)
  if (value?.kind !== 'number' || !/^\d{1,15}$/.test(value.digits)) return null
  return Number(value.digits)
}

/** In DuckDB's order: texts by their bytes, NULLs as the statement asks. */
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
  // There, NaN sorts after all numbers; here it is NULL: before the NULLs at the end it is in its place.
  const mayBeNaN = kind === 'decimal' && text.engine === 'postgres'
  const isInPlace = !mayBeNaN || (!isDescending && !nullsFirst)
  const plain = isInPlace ? name : `NULLIF(${name}, 'NaN')`
  const key = kind === 'text' ? text.bytes(name) : plain
  const direction = isDescending ? ' DESC' : ''
  if (!column.isNullable && isInPlace) return `${key}${direction}`
  if (text.engine !== 'mysql') return `${key}${direction} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`
  // MySQL has no NULLS LAST: NULL is the lowest there.
  if (nullsFirst !== isDescending) return `${key}${direction}`
  return `${name} IS NULL${nullsFirst ? ' DESC' : ''}, ${key}${direction}`
}
