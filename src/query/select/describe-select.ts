import type { AgentAnswers } from '../../domain/ports.ts'
import type { RelationColumn } from '../../domain/project.ts'
import { AppError } from '../../errors.ts'
import type { QueryDeps } from '../query-deps.ts'
import { NO_RERANKERS } from './reranked-values.ts'
import { limitsOf } from './run-limits.ts'
import { prepareSelect } from './run-select.ts'
import { withPlace } from './unknown-column.ts'

/**
 * Checks one SELECT as it would run and gives its columns; nothing of it is run and no agent is asked.
 * @throws AppError as for running it; `sql_not_supported` where it has parameters
 */
export async function describeSelect(
  { sql, database }: { readonly sql: string; readonly database: string },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly RelationColumn[]> {
  const quiet = { ...deps, agents: NO_AGENTS, rerankers: NO_RERANKERS }
  return withPlace(sql, deps.catalog.snapshot(), async () => {
    const { statement } = await withoutParameters(() => {
      return prepareSelect({ sql, database, params: {} }, quiet, signal)
    })
    const empty = { ...statement, sql: `SELECT * FROM (${statement.sql}) LIMIT 0` }
    const { columns, batches } = await deps.engine.run(empty, limitsOf(deps), signal)
    // Read to its end, which frees the connection.
    for await (const _ of batches);
    return columns.map(({ name, type }) => ({ name, type }))
  })
}

async function withoutParameters<T>(prepare: () => Promise<T>): Promise<T> {
  try {
    return await prepare()
  } catch (error) {
    const isParameter = error instanceof AppError && error.code === 'sql_missing_parameter'
    if (!isParameter) throw error
    const message = `${error.message}: what is stored has no parameters`
    throw new AppError('sql_not_supported', message, { cause: error })
  }
}

const NO_AGENTS: AgentAnswers = {
  ask: async () => ({ content: '', traceId: '', citations: [] }),
}
