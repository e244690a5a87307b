/** Statements that are prepared once per connection: for one row, planning takes most of the time. */
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  type DuckDBConnection,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type DuckDBType,
  VARCHAR,
} from '@duckdb/node-api'
import { quote } from '../../core/domain/names.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'

const STATEMENTS_MAX = 100

const PREPARED = new WeakMap<DuckDBConnection, LruMap<string, DuckDBPreparedStatement>>()

/** bigint is bound as BIGINT, a number as DOUBLE. */
export type Cell = bigint | number | string | boolean

const TYPES = { bigint: BIGINT, number: DOUBLE, string: VARCHAR, boolean: BOOLEAN } as const

function typeOfCell(cell: Cell): DuckDBType {
  // `typeof` of a cell is one of these names.
  return TYPES[typeof cell as keyof typeof TYPES]
}

/** One caller at a time. With values of other types, DuckDB plans again. */
export async function runPrepared(
  connection: DuckDBConnection,
  sql: string,
  values: readonly Cell[] = [],
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
  if (values.length > 0) statement.bind([...values], values.map(typeOfCell))
  return statement.run()
}

/** Plans the statement again at its next run. */
export function forgetPrepared(connection: DuckDBConnection, sql: string): void {
  PREPARED.get(connection)?.delete(sql)
}

/** An appender needs longer to plan. @param cells by column; DuckDB casts them */
export async function insertRow(
  connection: DuckDBConnection,
  table: string,
  cells: readonly (readonly [column: string, cell: Cell | null])[],
): Promise<void> {
  const values: Cell[] = []
  const parameters = cells.map(([, cell]) => {
    if (cell === null) return 'NULL'
    values.push(cell)
    return oneRow(values.length, typeOfCell(cell))
  })
  const columns = cells.map(([column]) => quote(column)).join(', ')
  const sql = `INSERT INTO ${table} (${columns}) SELECT ${parameters.join(', ')}`
  await runPrepared(connection, sql, values)
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

/** DuckDB computes a cast of a plain parameter while planning, so plans again each time. */
export function oneRow(number: number, type: DuckDBType | string): string {
  return `unnest([$${number}::${type}])`
}
