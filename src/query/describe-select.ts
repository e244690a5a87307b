import type { AgentAnswers } from '../domain/ports.ts'
import type { RelationColumn } from '../domain/view.ts'
import { AppError } from '../errors.ts'
import { excerptAt } from '../sql/placed-error.ts'
import { tokenize } from '../sql/tokens.ts'
import type { QueryDeps } from './query-deps.ts'
import { limitsOf, prepareSelect } from './run-select.ts'
import { withPlace } from './unknown-column.ts'

/**
 * Checks one SELECT as it would run and gives its columns; nothing of it is run and no agent is asked.
 * @throws AppError as for running it; `sql_not_supported` where it has parameters or variables
 */
export async function describeSelect(
  { sql, database }: { readonly sql: string; readonly database: string },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly RelationColumn[]> {
  checkHasNoParameters(sql)
  const quiet = { ...deps, agents: NO_AGENTS }
  return withPlace(sql, deps.catalog.snapshot(), async () => {
    const { statement } = await prepareSelect({ sql, database, params: {} }, quiet, signal)
    const empty = { ...statement, sql: `SELECT * FROM (${statement.sql}) LIMIT 0` }
    const { columns, batches } = await deps.engine.run(empty, limitsOf(deps), signal)
    // Read to its end, which frees the connection.
    for await (const _ of batches);
    return columns.map(({ name, type }) => ({ name, type }))
  })
}

/** @throws AppError `sql_not_supported` */
function checkHasNoParameters(sql: string): void {
  const parameter = tokenize(sql).find(({ kind }) => kind === 'parameter')
  if (parameter === undefined) return
  const message = `What is stored has no parameters and no variables, but here is ${parameter.text}`
  const excerpt = excerptAt(sql, [...sql.slice(0, parameter.start)].length)
  throw new AppError('sql_not_supported', message, { excerpt })
}

const NO_AGENTS: AgentAnswers = {
  ask: async () => ({ content: '', traceId: '', citations: [] }),
}
