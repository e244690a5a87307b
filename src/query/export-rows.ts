import { requireProject } from '../domain/catalog-snapshot.ts'
import type { ExportedRows } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import type { QueryDeps } from './query-deps.ts'
import { dialectStatement, type QueryRequest, selectWithOptions } from './run-query.ts'
import { FILES_DATABASE } from './select/name-scope.ts'
import { limitsOf } from './select/run-limits.ts'
import { prepareSelect } from './select/run-select.ts'
import { withPlace } from './select/unknown-column.ts'
import { withReplan } from './select/with-replan.ts'

/** Runs one SELECT and gives its rows as a Parquet file. @throws AppError as for running it */
export async function exportRows(
  { sql, db, params }: QueryRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<ExportedRows> {
  const snapshot = deps.catalog.snapshot()
  if (db.toLowerCase() !== FILES_DATABASE) requireProject(snapshot, db)
  if (dialectStatement(sql) !== undefined) {
    throw new AppError('sql_not_supported', 'Only the rows of a SELECT can be answered as Parquet')
  }
  const request = { ...selectWithOptions(sql), database: db, params }
  return withPlace(sql, snapshot, () => {
    return withReplan(deps, async () => {
      const { statement } = await prepareSelect(request, deps, signal)
      return deps.engine.exportParquet(statement, limitsOf(deps), signal)
    })
  })
}
