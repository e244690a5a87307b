/**
 * What an UPDATE does to stored chunks, within its transaction. New metadata is written in place; a chunk with a new text
 * is a new row with the old one's ids: whatever is derived from texts and vectors sees one go and one come.
 */
import { mergedMetadata } from '../../domain/chunk.ts'
import { nameKey } from '../../domain/identifier.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import { type ChunkRow, chunkMetadata, rowsOfDocument } from './chunk-rows.ts'
import { valuesByKey } from './metadata-columns.ts'
import { MetadataUpdate } from './metadata-update.ts'
import type { PreparedChunk, PreparedDocument } from './prepared-changes.ts'
import { type OpenTables, replaceChunkRows } from './replace-chunk-rows.ts'
import { type StoredMetadata, storedMetadata } from './stored-metadata.ts'

/** Keys or ids that are looked up at once: binding them holds the main thread. */
const LOOKUP_SIZE = 2_000

/** Rows that are made between two looks at what else waits. */
const ROWS_PER_TURN = 256

export interface Changed {
  /** Chunks that were changed, or that the changed documents have now. */
  readonly chunkCount: number
  readonly newRowCount: number
  readonly removedKeys: readonly bigint[]
}

/** Changes those of the chunks that are there. */
export async function changeChunkRows(
  tables: OpenTables,
  changes: readonly PreparedChunk[],
): Promise<Changed> {
  const update = await MetadataUpdate.begin(tables, changes)
  const rows: ChunkRow[] = []
  const removedKeys: bigint[] = []
  let chunkCount = 0
  for (const some of batchesOf(changes)) {
    const byKey = new Map(some.map((change) => [change.chunkKey, change]))
    const stored = await storedMetadata(tables, { column: 'chunk_key', values: [...byKey.keys()] })
    chunkCount += stored.length
    const kept: StoredMetadata[] = []
    for (const chunk of stored) {
      const { metadata = {}, text = null } = byKey.get(chunk.chunkKey) ?? {}
      const changed = { ...chunk, own: mergedMetadata(chunk.own, metadata) }
      if (text === null) {
        kept.push(changed)
        continue
      }
      removedKeys.push(chunk.chunkKey)
      rows.push({ ...changedRow(changed), ...text })
    }
    await update.add(kept)
  }
  await update.finish()
  await replaceChunkRows(tables, { rows, removedKeys })
  return { chunkCount, newRowCount: rows.length, removedKeys }
}

function changedRow({ documentId, chunkId, standard, own }: StoredMetadata) {
  const metadata = chunkMetadata(standard, own)
  return { documentId, chunkId, metadata, values: valuesByKey(own) }
}

/** Changes those of the documents that are there. @throws StaleVectors */
export async function changeDocumentRows(
  tables: OpenTables,
  changes: readonly PreparedDocument[],
): Promise<Changed> {
  const update = await MetadataUpdate.begin(tables, changes)
  const rows: ChunkRow[] = []
  const removedKeys: bigint[] = []
  let keptCount = 0
  for (const some of batchesOf(changes)) {
    const values = some.map(({ documentId }) => documentId)
    const chunks = await storedMetadata(tables, { column: 'document_id', values })
    const stored = Map.groupBy(chunks, ({ documentId }) => documentId)
    for (const change of some) {
      const parts = partsOf(change, stored.get(change.documentId) ?? [])
      removedKeys.push(...parts.removedKeys)
      keptCount += parts.kept.length
      for (const row of parts.rows) {
        rows.push(row)
        if (rows.length % ROWS_PER_TURN === 0) await yieldToEventLoop()
      }
      await update.add(parts.kept)
    }
  }
  await update.finish()
  await replaceChunkRows(tables, { rows, removedKeys })
  return { chunkCount: keptCount + rows.length, newRowCount: rows.length, removedKeys }
}

/** What goes, what stays and what comes. Of a document that is gone, nothing comes. */
function partsOf(change: PreparedDocument, stored: readonly StoredMetadata[]) {
  const [first] = stored
  if (first === undefined) return { removedKeys: [], kept: [], rows: [] }
  const columns = new Set(change.columns.map(nameKey))
  const isReplaced = ({ standard }: StoredMetadata) => {
    return columns.has(nameKey(String(standard.content_column)))
  }
  const document = {
    id: change.documentId,
    rowIndex: Number(first.standard.original_row_index),
    metadata: mergedMetadata(first.own, change.metadata),
  }
  return {
    removedKeys: stored.filter(isReplaced).map(({ chunkKey }) => chunkKey),
    kept: stored
      .filter((chunk) => !isReplaced(chunk))
      .map((chunk) => ({ ...chunk, own: mergedMetadata(chunk.own, change.metadata) })),
    rows: rowsOfDocument(document, change.chunks),
  }
}

function* batchesOf<T>(items: readonly T[]): Generator<readonly T[], void> {
  for (let start = 0; start < items.length; start += LOOKUP_SIZE) {
    yield items.slice(start, start + LOOKUP_SIZE)
  }
}
