import { requireProject } from '../../domain/catalog-snapshot.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import type { SessionStatement } from '../../sql/statements/session-statements.ts'
import { FILES_DATABASE } from '../name-scope.ts'
import type { QueryDeps } from '../query-deps.ts'
import { done, type StatementRequest } from './statement-request.ts'

export async function runSessionStatement(
  { statement }: StatementRequest<SessionStatement>,
  deps: QueryDeps,
): Promise<QueryResult> {
  const { database } = statement
  if (database.toLowerCase() === FILES_DATABASE) return done(FILES_DATABASE)
  return done(requireProject(deps.catalog.snapshot(), database).name)
}
