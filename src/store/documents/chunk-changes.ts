/**
 * Applies an UPDATE to stored chunks within its transaction. New metadata is written in place. A
 * chunk with new text becomes a new row with the old ids, so that text and vector indexes see one
 * removal and one addition.
 */

import type { Row } from '../../core/domain/document.ts'
import {
  areAlike,
  type ChunkChange,
  chunkFacts,
  type DocumentChange,
  type EmbeddedChunk,
  mergedMetadata,
  type TermCounts,
  withoutNulled,
} from '../../core/domain/document.ts'
import { nameKey } from '../../core/domain/names.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { type Analyzer, countTerms, type Term } from '../../core/text/analyzer.ts'
import {
  type ChunkRow,
  chunkMetadata,
  type Incoming,
  rowsOfDocument,
  sameDimensions,
  unitOf,
  withFacts,
} from './chunk-rows.ts'
import { SeenColumns, valuesByKey } from './metadata-columns.ts'
import { MetadataUpdate, readMetadata, type StoredMetadata } from './stored-metadata.ts'
import { type OpenTables, replaceChunkRows } from './write-chunk-rows.ts'

/** Look up this many keys or ids at a time, because binding them blocks the main thread. */
const LOOKUP_SIZE = 2_000

/** Yield to other work after this many rows. */
const ROWS_PER_TURN = 256

export interface Changed {
  /** The number of changed chunks, or of all chunks in the changed documents. */
  readonly chunkCount: number
  readonly newRows: readonly ChunkRow[]
  readonly removedKeys: readonly bigint[]
  /** Existing chunks whose metadata may have changed. */
  readonly rewrittenKeys: readonly bigint[]
}

/** Updates these chunks, except those deleted in the meantime. */
export async function changeChunkRows(
  tables: OpenTables,
  changes: readonly PreparedChunk[],
): Promise<Changed> {
  const update = await MetadataUpdate.begin(tables, changes)
  const rows: ChunkRow[] = []
  const removedKeys: bigint[] = []
  const rewrittenKeys: bigint[] = []
  let chunkCount = 0
  for (const some of lookupBatches(changes)) {
    const byKey = new Map(some.map((change) => [change.chunkKey, change]))
    const stored = await readMetadata(tables, 'chunk_key', [...byKey.keys()])
    chunkCount += stored.length
    const staying: StoredMetadata[] = []
    for (const chunk of stored) {
      const { metadata = {}, text = null } = byKey.get(chunk.chunkKey) ?? {}
      const changed = { ...chunk, own: mergedMetadata(chunk.own, metadata) }
      if (text === null) {
        staying.push(changed)
        rewrittenKeys.push(chunk.chunkKey)
        continue
      }
      removedKeys.push(chunk.chunkKey)
      rows.push({ ...changedRow(changed), ...text, layout: null })
    }
    await update.add(staying)
  }
  await update.finish()
  await replaceChunkRows(tables, rows, removedKeys)
  return { chunkCount, newRows: rows, removedKeys, rewrittenKeys }
}

function changedRow({ documentId, chunkId, standard, own }: StoredMetadata) {
  const metadata = chunkMetadata(standard, own)
  const values = withFacts(chunkFacts(standard), valuesByKey(own))
  return { documentId, chunkId, metadata, values, rowIndex: null }
}

/** Updates these documents, except those deleted in the meantime. @throws StaleVectors */
export async function changeDocumentRows(
  tables: OpenTables,
  changes: readonly DocumentChange[],
): Promise<Changed & { readonly documentCount: number }> {
  const update = await MetadataUpdate.begin(tables, changes)
  const rows: ChunkRow[] = []
  const removedKeys: bigint[] = []
  const rewrittenKeys: bigint[] = []
  let documentCount = 0
  for (const some of lookupBatches(changes)) {
    const values = some.map(({ documentId }) => documentId)
    const chunks = await readMetadata(tables, 'document_id', values)
    const stored = Map.groupBy(chunks, ({ documentId }) => documentId)
    for (const change of some) {
      const parts = changedParts(change, stored.get(change.documentId) ?? [])
      if (parts.isChanged) documentCount += 1
      removedKeys.push(...parts.removedKeys)
      rewrittenKeys.push(...parts.staying.map(({ chunkKey }) => chunkKey))
      for (const row of parts.rows) {
        rows.push(row)
        if (rows.length % ROWS_PER_TURN === 0) await yieldToEventLoop()
      }
      await update.add(parts.staying)
    }
  }
  await update.finish()
  await replaceChunkRows(tables, rows, removedKeys)
  const chunkCount = rewrittenKeys.length + rows.length
  return { documentCount, chunkCount, newRows: rows, removedKeys, rewrittenKeys }
}

/** Adds none for a document that was deleted or changed since it was read. */
function changedParts(change: DocumentChange, stored: readonly StoredMetadata[]) {
  const [first] = stored
  const isThere = first !== undefined && hasReadKeys(change, stored)
  if (!isThere) return { isChanged: false, removedKeys: [], staying: [], rows: [] }
  const columns = new Set(change.columns.map(nameKey))
  const isReplaced = ({ standard }: StoredMetadata) => {
    return columns.has(nameKey(String(standard.content_column)))
  }
  const document = {
    id: change.documentId,
    rowIndex: Number(first.standard.original_row_index),
    metadata: changedMetadata(first.own, change),
  }
  return {
    isChanged: true,
    removedKeys: stored.filter(isReplaced).map(({ chunkKey }) => chunkKey),
    staying: stored
      .filter((chunk) => !isReplaced(chunk))
      .map((chunk) => ({ ...chunk, own: changedMetadata(chunk.own, change) })),
    rows: rowsOfDocument(document, change.chunks),
  }
}

function hasReadKeys(
  { readKeys }: Pick<DocumentChange, 'readKeys'>,
  stored: readonly StoredMetadata[],
): boolean {
  if (readKeys === undefined) return true
  const keys = new Set(readKeys)
  if (keys.size !== stored.length) return false
  // The chunk's metadata may have changed since it was read, but not its key.
  return (
    stored.every(({ chunkKey }) => keys.has(chunkKey)) && areAlike(stored.map(({ own }) => own))
  )
}

function changedMetadata(own: Row, { metadata, nullRemoves }: DocumentChange): Row {
  const merged = mergedMetadata(own, metadata)
  return nullRemoves === true ? withoutNulled(merged, metadata) : merged
}

function* lookupBatches<T>(items: readonly T[]): Generator<readonly T[], void> {
  for (let start = 0; start < items.length; start += LOOKUP_SIZE) {
    yield items.slice(start, start + LOOKUP_SIZE)
  }
}

/** An UPDATE with new texts, prepared before its transaction begins. */

type PreparedText = Pick<ChunkRow, 'content' | 'vector' | 'terms' | 'context' | 'isCut'>

interface PreparedChunk {
  readonly chunkKey: bigint
  readonly metadata: Row
  /** The new text, or null if it does not change. */
  readonly text: PreparedText | null
}

export interface Prepared<T> {
  readonly changes: readonly T[]
  readonly incoming: Incoming
}

/** Yield to other work after this many prepared changes. */
const CHANGES_PER_TURN = 2_000

/** Embeds the new texts of an UPDATE. @throws AppError `provider_failed`, `dimension_mismatch` */
export async function preparedChunks(
  changes: readonly ChunkChange[],
  analyzer: Analyzer,
): Promise<Prepared<PreparedChunk>> {
  const seen = new SeenColumns()
  const prepared: PreparedChunk[] = []
  let dimensions: number | null = null
  for (const { chunkKey, content, metadata = {} } of changes) {
    seen.add(metadata)
    let text: PreparedText | null = null
    if (content !== undefined) {
      const vector = unitOf({ kind: 'new', vector: content.vector }, `with the key ${chunkKey}`)
      dimensions = sameDimensions(dimensions, content.vector.length)
      const wellFormed = content.text.toWellFormed()
      const { context = '', isCut = false } = content
      const terms = await countedTerms([context, wellFormed], analyzer)
      text = { content: wellFormed, vector, terms, context, isCut }
    }
    prepared.push({ chunkKey, metadata, text })
    if (prepared.length % CHANGES_PER_TURN === 0) await yieldToEventLoop()
  }
  return { changes: prepared, incoming: { metadata: seen, dimensions } }
}

/** Counts terms, yielding to other work because texts may be long. */
async function countedTerms(texts: readonly string[], analyzer: Analyzer): Promise<TermCounts> {
  const pieces: (readonly Term[])[] = []
  for (const text of texts) {
    for (const terms of analyzer.terms(text)) {
      pieces.push(terms)
      if (pieces.length > 2) await yieldToEventLoop()
    }
  }
  return countTerms(pieces, analyzer.language)
}

/** @throws AppError `provider_failed`, `dimension_mismatch` */
export async function preparedDocuments(
  changes: readonly DocumentChange[],
): Promise<Prepared<DocumentChange>> {
  const seen = new SeenColumns()
  const prepared: DocumentChange[] = []
  let dimensions: number | null = null
  for (const change of changes) {
    seen.add(change.metadata)
    for (const { chunk } of change.chunks) if (chunk.facts !== undefined) seen.add(chunk.facts)
    const chunks: EmbeddedChunk[] = []
    for (const chunk of change.chunks) {
      const vector = unitOf(chunk.vector, chunk.chunk.chunkId)
      if (vector.kind === 'new') dimensions = sameDimensions(dimensions, vector.vector.length)
      chunks.push({ ...chunk, vector })
    }
    prepared.push({ ...change, documentId: change.documentId.toWellFormed(), chunks })
    if (prepared.length % CHANGES_PER_TURN === 0) await yieldToEventLoop()
  }
  return { changes: prepared, incoming: { metadata: seen, dimensions } }
}
