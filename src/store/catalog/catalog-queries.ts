import {
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { eq, getTableColumns, sql } from 'drizzle-orm'
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import { notFound } from '../../core/errors.ts'
import { timestampOf } from '../../core/time.ts'
import type { CatalogState } from './catalog-state.ts'
import { agents, counters, dataSources, files, knowledgeBases, tables, views } from './schema.ts'

export type CatalogQueries = PgRemoteDatabase<Record<string, never>>

/** Typed queries over one connection, within the transaction it has open. */
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

/** A value for binding. */
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

// The row of a knowledge base, which each write to its chunks reads and writes.

export type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect

interface Statements {
  readonly remove: DuckDBPreparedStatement
  readonly add: DuckDBPreparedStatement
}

const KNOWN_COLUMNS = Object.entries(getTableColumns(knowledgeBases))
const TABLE = 'eider.knowledge_bases'
const REMOVE = `DELETE FROM ${TABLE} WHERE id = $1`
const ADD = `INSERT INTO ${TABLE} (${KNOWN_COLUMNS.map(([, { name }]) => quote(name)).join(', ')})
  VALUES (${KNOWN_COLUMNS.map((_, index) => `$${index + 1}`).join(', ')})`

/**
 * Rows as this process wrote them last, so that a write need not read its own again. Each belongs to the knowledge base in
 * the catalog that it became: any other change of the row puts another one there.
 */
export class KnownRows {
  readonly #rows = new WeakMap<KnowledgeBase, KnowledgeBaseRow>()
  readonly #statements = new WeakMap<DuckDBConnection, Statements>()

  /** After the commit. @param kb as the catalog has it from now on */
  remember(kb: KnowledgeBase, row: KnowledgeBaseRow): void {
    this.#rows.set(kb, row)
  }

  /** Within a turn of the write queue. `known`: as the catalog has it; null: the row was read. */
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

  /**
   * Replaces the row with its id. Not with an UPDATE: after one, DuckDB's log cannot move into the file while there are
   * readers, and grows.
   */
  async write(connection: DuckDBConnection, row: KnowledgeBaseRow): Promise<void> {
    const isGone = async () => {
      const { remove } = await this.#prepared(connection)
      remove.bind([row.id])
      return (await remove.run()).rowsChanged === 1
    }
    if (!(await isGone())) {
      // A plan may depend on the data when it was made.
      this.#statements.delete(connection)
      if (!(await isGone())) throw new Error('the row of the knowledge base is not there')
    }
    const { add } = await this.#prepared(connection)
    const values: Readonly<Record<string, unknown>> = row
    const bindings = KNOWN_COLUMNS.map(([key, column]): DuckDBValue => {
      const value = values[key] ?? null
      return value === null ? null : bound(column.mapToDriverValue(value))
    })
    add.bind(bindings)
    await add.run()
  }

  async #prepared(connection: DuckDBConnection): Promise<Statements> {
    const known = this.#statements.get(connection)
    if (known !== undefined) return known
    const statements = {
      remove: await connection.prepare(REMOVE),
      add: await connection.prepare(ADD),
    }
    this.#statements.set(connection, statements)
    return statements
  }
}
