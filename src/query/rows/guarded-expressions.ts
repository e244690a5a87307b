/** A caller's expressions as parts of a statement that writes: each was a SELECT that passed the planner's guard. */

import { literal } from '../../core/domain/identifier.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { tokenize } from '../../sql/lexer/tokens.ts'
import { enclosed } from '../select/composed-select.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { planAndBind } from '../select/run-select.ts'
import type { StatementRequest } from '../select/statement-request.ts'

/** The name of an expression's column, so that the planner gives it none of its own. */
const VALUE = 'eider_value'

export interface ExpressionScope extends Pick<StatementRequest, 'db' | 'params'> {
  /** What its columns are of, as SQL after FROM; null: it has none. */
  readonly from: string | null
}

/** @throws AppError those of the planner; `sql_not_supported` for a sub-query */
export async function guardedExpression(
  expression: string,
  scope: ExpressionScope,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string> {
  return guardedList(`${enclosed(expression)} AS ${VALUE}`, scope, deps, signal)
}

/** The same for what follows SELECT, or RETURNING. */
export async function guardedList(
  list: string,
  { from, db: database, params }: ExpressionScope,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string> {
  refuseQueries(list)
  const source = from === null ? '' : ` FROM ${from}`
  const sql = `SELECT ${list}\n${source}`
  const { statement, release, plan } = await planAndBind({ sql, database, params }, deps, signal)
  await release()
  // As DuckDB prints it: the same text behind whatever is selected.
  const other = await planAndBind({ sql: `SELECT 0${source}`, database, params }, deps, signal)
  await other.release()
  const end = other.statement.sql.slice('SELECT 0'.length)
  const isWhole = plan.sql.startsWith('SELECT ') && plan.sql.endsWith(end)
  if (!isWhole) throw new AppError('sql_syntax', `Expected expressions, found ${list.slice(0, 80)}`)
  const own = plan.sql.slice('SELECT '.length, plan.sql.length - end.length)
  refuseQueries(own)
  return withValues(own.replace(new RegExp(` AS ${VALUE}$`), ''), statement.values)
}

/** DuckDB takes no parameters in RETURNING and in what it stores with a table. @throws AppError `sql_not_supported` */
function withValues(sql: string, values: BoundSql['values']): string {
  const parameters = tokenize(sql).filter(({ kind }) => kind === 'parameter')
  let text = ''
  let taken = 0
  for (const { value: name, start, end } of parameters) {
    text += sql.slice(taken, start) + valueSql(values[name])
    taken = end
  }
  return text + sql.slice(taken)
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

/** They would be computed while all other writes wait. @throws AppError `sql_not_supported` */
function refuseQueries(sql: string): void {
  const isQuery = tokenize(sql, sql.includes("\\'") ? 'backslash' : 'standard').some((token) => {
    return token.kind === 'word' && token.text.toLowerCase() === 'select'
  })
  if (!isQuery) return
  const message = 'RETURNING, ON CONFLICT, DEFAULT and CHECK have no sub-queries'
  throw new AppError('sql_not_supported', message)
}

/**
 * The same for what is stored with a table, and must mean the same later: nothing in it is limited by functions of ours.
 * @throws AppError `sql_not_supported`
 */
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
