import {
  findQualified,
  requireDatabase,
  requireView,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { View } from '../../core/domain/names.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import type { QueryResult, ResultValue, RowStream } from '../../core/domain/query-result.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import type {
  EvaluateAgentStatement,
  EvaluateStatement,
  IndexStatement,
  ViewStatement,
} from '../../sql/dialect/object-statements.ts'
import type { SessionStatement, Setting, Statement } from '../../sql/dialect/parse-statement.ts'
import type { SourceSelect } from '../../sql/dialect/source-select.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { createVectorIndex, dropVectorIndex } from '../definitions/define-database.ts'
import { runEvaluateStatement } from '../evaluate/run-evaluate.ts'
import { rowsSql, schemaColumns } from '../information-schema/schema-table.ts'
import { runQueryControl } from '../rows/background-insert.ts'
import { runRowStatement } from '../rows/run-row-statement.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { done, type StatementRequest } from '../select/statement-request.ts'
import { alterView, createView, enclosed, runComposedSelect } from '../select/views.ts'
import {
  runAgentStatement,
  runDatabaseStatement,
  runJobStatement,
} from '../statements/run-definition.ts'
import { runExplainStatement } from '../statements/run-explain.ts'
import {
  findKnowledgeBaseNamed,
  requireKnowledgeBaseNamed,
  runKnowledgeBaseStatement,
  runSourceStatement,
} from '../statements/run-knowledge-base.ts'
import { runShowStatement } from '../statements/run-show.ts'
import { runTableStatement } from '../statements/run-table.ts'
import { narrowedSelect, type Shown } from '../statements/show-select.ts'

export async function runStatement(
  request: StatementRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement } = request
  if (isEvaluation(statement)) return runEvaluateStatement({ ...request, statement }, deps, signal)
  switch (statement.kind) {
    case 'create_knowledge_base':
    case 'alter_knowledge_base':
    case 'drop_knowledge_base':
    case 'describe_knowledge_base':
      return runKnowledgeBaseStatement({ ...request, statement }, deps, signal)
    case 'sources':
      return runSourceStatement({ ...request, statement }, deps)
    case 'create_index':
    case 'drop_index':
    case 'show_indexes':
      return runIndexStatement({ ...request, statement }, deps, signal)
    case 'create_agent':
    case 'alter_agent':
    case 'drop_agent':
    case 'describe_agent':
      return runAgentStatement({ ...request, statement }, deps)
    case 'create_database':
    case 'alter_database':
    case 'drop_database':
    case 'describe_database':
      return runDatabaseStatement({ ...request, statement }, deps, signal)
    case 'create_job':
    case 'drop_job':
      return runJobStatement({ ...request, statement }, deps)
    case 'create_view':
    case 'alter_view':
    case 'drop_view':
      return runViewStatement({ ...request, statement }, deps, signal)
    case 'create_table':
    case 'alter_table':
    case 'drop_table':
    case 'vacuum':
      return runTableStatement({ ...request, statement }, deps, signal)
    case 'query_cancel':
    case 'query_resume':
      return runQueryControl({ ...request, statement }, deps, signal)
    case 'insert':
    case 'update':
    case 'delete':
    case 'truncate':
      return runRowStatement({ ...request, statement }, deps, signal)
    case 'show':
    case 'show_create':
    case 'describe':
      return runShowStatement({ ...request, statement }, deps, signal)
    case 'explain':
      return runExplainStatement({ ...request, statement }, deps, signal)
    default:
      return runSessionStatement({ ...request, statement }, deps, signal)
  }
}

type Evaluation = EvaluateAgentStatement | EvaluateStatement

function isEvaluation(statement: Statement): statement is Evaluation {
  return statement.kind === 'evaluate_agent' || statement.kind === 'evaluate_knowledge_base'
}

async function runSessionStatement(
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
      // Set last: each expression uses the values from before the statement, and a failure changes
      // nothing.
      deps.variables.set(values)
      return done(db)
    }
  }
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

// CREATE, ALTER and DROP of views.

async function runViewStatement(
  request: StatementRequest<ViewStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  const view = findViewNamed(statement.name, db, deps)
  const { name, project } = statement.name
  const known = () => requireView(deps.catalog.snapshot(), project ?? db, name)
  switch (statement.kind) {
    case 'create_view': {
      if (view !== undefined && statement.ifNotExists) return done(db)
      await createViewOf({ ...request, statement }, deps, signal)
      return done(db)
    }
    case 'alter_view': {
      const definition = viewDefinition(statement.source, db)
      await alterView(known(), definition, deps, signal)
      return done(db)
    }
    case 'drop_view':
      if (view !== undefined || !statement.ifExists) await deps.catalog.dropView(known())
      return done(db)
  }
}

async function createViewOf(
  { statement, db }: StatementRequest<Extract<ViewStatement, { kind: 'create_view' }>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<void> {
  const { name, source, orReplace, ifNotExists } = statement
  const named = { project: name.project ?? db, name: name.name }
  try {
    await createView({ ...named, ...viewDefinition(source, db), orReplace }, deps, signal)
  } catch (error) {
    const isTaken = hasCode(error, 'relation_exists')
    // Another statement created it in the meantime.
    if (ifNotExists && isTaken && findViewNamed(name, db, deps) !== undefined) return
    throw error
  }
}

function viewDefinition({ select, database }: SourceSelect, db: string) {
  return { sql: select, database: database ?? db }
}

function findViewNamed(name: QualifiedName, db: string, deps: QueryDeps): View | undefined {
  const snapshot = deps.catalog.snapshot()
  return findQualified(snapshot, snapshot.views, name.project ?? db, name.name)
}

// CREATE INDEX, DROP INDEX and SHOW INDEX ON a knowledge base.

async function runIndexStatement(
  { statement, db, params }: StatementRequest<IndexStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  switch (statement.kind) {
    case 'create_index': {
      const kb = requireKnowledgeBaseNamed(statement.knowledgeBase, db, deps)
      await createVectorIndex(kb, statement.options, deps)
      return done(db)
    }
    case 'drop_index':
      return dropIndex(statement, db, deps)
    case 'show_indexes': {
      const { knowledgeBase, narrowing } = statement
      const shown = shownIndexes(
        knowledgeBase && requireKnowledgeBaseNamed(knowledgeBase, db, deps),
        deps,
      )
      const select = { sql: narrowedSelect(shown, narrowing), database: db, params }
      const rows = await runComposedSelect(select, deps, signal)
      return { kind: 'table', rows, context: { db } }
    }
  }
}

async function dropIndex(
  { knowledgeBase, ifExists }: IndexStatement & { readonly kind: 'drop_index' },
  db: string,
  deps: QueryDeps,
): Promise<QueryResult> {
  const kb = ifExists
    ? findKnowledgeBaseNamed(knowledgeBase, db, deps)
    : requireKnowledgeBaseNamed(knowledgeBase, db, deps)
  if (kb !== undefined && kb.vectorIndex !== null) await dropVectorIndex(kb, deps)
  else if (!ifExists) {
    const message = `The knowledge base ${knowledgeBase.name} has no index of its own: Eider chooses`
    throw new AppError('index_not_found', message)
  }
  return done(db)
}

const INDEX_COLUMNS = schemaColumns('project knowledge_base type state vectors:BIGINT detail')

function shownIndexes(kb: KnowledgeBase | null, deps: QueryDeps): Shown {
  const states = deps.indexes.states().filter(({ project, knowledgeBase }) => {
    return kb === null || (project === kb.projectName && knowledgeBase === kb.name)
  })
  const rows = states.map((shown) => {
    const { project, knowledgeBase: knowledge_base, type, state, vectorCount, detail } = shown
    return { project, knowledge_base, type, state, vectors: vectorCount, detail }
  })
  return { sql: rowsSql(INDEX_COLUMNS, rows), likeColumn: 'knowledge_base' }
}
