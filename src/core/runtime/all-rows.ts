import type { DuckDBConnection, DuckDBMaterializedResult, DuckDBValue } from '@duckdb/node-api'

type RunParameters = Parameters<DuckDBConnection['run']>

/** Returns the rows of a statement. @throws see `wholeRows` */
export async function allRows(
  connection: DuckDBConnection,
  ...statement: RunParameters
): Promise<DuckDBValue[][]> {
  return wholeRows(await connection.run(...statement))
}

/** Returns the rows of a statement in batches. @throws see `wholeRows` */
export async function* rowBatches(
  connection: DuckDBConnection,
  ...statement: RunParameters
): AsyncGenerator<DuckDBValue[][], void, void> {
  const result = await connection.run(...statement)
  let count = 0
  for await (const rows of result.yieldRows()) {
    count += rows.length
    yield rows
  }
  checkWhole(result, count)
}

/** @throws DuckDB's error for lack of memory if some rows cannot be read */
export async function wholeRows(result: DuckDBMaterializedResult): Promise<DuckDBValue[][]> {
  const rows = await result.getRows()
  checkWhole(result, rows.length)
  return rows
}

/** Without memory for the next rows, the library ends as if it had read all. */
function checkWhole(result: DuckDBMaterializedResult, count: number): void {
  if (count < result.rowCount) throw new Error('std::bad_alloc')
}
