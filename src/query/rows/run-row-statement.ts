import {
  findAgent,
  findKnowledgeBase,
  findTable,
  findView,
  knowledgeBasesOf,
  refuseToWrite,
  requireProject,
} from '../../domain/catalog-snapshot.ts'
import { nameKey } from '../../domain/identifier.ts'
import { FILES_DATABASE } from '../../domain/project.ts'
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
import { matchingChunks } from './matching-chunks.ts'
import { updateRows } from './update-rows.ts'

/** INSERT, UPDATE and DELETE; `affected_rows` counts documents, or the chunks that were changed or deleted. */
export async function runRowStatement(
  request: StatementRequest<RowStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  const kb = changeableKnowledgeBase(statement.table, db, deps)
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
  }
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

/**
 * @throws AppError `project_not_found`, `knowledge_base_not_found` with the nearest name, `sql_not_supported` for
 * another relation
 */
function changeableKnowledgeBase(
  { project: qualifier, name }: QualifiedName,
  db: string,
  deps: QueryDeps,
) {
  const snapshot = deps.catalog.snapshot()
  const database = qualifier ?? db
  if (nameKey(database) === FILES_DATABASE) throw notAKnowledgeBase(`${FILES_DATABASE}.${name}`)
  if (nameKey(database) === INFORMATION_SCHEMA) throw notAKnowledgeBase(`${database}.${name}`)
  refuseToWrite(snapshot, database)
  const project = requireProject(snapshot, database)
  const kb = findKnowledgeBase(snapshot, project, name)
  if (kb !== undefined) return kb
  const isOther = [findView, findTable, findAgent].some((find) => {
    return find(snapshot, project, name) !== undefined
  })
  if (isOther) throw notAKnowledgeBase(name)
  const names = knowledgeBasesOf(snapshot, project).map((known) => known.name)
  const nearest = nearestName(name, names)
  const hint = nearest === undefined ? '' : `. Did you mean "${nearest}"?`
  const message = `Knowledge base does not exist: ${name}${hint}`
  throw new AppError('knowledge_base_not_found', message)
}

function notAKnowledgeBase(name: string): AppError {
  const message = `"${name}" is not a knowledge base: only those have rows to change`
  return new AppError('sql_not_supported', message)
}
