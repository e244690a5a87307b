/**
 * Rows that a table still stores though they were deleted. DuckDB 1.5.5 gives back those of a table without an index at a
 * checkpoint during which nobody reads, and those of a table with a primary key never. So such a table is rebuilt.
 */
import type { DuckDBConnection } from '@duckdb/node-api'
import { literal, quote } from '../../domain/identifier.ts'
import { definition } from './keyword-columns.ts'

export interface TableName {
  readonly schema: string
  readonly table: string
}

export interface TableRows extends TableName {
  /** With the deleted ones. */
  readonly stored: number
  readonly live: number
}

const NEW_TABLE = 'eider_rebuilt'

/** The tables that store at least so many rows. */
export async function storedRows(
  connection: DuckDBConnection,
  storedMin: number,
): Promise<readonly (TableName & { readonly stored: number })[]> {
  const reader = await connection.runAndReadAll(
    `SELECT schema_name, table_name, estimated_size FROM duckdb_tables()
      WHERE NOT internal AND NOT temporary AND estimated_size >= ${storedMin}`,
  )
  return reader.getRows().map(([schema, table, stored]) => {
    return { schema: String(schema), table: String(table), stored: Number(stored) }
  })
}

/** How many rows can be read; null: the table is gone. */
export async function liveRows(
  connection: DuckDBConnection,
  table: TableName,
): Promise<number | null> {
  try {
    const reader = await connection.runAndReadAll(`SELECT count(*) FROM ${fullName(table)}`)
    return Number(reader.getRows()[0]?.[0] ?? 0)
  } catch (error) {
    if (error instanceof Error && /^Catalog Error: Table/.test(error.message)) return null
    throw error
  }
}

/** Of the blocks of the database file, 0 to 1. */
export async function freeShare(connection: DuckDBConnection): Promise<number> {
  const reader = await connection.runAndReadAll(
    `SELECT free_blocks / greatest(total_blocks, 1) FROM pragma_database_size()
      WHERE database_name = current_database()`,
  )
  return Number(reader.getRows()[0]?.[0] ?? 0)
}

/**
 * Within a write: the table is made anew with its rows in their order. Whoever reads sees the old one until the commit.
 * @returns its rows before; null: it is gone
 */
export async function rebuild(
  connection: DuckDBConnection,
  table: TableName,
): Promise<TableRows | null> {
  const reader = await connection.runAndReadAll(
    `SELECT sql, comment, estimated_size FROM duckdb_tables()
      WHERE schema_name = $schema AND table_name = $table AND NOT temporary`,
    { schema: table.schema, table: table.table },
  )
  const [row] = reader.getRows()
  if (row === undefined) return null
  const [sql, comment, stored] = row
  const live = (await liveRows(connection, table)) ?? 0
  const fresh = { schema: table.schema, table: NEW_TABLE }
  await connection.run(`CREATE TABLE ${fullName(fresh)} ${definition(table.table, String(sql))}`)
  await connection.run(`INSERT INTO ${fullName(fresh)} SELECT * FROM ${fullName(table)}`)
  await connection.run(`DROP TABLE ${fullName(table)}`)
  await connection.run(`ALTER TABLE ${fullName(fresh)} RENAME TO ${quote(table.table)}`)
  if (typeof comment === 'string') {
    await connection.run(`COMMENT ON TABLE ${fullName(table)} IS ${literal(comment)}`)
  }
  return { ...table, stored: Number(stored), live }
}

function fullName({ schema, table }: TableName): string {
  return `${quote(schema)}.${quote(table)}`
}
