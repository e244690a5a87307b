/** The row of a knowledge base, which each write to its chunks reads and writes. */
import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBValue } from '@duckdb/node-api'
import { eq, getTableColumns } from 'drizzle-orm'
import { quote } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { bound, queriesOver } from './catalog-queries.ts'
import type { CatalogState } from './catalog-state.ts'
import { knowledgeBases } from './schema.ts'

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
 * the catalog that it became: whatever else changes the row puts another one there.
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
   * The row takes the place of the one with its id. Not an UPDATE: after one, DuckDB's log cannot move into the file while
   * anybody reads, and grows.
   */
  async write(connection: DuckDBConnection, row: KnowledgeBaseRow): Promise<void> {
    const isGone = async () => {
      const { remove } = await this.#prepared(connection)
      remove.bind([row.id])
      return (await remove.run()).rowsChanged === 1
    }
    if (!(await isGone())) {
      // A plan may rest on what was stored when it was made.
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
