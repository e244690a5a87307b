import { requireDatabase } from '../../domain/catalog-snapshot.ts'
import type { BoundValue } from '../../domain/ports/engine-ports.ts'
import type { QueryResult, ResultValue, RowStream } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { SessionStatement, Setting } from '../../sql/dialect/parse-session.ts'
import type { QueryDeps } from '../query-deps.ts'
import { enclosed, runComposedSelect } from '../select/composed-select.ts'
import { done, type StatementRequest } from '../statement-request.ts'

export async function runSessionStatement(
  request: StatementRequest<SessionStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  switch (statement.kind) {
    case 'use':
      return done(requireDatabase(deps.catalog.snapshot(), statement.database))
    case 'transaction':
      return done(db)
    case 'set': {
      for (const setting of statement.settings) checkSetting(setting)
      const values = new Map<string, BoundValue>()
      for (const { name, value } of statement.variables) {
        values.set(name, await evaluate(value, request, deps, signal))
      }
      // Only now: each expression saw the values before the statement, and a failure has changed nothing.
      deps.variables.set(values)
      return done(db)
    }
  }
}

/** What clients send when they connect. It is taken and changes nothing: a session has variables only. */
const TAKEN_SETTINGS: ReadonlySet<string> = new Set(
  `autocommit character_set_client character_set_connection character_set_database
   character_set_results character_set_server collation_connection collation_database
   collation_server foreign_key_checks interactive_timeout lc_messages names net_read_timeout
   net_write_timeout predictor_cache profiling sql_auto_is_null sql_mode sql_notes
   sql_quote_show_create sql_safe_updates transaction transaction_isolation
   transaction_read_only tx_isolation tx_read_only unique_checks wait_timeout`.split(/\s+/),
)

/** @throws AppError `sql_forbidden` */
function checkSetting({ name, value }: Setting): void {
  if (name === 'show_secrets') {
    if (/^'?(false|off|0)'?$/i.test(value)) return
    throw new AppError('sql_forbidden', 'Secrets are never shown')
  }
  if (TAKEN_SETTINGS.has(name)) return
  const hint = `SET @${name} = … sets a variable`
  throw new AppError('sql_forbidden', `Setting ${name} cannot be changed in SQL; ${hint}`)
}

/** The value of an expression, or of a SELECT of one value. */
async function evaluate(
  expression: string,
  { db, params }: StatementRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<BoundValue> {
  const request = { sql: `SELECT ${enclosed(expression)}`, database: db, params }
  try {
    return boundValue(await singleValue(await runComposedSelect(request, deps, signal)))
  } catch (error) {
    const isFailure = error instanceof AppError && error.code === 'sql_failed'
    throw isFailure && NO_SINGLE_VALUE.test(error.message) ? noSingleValue(error) : error
  }
}

/** DuckDB's words for it. */
const NO_SINGLE_VALUE = /More than one row returned by a subquery|Subquery returns \d+ columns/

function noSingleValue(cause?: unknown): AppError {
  return new AppError('sql_failed', 'A variable takes one value: one row of one column', { cause })
}

/** @throws AppError `sql_failed` for several values, or none */
async function singleValue({ columns, batches }: RowStream): Promise<ResultValue> {
  const values: ResultValue[] = []
  for await (const rows of batches) {
    for (const [value = null] of rows) values.push(value)
    if (values.length > 1) break
  }
  const [value] = values
  if (columns.length === 1 && values.length === 1 && value !== undefined) return value
  throw noSingleValue()
}

/** What has parts of its own is kept as JSON text. */
function boundValue(value: ResultValue): BoundValue {
  if (Array.isArray(value)) return value.map(boundValue)
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
