import { type DuckDBConnection, DuckDBTimestampValue, type DuckDBValue } from '@duckdb/node-api'
import { eq, sql } from 'drizzle-orm'
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import { notFound } from '../../core/errors.ts'
import { timestampOf } from '../../core/time.ts'
import { agents, counters, dataSources, files, tables, views } from './schema.ts'

export type CatalogQueries = PgRemoteDatabase<Record<string, never>>

/** Typed queries over one connection, within whatever transaction it has open. */
export function queriesOver(connection: DuckDBConnection): CatalogQueries {
  return drizzle(async (sql, params, method) => {
    const reader = await connection.runAndReadAll(sql, params.map(bound))
    const rows = reader.getRows().map((row) => row.map(unbound))
    return {
      rows: method === 'execute' ? rows.map((row) => namedRow(reader.columnNames(), row)) : rows,
    }
  })
}

type Counted =
  | 'project'
  | 'knowledge_base'
  | 'agent'
  | 'file'
  | 'view'
  | 'table'
  | 'data_source'
  | 'job'
  | 'key'
  | 'user'
  | 'schedule'
  | 'schedule_run'
  | 'source'
  | 'source_run'

/** An id that nothing else of this kind has or ever had. Only within a write. */
export async function nextId(queries: CatalogQueries, kind: Counted): Promise<number> {
  // Not RETURNING: with it DuckDB deletes and inserts the row, and a COMMIT that then fails ends the process.
  await queries
    .update(counters)
    .set({ nextValue: sql`next_value + 1` })
    .where(eq(counters.name, kind))
  const [row] = await queries
    .select({ next: counters.nextValue })
    .from(counters)
    .where(eq(counters.name, kind))
  if (row === undefined) throw new Error(`no counter for ${kind}`)
  return row.next - 1
}

/** Deletes the row of one thing. @throws AppError `…_not_found` where another write has dropped it */
export async function deleteRow(
  connection: DuckDBConnection,
  kind: keyof typeof TABLES,
  { id, name }: { readonly id: number; readonly name: string },
): Promise<void> {
  const table = TABLES[kind]
  const dropped = await queriesOver(connection)
    .delete(table)
    .where(eq(table.id, id))
    .returning({ id: table.id })
  if (dropped.length === 0) throw notFound(kind, name)
}

const TABLES = {
  agent: agents,
  view: views,
  table: tables,
  file: files,
  database: dataSources,
} as const

function namedRow(names: readonly string[], row: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name, index) => [name, row[index]]))
}

/** A value as it is bound. */
export function bound(value: unknown): DuckDBValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  // A number without a fraction would be bound as DOUBLE otherwise, which compares worse with
  // BIGINT keys.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  throw new Error(`the catalog has no columns for a ${typeof value}`)
}

function unbound(value: DuckDBValue): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof DuckDBTimestampValue) return timestampOf(value.micros)
  return value
}
