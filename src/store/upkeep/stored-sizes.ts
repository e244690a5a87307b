/** Measures the size of a knowledge base's tables in the database file. */

import { knowledgeBaseTablePrefix, projectSchema } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal, quote } from '../../core/domain/names.ts'
import type { StoredSize } from '../../core/domain/server-state.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import type { Database } from '../duckdb/database.ts'

/** The block size of DuckDB's files. */
const DISK_BLOCK_BYTES = 262_144

type Part = 'texts' | 'vectors' | 'keywords'

export class StoredSizes {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * Lists the tables once, because DuckDB lists those of one knowledge base as slowly as all.
   * @returns a function that returns null if the knowledge base was dropped
   */
  async reader(): Promise<(kb: KnowledgeBase) => Promise<StoredSize | null>> {
    if (this.#database.file === null) return async () => NO_BYTES
    const listed = await this.#tables()
    // Its tables may have been renamed since.
    return async (kb) => (await this.#size(kb, listed)) ?? this.#size(kb, await this.#tables())
  }

  async #tables(): Promise<TableNames> {
    const found = await this.#database.lease((connection) => {
      return allRows(connection, 'SELECT schema_name, table_name FROM duckdb_tables()')
    })
    const names = found.map((name) => name.map(String))
    return Map.groupBy(names, ([schema, table = '']) => `${schema}.${/^kb_\d+_/.exec(table)?.[0]}`)
  }

  #size(kb: KnowledgeBase, listed: TableNames): Promise<StoredSize | null> {
    const prefix = knowledgeBaseTablePrefix(kb)
    const tables = listed.get(`${projectSchema(kb.projectId)}.${prefix}`)
    if (tables === undefined) return Promise.resolve(null)
    return this.#database.lease(async (connection) => {
      try {
        const blocks = await allRows(connection, tables.map(tableBlocks).join(' UNION ALL '))
        const bytes: Record<Part, number> = { ...NO_BYTES }
        for (const [name, count] of blocks) {
          bytes[tablePart(String(name).slice(prefix.length))] += Number(count) * DISK_BLOCK_BYTES
        }
        return bytes
      } catch (error) {
        if (error instanceof Error && /^Catalog Error/.test(error.message)) return null
        throw error
      }
    })
  }
}

/** By schema and by the prefix of a knowledge base's tables. */
type TableNames = ReadonlyMap<string, readonly (readonly string[])[]>

const NO_BYTES: Readonly<Record<Part, number>> = { texts: 0, vectors: 0, keywords: 0 }

/**
 * Counts a table's blocks. Small columns share a block; columns that are only in the log have none.
 */
function tableBlocks([schema = '', table = '']: readonly string[]): string {
  const name = literal(`${quote(schema)}.${quote(table)}`)
  return `SELECT ${literal(table)}, count(DISTINCT block_id) + sum(len(additional_block_ids))
    FROM pragma_storage_info(${name}) WHERE persistent AND block_id >= 0`
}

function tablePart(table: string): Part {
  if (table.startsWith('vectors')) return 'vectors'
  return /^(next_)?(recent_postings|postings|term_counts)$/.test(table) ? 'keywords' : 'texts'
}
