import {
  agentsOf,
  findKnowledgeBase,
  findProject,
  knowledgeBasesOf,
  tablesOf,
  viewsOf,
} from '../../domain/catalog-snapshot.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import { nearestName } from '../../sql/nearest-name.ts'
import type { QualifiedName } from '../../sql/statements/qualified-name.ts'
import type { RowStatement } from '../../sql/statements/row-statements.ts'
import type { QueryDeps } from '../query-deps.ts'
import { deleteRows } from './delete-rows.ts'
import { insertRows } from './insert-rows.ts'
import { done, type StatementRequest } from './statement-request.ts'
import { updateRows } from './update-rows.ts'

/** INSERT, UPDATE and DELETE; `affected_rows` counts documents, or the chunks that were changed or deleted. */
export async function runRowStatement(
  request: StatementRequest<RowStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { statement, db } = request
  const kb = target(statement.table, db, deps)
  switch (statement.kind) {
    case 'insert':
      return done(db, await insertRows({ ...request, statement, kb }, deps, signal))
    case 'update':
      return done(db, await updateRows({ ...request, statement, kb }, deps, signal))
    case 'delete':
      return done(db, await deleteRows({ ...request, statement, kb }, deps, signal))
  }
}

/** @throws AppError `knowledge_base_not_found` with the nearest name, `sql_not_supported` for what is none */
function target({ project: qualifier, name }: QualifiedName, db: string, deps: QueryDeps) {
  const snapshot = deps.catalog.snapshot()
  const project = findProject(snapshot, qualifier ?? db)
  const kb = project && findKnowledgeBase(snapshot, project, name)
  if (kb !== undefined) return kb
  const others =
    project === undefined
      ? []
      : [viewsOf, tablesOf, agentsOf].flatMap((of) => of(snapshot, project).map((one) => one.name))
  if (others.some((other) => other.toLowerCase() === name.toLowerCase())) {
    throw new AppError(
      'sql_not_supported',
      `"${name}" is no knowledge base: only those have rows to change`,
    )
  }
  const known = project === undefined ? [] : knowledgeBasesOf(snapshot, project)
  const nearest = nearestName(
    name,
    known.map((one) => one.name),
  )
  const hint = nearest === undefined ? '' : `. Did you mean "${nearest}"?`
  const message = `Knowledge base does not exist: ${name}${hint}`
  throw new AppError('knowledge_base_not_found', message)
}
