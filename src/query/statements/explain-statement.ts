import type { AgentAnswers } from '../../domain/ports.ts'
import type { QueryResult } from '../../domain/query-result.ts'
import type { ExplainStatement } from '../../sql/statements/explain-statement.ts'
import type { QueryDeps } from '../query-deps.ts'
import { limitsOf, prepareSelect } from '../run-select.ts'
import type { StatementRequest } from './statement-request.ts'

/**
 * DuckDB's own plan (`explain_key`, `explain_value`) of the SELECT as it runs: searches, views and agents in it are
 * sub-queries there.
 */
export async function runExplainStatement(
  { statement, db, params }: StatementRequest<ExplainStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const request = { sql: statement.select, database: db, params }
  const quiet = statement.isAnalyzed ? deps : { ...deps, agents: NO_AGENTS }
  const { statement: select } = await prepareSelect(request, quiet, signal)
  const explain = statement.isAnalyzed ? 'EXPLAIN ANALYZE' : 'EXPLAIN'
  const explained = { ...select, sql: `${explain} ${select.sql}` }
  const rows = await deps.engine.run(explained, limitsOf(deps), signal)
  return { kind: 'table', rows, context: { db } }
}

/** To see a plan nobody needs to be asked. */
const NO_AGENTS: AgentAnswers = {
  ask: async () => ({ content: '', traceId: '', citations: [] }),
}
