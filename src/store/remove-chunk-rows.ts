import { BIGINT, type DuckDBConnection, LIST, listValue } from '@duckdb/node-api'
import { chunkTables, type TableIds } from '../domain/chunk-tables.ts'
import { removeKeywords } from './keyword-index.ts'

export interface StoredTables extends TableIds {
  /** null: there is no table of vectors yet. */
  readonly dimensions: number | null
}

/**
 * Removes chunks with their vectors and terms, within the caller's transaction.
 * @returns how many of the chunks were there
 */
export async function removeChunkRows(
  connection: DuckDBConnection,
  tables: StoredTables,
  chunkKeys: readonly bigint[],
): Promise<number> {
  if (chunkKeys.length === 0) return 0
  const { chunks, vectors } = chunkTables(tables)
  const remove = (table: string) => {
    return connection.run(
      `DELETE FROM ${table} WHERE chunk_key IN (SELECT unnest($keys))`,
      { keys: listValue(chunkKeys) },
      { keys: LIST(BIGINT) },
    )
  }
  if (tables.dimensions !== null) await remove(vectors)
  await removeKeywords(connection, tables, chunkKeys)
  const { rowsChanged } = await remove(chunks)
  return rowsChanged
}
