import { requireDatabase } from '../../core/domain/access/catalog-snapshot.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import type { QueryResult, ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import type { Setting, Statement } from '../../sql/dialect/parse-statement.ts'
import { runEvaluateAgent } from '../evaluate/evaluate-agent.ts'
import { evaluateKnowledgeBase } from '../evaluate/run-evaluate.ts'
import { runQueryControl } from '../rows/background-insert.ts'
import { runRowStatement } from '../rows/run-row-statement.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { RunOf, Runs, StatementRequest } from '../select/statement-request.ts'
import { enclosed, runComposedSelect } from '../select/views.ts'
import { DEFINITION_RUNS } from '../statements/run-definition.ts'
import { runExplainStatement } from '../statements/run-explain.ts'
import { KNOWLEDGE_BASE_RUNS } from '../statements/run-knowledge-base.ts'
import { runShowStatement } from '../statements/run-show.ts'
import { runTableStatement, runVacuum } from '../statements/run-table.ts'

const RUNS: Runs = {
  ...DEFINITION_RUNS,
  ...KNOWLEDGE_BASE_RUNS,
  create_table: runTableStatement,
  alter_table: runTableStatement,
  drop_table: runTableStatement,
  vacuum: runVacuum,
  insert: runRowStatement,
  update: runRowStatement,
  delete: runRowStatement,
  truncate: runRowStatement,
  query_cancel: runQueryControl,
  query_resume: runQueryControl,
  show: runShowStatement,
  show_create: runShowStatement,
  describe: runShowStatement,
  explain: runExplainStatement,
  evaluate_agent: runEvaluateAgent,
  evaluate_knowledge_base: evaluateKnowledgeBase,
  use: async ({ statement: { database } }, { catalog }) => {
    return { db: requireDatabase(catalog.snapshot(), database) }
  },
  transaction: async () => ({}),
  set: async (request, deps, signal) => {
    const { settings, variables } = request.statement
    for (const setting of settings) checkSetting(setting)
    const values = new Map<string, BoundValue>()
    for (const { name, value } of variables) {
      values.set(name, await evaluate(value, request, deps, signal))
    }
    // Set last: each expression uses the values from before the statement, and a failure changes
    // nothing.
    deps.variables.set(values)
    return {}
  },
}

export async function runStatement(
  request: StatementRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  // The compiler does not see that the kind determines the rest of the statement.
  const run = RUNS[request.statement.kind] as RunOf<Statement>
  const { rows, db = request.db, ...changed } = await run(request, deps, signal)
  const context = { db }
  if (rows !== undefined) return { kind: 'table', rows, context }
  return { kind: 'ok', affectedRows: null, ...changed, context }
}

/** Settings that clients send when they connect. They are accepted but have no effect. */
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

/** Evaluates an expression, or a SELECT that returns a single value. */
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
    const isFailure = hasCode(error, 'sql_failed')
    throw isFailure && NO_SINGLE_VALUE.test(error.message) ? noSingleValue(error) : error
  }
}

/** DuckDB's messages for a subquery with more than one row or column. */
const NO_SINGLE_VALUE = /More than one row returned by a subquery|Subquery returns \d+ columns/

function noSingleValue(cause?: unknown): AppError {
  return new AppError('sql_failed', 'A variable takes one value: one row of one column', { cause })
}

/** @throws AppError `sql_failed` if there is not exactly one value */
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

/** Structured values are stored as JSON text. */
function boundValue(value: ResultValue): BoundValue {
  if (Array.isArray(value)) return value.map(boundValue)
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
