import { type DuckDBConnection, DuckDBTimestampValue, type DuckDBValue } from '@duckdb/node-api'
import { eq, getTableColumns, sql } from 'drizzle-orm'
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { notFound } from '../../core/errors.ts'
import { wholeRows } from '../../core/runtime/all-rows.ts'
import { timestampOf } from '../../core/time.ts'
import { type Cell, forgetPrepared, insertRow, runPrepared } from '../duckdb/prepared.ts'
import type { CatalogState } from './catalog-state.ts'
import { agents, counters, dataSources, files, knowledgeBases, tables, views } from './schema.ts'

export type CatalogQueries = PgRemoteDatabase<Record<string, never>>

/** Typed queries over one connection, inside the transaction it has open. */
export function queriesOver(connection: DuckDBConnection): CatalogQueries {
  return drizzle(async (sql, params, method) => {
    const result = await connection.run(sql, params.map(bound))
    const rows = (await wholeRows(result)).map((row) => row.map(unbound))
    return {
      rows: method === 'execute' ? rows.map((row) => namedRow(result.columnNames(), row)) : rows,
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

/** Returns an id that was never used for this kind of object. Call it only within a write. */
export async function nextId(queries: CatalogQueries, kind: Counted): Promise<number> {
  // Without RETURNING: DuckDB would turn it into a delete plus an insert of the row, and a COMMIT
  // that fails after that ends the process.
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

/** Deletes the row of an object. @throws AppError `…_not_found` if another write has deleted it */
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

export function bound(value: unknown): Cell {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  // The driver would bind a whole number as DOUBLE, which is slow to compare with BIGINT keys.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  throw new Error(`the catalog has no columns for a ${typeof value}`)
}

function unbound(value: DuckDBValue): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof DuckDBTimestampValue) return timestampOf(value.micros)
  return value
}

// Every write to a knowledge base's chunks also reads and writes this row.

export type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect

const KNOWN_COLUMNS = Object.entries(getTableColumns(knowledgeBases))
const TABLE = 'eider.knowledge_bases'

/** As last written, so a write need not read its row. Valid for the same catalog object. */
export class KnownRows {
  readonly #rows = new WeakMap<KnowledgeBase, KnowledgeBaseRow>()

  /** Call after the commit. @param kb the catalog's object for this row */
  remember(kb: KnowledgeBase, row: KnowledgeBaseRow): void {
    this.#rows.set(kb, row)
  }

  /** In a turn of the write queue. `known` is the catalog's object, null if it was read. */
  async read(
    connection: DuckDBConnection,
    id: number,
    state: CatalogState,
  ): Promise<{ row: KnowledgeBaseRow; known: KnowledgeBase | null } | undefined> {
    const known = state.snapshot().knowledgeBases.find((kb) => kb.id === id)
    const remembered = known && this.#rows.get(known)
    if (known !== undefined && remembered !== undefined) return { row: remembered, known }
    const [row] = await queriesOver(connection)
      .select()
      .from(knowledgeBases)
      .where(eq(knowledgeBases.id, id))
    return row && { row, known: null }
  }

  /** By deleting and inserting: an UPDATE would stop DuckDB from checkpointing its log. */
  async write(connection: DuckDBConnection, row: KnowledgeBaseRow): Promise<void> {
    const remove = `DELETE FROM ${TABLE} WHERE id = ${row.id}`
    const isGone = async () => (await runPrepared(connection, remove)).rowsChanged === 1
    if (!(await isGone())) {
      // A prepared plan may depend on the data it was made with, so prepare it again.
      forgetPrepared(connection, remove)
      if (!(await isGone())) throw new Error('the row of the knowledge base is not there')
    }
    const values: Readonly<Record<string, unknown>> = row
    const cells = KNOWN_COLUMNS.map(([key, column]) => {
      const value = values[key] ?? null
      return [column.name, value === null ? null : bound(column.mapToDriverValue(value))] as const
    })
    await insertRow(connection, TABLE, cells)
  }
}
