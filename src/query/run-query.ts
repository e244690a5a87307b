import { requireProject } from '../domain/catalog-snapshot.ts'
import type { QueryResult } from '../domain/query-result.ts'
import { parseStatement, type Statement } from '../sql/statements.ts'
import { tokenize } from '../sql/tokens.ts'
import { runStatement } from './catalog-statements.ts'
import { FILES_DATABASE } from './name-scope.ts'
import type { QueryDeps } from './query-deps.ts'
import { type Parameters, runSelect } from './run-select.ts'

export interface QueryRequest {
  readonly sql: string
  /** `context.db` of the request: a project, or `files`. */
  readonly db: string
  readonly params: Parameters
}

/**
 * Runs one statement of a client: one of the dialect's own, or a SELECT. Nothing is remembered between requests.
 * @throws AppError for every failure of the statement
 */
export async function runQuery(
  request: QueryRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  if (request.db.toLowerCase() !== FILES_DATABASE) {
    requireProject(deps.catalog.snapshot(), request.db)
  }
  const statement = dialectStatement(request.sql)
  if (statement !== undefined) return runStatement(statement, request.db, deps)
  const { sql, db: database, params } = request
  const rows = await runSelect({ sql, database, params }, deps, signal)
  return { kind: 'table', rows, context: { db: request.db } }
}

/** A statement with backslash escapes may not even be cut into tokens in the standard way. */
function dialectStatement(sql: string): Statement | undefined {
  try {
    return parseStatement(sql, tokenize(sql))
  } catch (error) {
    if (!sql.includes("\\'")) throw error
    return parseStatement(sql, tokenize(sql, 'backslash'))
  }
}
