/** Measures the size of a knowledge base's tables in the database file. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { knowledgeBaseTablePrefix, projectSchema } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal, quote } from '../../core/domain/names.ts'
import type { StoredSize } from '../../core/domain/server-state.ts'
import type { Database } from '../duckdb/database.ts'

/** The block size of DuckDB's files. */
const DISK_BLOCK_BYTES = 262_144

type Part = 'texts' | 'vectors' | 'keywords'

export class StoredSizes {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** @returns null if the knowledge base was dropped */
  of(kb: KnowledgeBase): Promise<StoredSize | null> {
    return this.#database.lease(async (connection) => {
      try {
        return await storedSize(connection, kb, this.#database.file === null)
      } catch (error) {
        if (error instanceof Error && /^Catalog Error/.test(error.message)) return null
        throw error
      }
    })
  }
}

async function storedSize(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  isInMemory: boolean,
): Promise<StoredSize> {
  const schema = projectSchema(kb.projectId)
  if (isInMemory) return NO_BYTES
  const prefix = knowledgeBaseTablePrefix(kb)
  const tables = await connection.runAndReadAll(
    `SELECT table_name FROM duckdb_tables()
      WHERE schema_name = ${literal(schema)} AND starts_with(table_name, ${literal(prefix)})`,
  )
  const names = tables.getRows().map(([name]) => String(name))
  const blocks = await connection.runAndReadAll(names.map(tableBlocks(schema)).join(' UNION ALL '))
  const bytes: Record<Part, number> = { ...NO_BYTES }
  for (const [name, count] of blocks.getRows()) {
    bytes[tablePart(String(name).slice(prefix.length))] += Number(count) * DISK_BLOCK_BYTES
  }
  return bytes
}

const NO_BYTES: Readonly<Record<Part, number>> = { texts: 0, vectors: 0, keywords: 0 }

/**
 * Counts a table's blocks. Small columns share a block; columns that are only in the log have none.
 */
function tableBlocks(schema: string): (table: string) => string {
  return (table) => {
    const name = literal(`${quote(schema)}.${quote(table)}`)
    return `SELECT ${literal(table)}, count(DISTINCT block_id) + sum(len(additional_block_ids))
      FROM pragma_storage_info(${name}) WHERE persistent AND block_id >= 0`
  }
}

function tablePart(table: string): Part {
  if (table.startsWith('vectors')) return 'vectors'
  return /^(next_)?(recent_postings|postings|term_counts)$/.test(table) ? 'keywords' : 'texts'
}
