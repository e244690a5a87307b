/** Stored chunks, and the rows that take their places when an UPDATE changes them. */
import { type DuckDBConnection, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import {
  type ChunkChange,
  ownMetadata,
  STANDARD_METADATA_KEYS,
  type StoredChunk,
} from '../domain/chunk.ts'
import { chunkTables, type TableIds } from '../domain/chunk-tables.ts'
import type { Row } from '../domain/document.ts'
import { nameKey } from '../domain/identifier.ts'
import type { TermReader } from '../search/keyword/term-reader.ts'
import {
  type ChunkRow,
  type ChunkRows,
  jsonText,
  metadataText,
  sameDimensions,
  unitOf,
} from './chunk-rows.ts'
import { TermCounter } from './chunk-terms.ts'
import { yieldToEventLoop } from './event-loop.ts'
import { valuesByKey } from './metadata-columns.ts'

/** @param where a condition over the chunks and `$ids`, a list of texts */
export async function readChunks(
  connection: DuckDBConnection,
  ids: TableIds,
  { where, ids: wanted }: { readonly where: string; readonly ids: readonly string[] },
): Promise<readonly StoredChunk[]> {
  const sql = `SELECT chunk_key, document_id, chunk_id, chunk_content, metadata::VARCHAR
    FROM ${chunkTables(ids).chunks} WHERE ${where} ORDER BY chunk_key`
  const values = { ids: listValue(wanted.map((id) => id.toWellFormed())) }
  const result = await connection.stream(sql, values, { ids: LIST(VARCHAR) })
  const chunks: StoredChunk[] = []
  for await (const data of result) {
    for (const [chunkKey, documentId, chunkId, content, metadata] of data.getRows()) {
      chunks.push({
        chunkKey: BigInt(String(chunkKey)),
        documentId: String(documentId),
        chunkId: String(chunkId),
        content: String(content),
        // Written by this program: an object.
        metadata: JSON.parse(String(metadata)) as Row,
      })
    }
    await yieldToEventLoop()
  }
  return chunks
}

/**
 * A changed chunk is a new row with the old one's ids: whatever is derived from the tables sees one go and one come.
 * @throws AppError `provider_failed`, `dimension_mismatch`
 */
export async function changedRows(
  stored: readonly StoredChunk[],
  changes: ReadonlyMap<bigint, ChunkChange>,
  reader: TermReader,
): Promise<Pick<ChunkRows, 'rows' | 'metadata' | 'dimensions'>> {
  const terms = new TermCounter(reader)
  const rows: ChunkRow[] = []
  const metadata: Row[] = []
  let dimensions: number | null = null
  for (const chunk of stored) {
    const { content, metadata: changed = {} } = changes.get(chunk.chunkKey) ?? {}
    const own = merged(ownMetadata(chunk.metadata), changed)
    const text = content?.text.toWellFormed() ?? chunk.content
    const vector =
      content === undefined
        ? ({ kind: 'stored', chunkKey: chunk.chunkKey } as const)
        : unitOf({ kind: 'new', vector: content.vector }, chunk.chunkId)
    if (vector.kind === 'new') dimensions = sameDimensions(dimensions, vector.vector.length)
    metadata.push(own)
    rows.push({
      documentId: chunk.documentId,
      chunkId: chunk.chunkId,
      content: text,
      metadata: `${jsonText(standardPart(chunk.metadata)).slice(0, -1)}${metadataText(own)}}`,
      values: valuesByKey(own),
      vector,
      terms: await terms.count(text),
    })
  }
  return { rows, metadata, dimensions }
}

function standardPart(metadata: Row): Row {
  return Object.fromEntries(
    Object.entries(metadata).filter(([key]) => STANDARD_METADATA_KEYS.has(key)),
  )
}

/** Names are compared without case; the stored spelling stays. */
function merged(stored: Row, changed: Row): Row {
  const keys = new Map(Object.keys(stored).map((name) => [nameKey(name), name]))
  const entries = Object.entries(changed).map(([name, value]) => {
    return [keys.get(nameKey(name)) ?? name, value] as const
  })
  return { ...stored, ...Object.fromEntries(entries) }
}
