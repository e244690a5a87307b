/**
 * The data file itself says whether a log belongs to it: from start to stop it holds an empty schema, so that a file that was
 * copied without log and mark is noticed. A schema, as backups copy tables.
 */
import type { DuckDBConnection } from '@duckdb/node-api'

export const LOG_EXPECTED = 'eider_log_expected'

export async function expectsLog(connection: DuckDBConnection): Promise<boolean> {
  const sql = `SELECT 1 FROM duckdb_schemas() WHERE schema_name = '${LOG_EXPECTED}'`
  return (await connection.runAndReadAll(sql)).currentRowCount > 0
}

/** In the file, and not in its log. */
export async function expectLog(connection: DuckDBConnection): Promise<void> {
  // After a crash it still does.
  if (await expectsLog(connection)) return
  await connection.run(`CREATE SCHEMA ${LOG_EXPECTED}`)
  await connection.run('CHECKPOINT')
}

/** Before the checkpoint of a stop. */
export async function expectNoLog(connection: DuckDBConnection): Promise<void> {
  await connection.run(`DROP SCHEMA IF EXISTS ${LOG_EXPECTED}`)
}
