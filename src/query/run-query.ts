import { requireProject } from '../domain/catalog-snapshot.ts'
import type { QueryResult } from '../domain/query-result.ts'
import { parseStatement, type Statement } from '../sql/dialect/parse-statement.ts'
import { type SelectWithOptions, takeUsingOptions } from '../sql/dialect/written-select.ts'
import { type Token, tokenize, withoutClosingSemicolons } from '../sql/lexer/tokens.ts'
import type { QueryDeps } from './query-deps.ts'
import { runStatement } from './run-statement.ts'
import { FILES_DATABASE } from './select/name-scope.ts'
import { type Parameters, runSelect } from './select/run-select.ts'

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
  if (statement !== undefined) {
    return runStatement({ statement, db: request.db, params: request.params }, deps, signal)
  }
  const { db: database, params } = request
  const { sql, options } = selectWithOptions(request.sql)
  const rows = await runSelect({ sql, options, database, params }, deps, signal)
  return { kind: 'table', rows, context: { db: request.db } }
}

export function dialectStatement(sql: string): Statement | undefined {
  return withTokens(sql, (tokens) => parseStatement(sql, tokens))
}

export function selectWithOptions(sql: string): SelectWithOptions {
  return withTokens(sql, (tokens) => takeUsingOptions(sql, withoutClosingSemicolons(tokens)))
}

/** A statement with backslash escapes may not even be cut into tokens in the standard way. */
function withTokens<T>(sql: string, read: (tokens: readonly Token[]) => T): T {
  try {
    return read(tokenize(sql))
  } catch (error) {
    if (!sql.includes("\\'")) throw error
    return read(tokenize(sql, 'backslash'))
  }
}
