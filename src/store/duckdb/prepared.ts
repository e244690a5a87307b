/** Statements that are prepared once per connection: for one row, planning takes most of the time. */
import {
  type DuckDBConnection,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api'
import { quote } from '../../core/domain/names.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'

const STATEMENTS_MAX = 100

const PREPARED = new WeakMap<DuckDBConnection, LruMap<string, DuckDBPreparedStatement>>()

/** Bound as text, which DuckDB casts to the type of its column. */
export type Cell = bigint | number | string | boolean | null

/**
 * The cells of one row, as `cells[1]` and so on. Planned once, and for many cells in half the time
 * of a parameter each. A cast of a plain parameter is computed while planning, so each time.
 */
export const ONE_ROW = 'FROM (SELECT unnest([$1::VARCHAR[]]) AS cells)'

/** One caller at a time. @param cells for a statement with `ONE_ROW` */
export async function runPrepared(
  connection: DuckDBConnection,
  sql: string,
  cells: readonly Cell[] = [],
): Promise<DuckDBMaterializedResult> {
  let statements = PREPARED.get(connection)
  if (statements === undefined) {
    statements = new LruMap({ sizeMax: STATEMENTS_MAX })
    PREPARED.set(connection, statements)
  }
  let statement = statements.get(sql)
  if (statement === undefined) {
    statement = await connection.prepare(sql)
    statements.set(sql, statement)
  }
  if (cells.length > 0) statement.bind([listValue(cells.map(cellText))], [LIST(VARCHAR)])
  return statement.run()
}

/** Plans the statement again at its next run. */
export function forgetPrepared(connection: DuckDBConnection, sql: string): void {
  PREPARED.get(connection)?.delete(sql)
}

function cellText(cell: Cell): string | null {
  if (cell === null) return null
  return Object.is(cell, -0) ? '-0' : String(cell)
}

/** An appender needs longer to plan. */
export async function insertRow(
  connection: DuckDBConnection,
  table: string,
  cells: readonly (readonly [column: string, cell: Cell])[],
): Promise<void> {
  const columns = cells.map(([column]) => quote(column)).join(', ')
  const values = cells.map((_, index) => `cells[${index + 1}]`).join(', ')
  const sql = `INSERT INTO ${table} (${columns}) SELECT ${values} ${ONE_ROW}`
  await runPrepared(
    connection,
    sql,
    cells.map(([, cell]) => cell),
  )
}

/**
 * For several inserts in one transaction: DuckDB 1.5 loses the rows of an INSERT … SELECT of a whole
 * row group that follows one without rows.
 * @param rows from the FROM on
 */
export async function insertFound(
  connection: DuckDBConnection,
  table: string,
  rows: string,
  order = '',
): Promise<void> {
  const found = await allRows(connection, `SELECT 1 ${rows} LIMIT 1`)
  if (found.length === 0) return
  await connection.run(`INSERT INTO ${table} SELECT * ${rows} ${order}`)
}
