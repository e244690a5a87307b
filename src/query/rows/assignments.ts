import { type CellValue, ownMetadata, type Row, shownValue } from '../../core/domain/document.ts'
import { DEFAULT_CONTENT_COLUMNS, type KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal, nameKey } from '../../core/domain/names.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'
import { findColumn, wellFormedRow } from '../../ingest/sources/document-of-row.ts'
import type { Assignment, RowStatement } from '../../sql/dialect/parse-rows.ts'
import { spliced, type Token, tokenize } from '../../sql/lexer/tokens.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { withBoundSelect } from '../select/run-select.ts'
import type { StatementRequest } from '../select/statement-request.ts'
import { enclosed } from '../select/views.ts'

type AssignmentTarget =
  | { readonly kind: 'content'; readonly column: string }
  | { readonly kind: 'metadata'; readonly name: string }
  /** Sets several metadata keys from an object; other keys stay. */
  | { readonly kind: 'metadata_object' }

type Update = Extract<RowStatement, { kind: 'update' }>

/** In order. @throws AppError `sql_not_supported` if one cannot be set, or is set twice */
export function assignmentTargets(
  { assignments, alias, table }: Update,
  kb: KnowledgeBase,
): readonly AssignmentTarget[] {
  const seen = new Set<string>()
  return assignments.map((assignment) => {
    const target = targetOf(withoutTable(assignment, alias ?? table.name), kb)
    const key = targetKey(target)
    if (seen.has(key)) throw notSettable(assignment.column.join('.'), 'it is set twice')
    seen.add(key)
    return target
  })
}

function targetKey(target: AssignmentTarget): string {
  if (target.kind === 'metadata_object') return target.kind
  return `${target.kind} ${nameKey(target.kind === 'content' ? target.column : target.name)}`
}

/** Returns the column without its table: `price`, or `metadata` and a key. */
function withoutTable({ column }: Assignment, table: string): readonly string[] {
  const [first = '', ...rest] = column
  const isOfTable = rest.length > 0 && nameKey(first) === nameKey(table)
  const own = isOfTable ? rest : column
  const [outer = '', inner, ...more] = own
  if (inner === undefined || (nameKey(outer) === 'metadata' && more.length === 0)) return own
  if (nameKey(outer) === 'metadata') {
    throw notSettable(column.join('.'), 'only whole keys of metadata can be set')
  }
  throw new AppError('sql_unknown_name', `Table "${first}" is not the one of this UPDATE: ${table}`)
}

const FIXED_COLUMNS = new Set(['id', 'chunk_id', 'relevance', 'distance'])

function targetOf(column: readonly string[], kb: KnowledgeBase): AssignmentTarget {
  const [name = '', metadataKey] = column
  if (metadataKey !== undefined) return { kind: 'metadata', name: metadataName(metadataKey, kb) }
  const key = nameKey(name)
  if (key === 'metadata') return { kind: 'metadata_object' }
  const contentColumns = kb.contentColumns ?? DEFAULT_CONTENT_COLUMNS
  const content = findColumn(contentColumns, name)
  if (content !== undefined) return { kind: 'content', column: content }
  if (key === 'content' || key === 'chunk_content') {
    const [only, ...others] = contentColumns
    if (only !== undefined && others.length === 0) return { kind: 'content', column: only }
    throw notSettable(name, `the content columns are ${contentColumns.join(', ')}`)
  }
  const isId = kb.idColumn !== null && key === nameKey(kb.idColumn)
  if (FIXED_COLUMNS.has(key) || isId) throw notSettable(name, 'it is not a value of the document')
  return { kind: 'metadata', name: metadataName(name, kb) }
}

/** As declared, if names were. @throws AppError `sql_not_supported` for others */
function metadataName(name: string, kb: KnowledgeBase): string {
  if (kb.metadataColumns === null) return name
  const declared = findColumn(kb.metadataColumns, name)
  if (declared !== undefined) return declared
  throw notSettable(name, `the metadata columns are ${kb.metadataColumns.join(', ') || 'none'}`)
}

function notSettable(name: string, why: string): AppError {
  return new AppError('sql_not_supported', `Column ${name} cannot be set: ${why}`)
}

export interface AssignedValues {
  /** The new text by content column. Texts are not empty. */
  readonly texts: ReadonlyMap<string, string>
  readonly metadata: Row
}

/** @param values in the targets' order @throws AppError `insert_failed`, `sql_not_supported` */
export function assignedValues(
  targets: readonly AssignmentTarget[],
  values: readonly CellValue[],
  kb: KnowledgeBase,
): AssignedValues {
  const texts = new Map<string, string>()
  const metadata = new Map<string, CellValue>()
  for (const [index, target] of targets.entries()) {
    const value = values[index] ?? null
    if (target.kind === 'content')
      texts.set(target.column, assignedText(shownValue(value), target.column))
    else if (target.kind === 'metadata') metadata.set(target.name, value)
    else {
      for (const [name, part] of Object.entries(metadataObject(shownValue(value)))) {
        metadata.set(metadataName(name, kb), part)
      }
    }
  }
  const row = wellFormedRow(Object.fromEntries(metadata))
  return { texts, metadata: row }
}

function assignedText(value: ResultValue, column: string): string {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  if (text === null || String(text).trim() === '') {
    throw new AppError('insert_failed', 'The new content is empty; to take rows away use DELETE')
  }
  const row = wellFormedRow({ [column]: String(text) })
  return String(row[column])
}

function metadataObject(value: ResultValue): Row {
  const object = typeof value === 'string' ? parsedJson(value) : value
  if (typeof object === 'object' && object !== null && !Array.isArray(object)) {
    // JSON values are valid in a row.
    return ownMetadata(object as Row)
  }
  throw new AppError('insert_failed', 'metadata is set to a JSON object')
}

/** Each must pass the planner's checks as a SELECT. */

/** An alias for the expression, so that the planner does not choose a name. */
const VALUE = 'eider_value'

interface ExpressionScope extends Pick<StatementRequest, 'db' | 'params'> {
  /** The relations that its columns come from, as SQL after FROM; null if there are none. */
  readonly from: string | null
}

/** @throws AppError like the planner; `sql_not_supported` for a subquery */
export async function guardedExpression(
  expression: string,
  scope: ExpressionScope,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string> {
  return guardedList(`${enclosed(expression)} AS ${VALUE}`, scope, deps, signal)
}

/** Like `guardedExpression`, for the list after SELECT or RETURNING. */
export async function guardedList(
  list: string,
  { from, db: database, params }: ExpressionScope,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string> {
  refuseQueries(list)
  const source = from === null ? '' : ` FROM ${from}`
  const sql = `SELECT ${list}\n${source}`
  const request = { database, params, isPrinted: true }
  const planned = (text: string) => {
    return withBoundSelect({ ...request, sql: text }, deps, signal, async (bound) => bound)
  }
  const { statement, plan } = await planned(sql)
  // Plan it with another list, to see which part of the printed text is the source.
  const other = await planned(`SELECT 0${source}`)
  const end = other.statement.sql.slice('SELECT 0'.length)
  const isWhole = plan.sql.startsWith('SELECT ') && plan.sql.endsWith(end)
  if (!isWhole) throw new AppError('sql_syntax', `Expected expressions, found ${list.slice(0, 80)}`)
  const own = plan.sql.slice('SELECT '.length, plan.sql.length - end.length)
  refuseQueries(own)
  return withValues(own.replace(new RegExp(` AS ${VALUE}$`), ''), statement.values)
}

/** DuckDB allows no parameters in RETURNING and stored expressions. @throws AppError */
function withValues(sql: string, values: BoundSql['values']): string {
  const parameters = tokenize(sql).filter(({ kind }) => kind === 'parameter')
  const parts = parameters.map(({ value, start, end }) => {
    return { start, end, text: valueSql(values[value]) }
  })
  return spliced(sql, parts)
}

function valueSql(value: BoundSql['values'][string] | undefined): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') {
    return Number.isInteger(value) ? value.toFixed(0) : `CAST('${value}' AS DOUBLE)`
  }
  if (typeof value === 'string' && !value.includes('\0'))
    return `CAST(${literal(value)} AS VARCHAR)`
  const message = 'A parameter here is a text, a number, true, false or null'
  throw new AppError('sql_not_supported', message)
}

/** Of a part of a statement. A quote after a backslash is escaped. */
export function dialectTokens(sql: string): readonly Token[] {
  return tokenize(sql, sql.includes("\\'") ? 'backslash' : 'standard')
}

/** All other writes would wait for them. @throws AppError `sql_not_supported` */
function refuseQueries(sql: string): void {
  const isQuery = dialectTokens(sql).some((token) => {
    return token.kind === 'word' && token.text.toLowerCase() === 'select'
  })
  if (!isQuery) return
  const message = 'RETURNING, ON CONFLICT, DEFAULT and CHECK have no sub-queries'
  throw new AppError('sql_not_supported', message)
}

/** Its meaning must not change, so no limiting functions. @throws AppError */
export async function storedExpression(
  expression: string,
  scope: ExpressionScope,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string> {
  const sql = await guardedExpression(expression, scope, deps, signal)
  if (!/\beider_(room|steps)/.test(sql)) return sql
  const what = 'DEFAULT and CHECK have constants and simple functions'
  const message = `"${expression.slice(0, 80)}" may compute too much: ${what}`
  throw new AppError('sql_not_supported', message)
}

export function isDefault(value: string): boolean {
  return /^\s*default\s*$/i.test(value)
}

/** Returns the source without DEFAULTs, to check whether it can be read. */
export function withoutDefaults(source: string): string {
  return valuesWithDefaults(source, ['a'], new Map())
}

const LITERAL =
  /^(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|'(?:[^'\\]|'')*'|null|true|false|values|::|[(),+-])$/i

/**
 * Writes a `VALUES` again if it has only literals and parameters, perhaps with a type. It reads and
 * calls nothing, so it needs no guard. Null for all others.
 */
export function literalRows(source: string, params: StatementRequest['params']): string | null {
  if (!/^\s*values\b/i.test(source)) return null
  const texts: string[] = []
  let isInRow = false
  for (const { kind, text, value } of tokenize(source)) {
    const isType = texts.at(-1) === '::' && /^\w+$/.test(text)
    const isNested = text === '(' && isInRow
    const known = kind === 'parameter' ? parameterLiteral(params[value]) : text
    const isKnown = kind === 'parameter' || isType || LITERAL.test(text)
    if (known === null || isNested || !isKnown) return null
    if (text === '(' || text === ')') isInRow = text === '('
    texts.push(known)
  }
  return texts.join(' ')
}

/** Binding a longer text is faster. */
const PARAMETER_CHARS_MAX = 10_000

function parameterLiteral(value: unknown): string | null {
  if (typeof value === 'string') {
    const isBound = value.length > PARAMETER_CHARS_MAX || value.includes('\0')
    return isBound ? null : literal(value.toWellFormed())
  }
  const isPlain = value === null || typeof value === 'boolean' || Number.isFinite(value)
  return isPlain ? String(value) : null
}

/**
 * Turns `VALUES (1, DEFAULT)` into a query: each DEFAULT becomes the default of its column, and
 * `DEFAULT VALUES` a row of defaults. Other sources are unchanged.
 * @param columns of the values, in order
 * @param defaults SQL by column name
 */
export function valuesWithDefaults(
  source: string,
  columns: readonly string[],
  defaults: ReadonlyMap<string, string>,
): string {
  const sqlOf = (column: string | undefined) => `(${defaults.get(column ?? '') ?? 'NULL'})`
  if (/^\s*default\s+values\s*$/i.test(source)) return `VALUES (${columns.map(sqlOf).join(', ')})`
  if (!/^\s*values\b/i.test(source) || !/\bdefault\b/i.test(source)) return source
  const tokens = dialectTokens(source)
  const parts: { start: number; end: number; text: string }[] = []
  let depth = 0
  let column = 0
  for (const [index, { kind, text, start, end }] of tokens.entries()) {
    const isBefore = '(,'.includes(tokens[index - 1]?.text ?? ' ')
    const isAfter = '),'.includes(tokens[index + 1]?.text ?? ' ')
    if (depth === 1 && kind === 'word' && isDefault(text) && isBefore && isAfter) {
      parts.push({ start, end, text: sqlOf(columns[column]) })
    }
    if (kind !== 'symbol') continue
    if ('([{'.includes(text)) depth += 1
    if (')]}'.includes(text)) depth -= 1
    if (depth === 1 && text === ',') column += 1
    if (depth === 0) column = 0
  }
  return spliced(source, parts)
}
