import type { Agent } from '../../core/domain/agents/agent.ts'
import { type KnowledgeBase, sentMetadataColumns } from '../../core/domain/knowledge-base.ts'
import { literal, quote } from '../../core/domain/names.ts'
import { notFound } from '../../core/errors.ts'
import type { ShowStatement } from '../../sql/dialect/parse-show.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { SHOWN_PARAMS } from '../definitions/define-knowledge-base.ts'
import { maskedModelFields } from '../definitions/fields.ts'
import { agentOptions } from '../information-schema/object-tables.ts'
import { nameScope } from '../select/name-scope.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { Outcome, StatementRequest } from '../select/statement-request.ts'
import { runComposedSelect } from '../select/views.ts'
import { SYSTEM_VARIABLES } from '../sessions.ts'
import {
  columnsCondition,
  givenRows,
  type ShowScope,
  shownSelect,
  shownSource,
} from './show-select.ts'

/** As a SELECT over information_schema, so LIKE, WHERE, ORDER BY and LIMIT work. */
export async function runShowStatement(
  { statement, db, params }: StatementRequest<ShowStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const snapshot = deps.catalog.snapshot()
  const source = shownSource(statement, { snapshot, db })
  const { given, warnings } = await givenRows(source, snapshot, deps.sources, signal)
  const sql = selectOf(statement, { snapshot, db, source })
  const rows = await runComposedSelect({ sql, database: db, params, given }, deps, signal)
  const said = [...(rows.warnings ?? []), ...warnings]
  const answer = said.length === 0 ? rows : { ...rows, warnings: said }
  return { rows: answer }
}

function selectOf(statement: ShowStatement, scope: ShowScope): string {
  switch (statement.kind) {
    case 'show':
      return shownSelect(statement, scope)
    case 'show_create':
      return showCreateSelect(statement.name, { ...scope, isView: statement.what === 'view' })
    case 'describe':
      return describeSelect(statement.name, scope)
  }
}

/** Columns with a value in every chunk. */
const ALWAYS_SET = ['id', 'chunk_id', 'chunk_content', 'metadata'].map(literal).join(', ')

/** Readable relations, by DuckDB. An agent needs a question, and `*` shows only common columns. */
function describeSelect(name: QualifiedName, scope: ShowScope): string {
  const database = name.project ?? scope.db
  const isOfSource = scope.source !== null && scope.source !== undefined
  if (!isOfSource) {
    const relation = nameScope(scope.snapshot, database).resolve([database, name.name])
    const isNamed = relation.kind === 'agent' || relation.kind === 'knowledge_base'
    if (!isNamed) return `DESCRIBE ${quote(database)}.${quote(name.name)}`
  }
  const alwaysSet = isOfSource ? `''` : ALWAYS_SET
  return `SELECT COLUMN_NAME AS column_name, DATA_TYPE AS column_type,
      CASE WHEN COLUMN_NAME IN (${alwaysSet}) THEN 'NO' ELSE IS_NULLABLE END AS "null",
      NULL::VARCHAR AS key, NULL::VARCHAR AS "default", NULL::VARCHAR AS extra
    FROM information_schema.columns WHERE ${columnsCondition(name, scope)}`
}

/** The statement that would recreate it, without secrets. @throws AppError `view_not_found` */
function showCreateSelect(
  name: QualifiedName,
  scope: ShowScope & { readonly isView: boolean },
): string {
  const database = name.project ?? scope.db
  const path = `${quote(database)}.${quote(name.name)}`
  if (scope.source) return columnsSelect(path, 'true')
  const relation = nameScope(scope.snapshot, database).resolve([database, name.name])
  if (relation.kind === 'view') {
    return viewSelect(name.name, `CREATE VIEW ${path} AS (${relation.sql})`)
  }
  if (scope.isView) throw notFound('view', name.name)
  switch (relation.kind) {
    case 'knowledge_base':
      return tableSelect(name.name, knowledgeBaseText(relation.knowledgeBase))
    case 'agent':
      return tableSelect(name.name, agentText(relation.agent))
    case 'table':
    case 'query':
    case 'source':
      return columnsSelect(path, columnsCondition(name, scope))
  }
}

function viewSelect(name: string, text: string): string {
  const { character_set_client: charset, collation_connection: collation } = SYSTEM_VARIABLES
  return `SELECT ${literal(name)} AS "View", ${literal(text)} AS "Create View",
    ${literal(String(charset))} AS character_set_client,
    ${literal(String(collation))} AS collation_connection`
}

function tableSelect(name: string, text: string): string {
  return `SELECT ${literal(name)} AS "Table", ${literal(text)} AS "Create Table"`
}

function columnsSelect(path: string, condition: string): string {
  const column = `'  "' || replace(COLUMN_NAME, '"', '""') || '" ' || COLUMN_TYPE`
  const list = `string_agg(${column}, chr(44) || chr(10) ORDER BY ORDINAL_POSITION)`
  return `SELECT any_value(TABLE_NAME) AS "Table",
      ${literal(`CREATE TABLE ${path} (`)} || chr(10) || ${list} || chr(10) || ')' AS "Create Table"
    FROM information_schema.columns WHERE ${condition}`
}

function knowledgeBaseText(kb: KnowledgeBase): string {
  const { rerankingModel, preprocessing, params } = kb
  const settings = Object.entries(params).filter(([name]) => !SHOWN_PARAMS.has(name))
  const options = {
    embedding_model: maskedModelFields(kb.embeddingModel),
    reranking_model: rerankingModel && maskedModelFields(rerankingModel),
    content_columns: kb.contentColumns,
    metadata_columns: sentMetadataColumns(kb),
    id_column: kb.idColumn,
    preprocessing: preprocessing.sent,
    ...Object.fromEntries(settings),
  }
  const path = `${quote(kb.projectName)}.${quote(kb.name)}`
  return `CREATE KNOWLEDGE_BASE ${path}${usingText(options)}`
}

function agentText(agent: Agent): string {
  const model = agent.model && maskedModelFields(agent.model)
  const path = `${quote(agent.projectName)}.${quote(agent.name)}`
  return `CREATE AGENT ${path}${usingText({ model, ...agentOptions(agent) })}`
}

function usingText(options: Readonly<Record<string, unknown>>): string {
  const set = Object.entries(options).filter(([, value]) => value !== null && value !== undefined)
  const lines = set.map(([name, value]) => {
    return `  ${name} = ${typeof value === 'string' ? literal(value) : JSON.stringify(value)}`
  })
  return lines.length === 0 ? '' : ` USING\n${lines.join(',\n')}`
}
