/** What is stored of documents, found by their ids. */
import {
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api'
import { chunkTables, type StoredChunkText, type TableIds } from '../../core/domain/chunk.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'

/** The texts of all chunks of these documents, of one at least. */
export async function storedTexts(
  connection: DuckDBConnection,
  ids: TableIds,
  documentIds: readonly string[],
): Promise<readonly StoredChunkText[]> {
  const { chunks, contexts } = chunkTables(ids)
  const { condition, values, types } = withIds(documentIds)
  // Such a join reads the text of every chunk, those of other documents too: only where it is of use.
  const there = `SELECT 1 FROM ${chunks} WHERE ${condition} LIMIT 1`
  const found = await connection.runAndReadAll(there, values, types)
  if (found.currentRowCount === 0) return []
  const sql = `SELECT c.chunk_key, document_id, chunk_content, coalesce(context, '')
    FROM ${chunks} AS c LEFT JOIN ${contexts} AS x ON x.chunk_key = c.chunk_key
    WHERE ${condition} ORDER BY c.chunk_key`
  const texts: StoredChunkText[] = []
  const result = await connection.stream(sql, values, types)
  for await (const data of result) {
    for (const [chunkKey, documentId, content, context] of data.getRows()) {
      texts.push({
        chunkKey: BigInt(String(chunkKey)),
        documentId: String(documentId),
        content: String(content),
        context: String(context),
      })
    }
    await yieldToEventLoop()
  }
  return texts
}

/** The keys of all chunks of these documents. */
export async function keysOfDocuments(
  connection: DuckDBConnection,
  ids: TableIds,
  documentIds: readonly string[],
): Promise<readonly bigint[]> {
  if (documentIds.length === 0) return []
  const { condition, values, types } = withIds(documentIds)
  const sql = `SELECT chunk_key FROM ${chunkTables(ids).chunks} WHERE ${condition}`
  const reader = await connection.runAndReadAll(sql, values, types)
  return reader.getRows().map(([key]) => BigInt(String(key)))
}

/** Ids are compared within the scan, which takes a fifth of the time of a join; so many at most. */
const LISTED_IDS_MAX = 16

/** A condition on `document_id`, and what is bound to it. */
function withIds(documentIds: readonly string[]) {
  const ids = documentIds.map((id) => id.toWellFormed())
  if (ids.length > LISTED_IDS_MAX) {
    const values: Record<string, DuckDBValue> = { ids: listValue(ids) }
    const types: Record<string, DuckDBType> = { ids: LIST(VARCHAR) }
    return { condition: 'document_id IN (SELECT unnest($ids))', values, types }
  }
  const named = ids.map((id, index) => [`id${index}`, id] as const)
  const values: Record<string, DuckDBValue> = Object.fromEntries(named)
  const types: Record<string, DuckDBType> = {}
  for (const [name] of named) types[name] = VARCHAR
  const condition = `document_id IN (${named.map(([name]) => `$${name}`).join(', ')})`
  return { condition, values, types }
}
