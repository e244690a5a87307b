import {
  findAgent,
  findKnowledgeBase,
  findTable,
  findView,
  knowledgeBasesOf,
  refuseToWrite,
  requireProject,
  tablesOf,
} from '../../domain/catalog-snapshot.ts'
import { nameKey } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { FILES_DATABASE, type Project, type ProjectTable } from '../../domain/project.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { RowStatement } from '../../sql/dialect/parse-rows.ts'
import type { QualifiedName } from '../../sql/dialect/statement-reader.ts'
import { nearestName } from '../../sql/lexer/did-you-mean.ts'
import { INFORMATION_SCHEMA } from '../information-schema/information-schema.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import {
  done,
  type KnowledgeBaseRequest,
  type StatementRequest,
} from '../select/statement-request.ts'
import { isInBackground, runWaitedInsert, startBackgroundInsert } from './background-insert.ts'
import { changeTableRows } from './change-table-rows.ts'
import { matchingChunks } from './matching-chunks.ts'
import { updateRows } from './update-rows.ts'

/** INSERT, UPDATE and DELETE; `affected_rows` counts documents, or the chunks that were changed or deleted. */
export async function runRowStatement(
  request: StatementRequest<RowStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  const { project, table, kb } = changeable(statement.table, db, deps)
  if (table !== undefined) return changeTableRows({ ...request, project }, deps, signal)
  refuseForKnowledgeBase(statement)
  switch (statement.kind) {
    case 'insert':
      if (isInBackground(statement)) {
        return startBackgroundInsert({ ...request, statement, kb }, deps, signal)
      }
      return runWaitedInsert({ ...request, statement, kb }, deps, signal)
    case 'update':
      return done(db, await updateRows({ ...request, statement, kb }, deps, signal))
    case 'delete':
      return done(db, await deleteRows({ ...request, statement, kb }, deps, signal))
    case 'truncate':
      throw new AppError('sql_not_supported', `TRUNCATE is for tables; use DELETE FROM ${kb.name}`)
  }
}

/** @throws AppError `sql_not_supported` for what only tables have */
function refuseForKnowledgeBase(statement: RowStatement): void {
  const isOfTable =
    statement.kind === 'insert'
      ? statement.ofTable !== undefined
      : statement.kind !== 'truncate' && (statement.from ?? statement.returning) !== null
  if (!isOfTable) return
  const parts = 'RETURNING, ON CONFLICT, FROM, USING and aliases of an INSERT'
  const message = `${parts} are for tables, and ${statement.table.name} is a knowledge base`
  throw new AppError('sql_not_supported', message)
}

/** Removes exactly the chunks that its WHERE found. @returns how many were still there */
async function deleteRows(
  request: KnowledgeBaseRequest<Extract<RowStatement, { kind: 'delete' }>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<number> {
  const keys: bigint[] = []
  for await (const chunks of matchingChunks(request, deps, signal)) {
    for (const { chunkKey } of chunks) keys.push(chunkKey)
  }
  return keys.length === 0 ? 0 : deps.chunks.removeChunks(request.kb, keys)
}

type Changeable = { readonly project: Project } & (
  | { readonly table: ProjectTable; readonly kb?: undefined }
  | { readonly table?: undefined; readonly kb: KnowledgeBase }
)

/**
 * @throws AppError `project_not_found`, `knowledge_base_not_found` with the nearest name, `sql_not_supported` for
 * another relation
 */
function changeable(
  { project: qualifier, name }: QualifiedName,
  db: string,
  deps: QueryDeps,
): Changeable {
  const snapshot = deps.catalog.snapshot()
  const database = qualifier ?? db
  if (nameKey(database) === FILES_DATABASE) throw notChangeable(`${FILES_DATABASE}.${name}`)
  if (nameKey(database) === INFORMATION_SCHEMA) throw notChangeable(`${database}.${name}`)
  refuseToWrite(snapshot, database)
  const project = requireProject(snapshot, database)
  const kb = findKnowledgeBase(snapshot, project, name)
  if (kb !== undefined) return { project, kb }
  const table = findTable(snapshot, project, name)
  if (table !== undefined) return { project, table }
  const isOther = [findView, findAgent].some((find) => find(snapshot, project, name) !== undefined)
  if (isOther) throw notChangeable(name)
  const known = [...knowledgeBasesOf(snapshot, project), ...tablesOf(snapshot, project)]
  const nearest = nearestName(
    name,
    known.map((one) => one.name),
  )
  const hint = nearest === undefined ? '' : `. Did you mean "${nearest}"?`
  const message = `Knowledge base does not exist: ${name}${hint}`
  throw new AppError('knowledge_base_not_found', message)
}

function notChangeable(name: string): AppError {
  const message = `"${name}" is not a knowledge base or table: only those have rows to change`
  return new AppError('sql_not_supported', message)
}
