import { BIGINT, type DuckDBConnection, LIST, listValue } from '@duckdb/node-api'
import { chunkTables } from '../../domain/chunk-tables.ts'
import type { MetadataColumn } from '../../domain/knowledge-base.ts'
import type { ChunkRow } from './chunk-rows.ts'
import { appendChunks, appendVectors, type KeyedRow } from './chunk-writer.ts'
import { appendKeywords } from './keyword-index.ts'
import { removeChunkRows, type StoredTables } from './remove-chunk-rows.ts'

/** The tables of a knowledge base within a write, ready for its rows. */
export interface OpenTables extends StoredTables {
  readonly connection: DuckDBConnection
  /** All metadata columns that the chunks have values for. */
  readonly columns: readonly MetadataColumn[]
  /** Of the first new chunk. */
  readonly nextChunkKey: number
}

/** Thrown within a write to undo it: a stored vector that was to be taken over is gone. */
export class StaleVectors extends Error {}

/** Chunks that come for chunks that go, with their vectors and terms. @throws StaleVectors */
export async function replaceChunkRows(
  tables: OpenTables,
  {
    rows,
    removedKeys,
  }: { readonly rows: readonly ChunkRow[]; readonly removedKeys: readonly bigint[] },
): Promise<void> {
  const { connection, columns } = tables
  const firstKey = BigInt(tables.nextChunkKey)
  const keyed = rows.map((row, index) => ({ key: firstKey + BigInt(index), row }))
  await takeOverVectors(tables, keyed)
  await removeChunkRows(connection, tables, removedKeys)
  await appendChunks(connection, tables, { keyed, columns })
  await appendVectors(connection, tables, keyed)
  const terms = keyed.map(({ key, row }) => ({ key, terms: row.terms }))
  await appendKeywords(connection, tables, terms)
}

/** Copies vectors of stored chunks to the new rows with the same text. */
async function takeOverVectors(tables: OpenTables, keyed: readonly KeyedRow[]): Promise<void> {
  const newKeys: bigint[] = []
  const oldKeys: bigint[] = []
  for (const { key, row } of keyed) {
    if (row.vector.kind === 'new') continue
    newKeys.push(key)
    oldKeys.push(row.vector.chunkKey)
  }
  if (newKeys.length === 0) return
  if (tables.dimensions === null) throw new StaleVectors()
  const { vectors } = chunkTables(tables)
  const result = await tables.connection.run(
    `INSERT INTO ${vectors} SELECT taken.new_key, v.vector
      FROM (SELECT unnest($new_keys) AS new_key, unnest($old_keys) AS old_key) AS taken
      JOIN ${vectors} AS v ON v.chunk_key = taken.old_key`,
    { new_keys: listValue(newKeys), old_keys: listValue(oldKeys) },
    { new_keys: LIST(BIGINT), old_keys: LIST(BIGINT) },
  )
  if (result.rowsChanged < newKeys.length) throw new StaleVectors()
}
