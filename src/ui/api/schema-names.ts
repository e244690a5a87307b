/** What SQL can name, for the editor's completion and the list beside it. */
import { runSql } from './sql.ts'

export interface NamedTable {
  readonly schema: string
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

/** All tables, knowledge bases, views and files with their columns. @throws ApiError, SqlError */
export async function readTableNames(signal?: AbortSignal): Promise<readonly NamedTable[]> {
  const sql = `SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema <> 'information_schema' ORDER BY ALL LIMIT 20000`
  const { rows } = await runSql({ sql, signal })
  const tables = Map.groupBy(rows, ([schema, name]) => `${schema}\u0000${name}`)
  return [...tables.values()].map((columns) => ({
    schema: String(columns[0]?.[0]),
    name: String(columns[0]?.[1]),
    columns: columns.map((row) => ({ name: String(row[2]), type: String(row[3]) })),
  }))
}
