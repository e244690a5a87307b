import type { QueryResult } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { RowStatement } from '../../sql/statements/row-statements.ts'
import type { QueryDeps } from '../query-deps.ts'
import type { StatementRequest } from './statement-request.ts'

export async function runRowStatement(
  { statement }: StatementRequest<RowStatement>,
  _deps: QueryDeps,
  _signal: AbortSignal,
): Promise<QueryResult> {
  throw new AppError('sql_not_supported', statement.kind)
}
