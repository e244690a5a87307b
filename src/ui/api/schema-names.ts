/** What SQL can name, for the editor's completion and the list beside it. */
import type { SQL_FUNCTION } from '../../http/answers/records/server-schemas.ts'
import type { Wire } from '../../http/openapi/schema-words.ts'
import { request } from './request.ts'
import { runSql } from './sql.ts'

export interface NamedTable {
  readonly schema: string
  readonly name: string
  /** `KNOWLEDGE BASE`, `AGENT`, `VIEW`, `BASE TABLE`. */
  readonly kind: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

type SqlFunction = Wire<typeof SQL_FUNCTION>

/** All tables, knowledge bases, views and files with their columns. @throws ApiError, SqlError */
export async function readTableNames(signal?: AbortSignal): Promise<readonly NamedTable[]> {
  const sql = `SELECT c.table_schema, c.table_name, c.column_name, c.data_type, t.table_type
FROM information_schema.columns c JOIN information_schema.tables t
  ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema <> 'information_schema'
ORDER BY c.table_schema, c.table_name, c.ordinal_position LIMIT 20000`
  const { rows } = await runSql({ sql, signal })
  const tables = Map.groupBy(rows, ([schema, name]) => `${schema}\u0000${name}`)
  return [...tables.values()].map((columns) => ({
    schema: String(columns[0]?.[0]),
    name: String(columns[0]?.[1]),
    kind: String(columns[0]?.[4]),
    columns: columns.map((row) => ({ name: String(row[2]), type: String(row[3]) })),
  }))
}

/** Every function that a statement may call. @throws ApiError */
export function readFunctions(signal?: AbortSignal): Promise<readonly SqlFunction[]> {
  return request('/api/sql/functions', { signal })
}
