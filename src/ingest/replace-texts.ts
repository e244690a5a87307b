import { type Chunk, type ChunkSource, ownMetadata, type StoredChunk } from '../domain/chunk.ts'
import type { Document, Row } from '../domain/document.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { ChunkStore, Embedder } from '../domain/ports.ts'
import { chunksOf } from './chunker.ts'
import { embedAndStore } from './embed-documents.ts'

/** New texts of one document's content columns, and values of metadata columns over those that are stored. */
export interface NewTexts {
  readonly documentId: string
  /** Content column → its text, which is not empty. */
  readonly texts: ReadonlyMap<string, string>
  readonly metadata: Row
}

/**
 * Replaces texts of stored documents, all in one transaction: the columns are cut and embedded anew, everything else of
 * a document stays. Documents that are gone stay gone.
 * @returns how many chunks the documents have now. @throws AppError those of the embedder and the store
 */
export async function replaceTexts(
  { kb, changes }: { readonly kb: KnowledgeBase; readonly changes: readonly NewTexts[] },
  deps: { readonly chunks: ChunkStore; readonly embedder: Embedder },
  signal: AbortSignal,
): Promise<number> {
  const ids = changes.map(({ documentId }) => documentId)
  const stored = Map.groupBy(await deps.chunks.storedChunks(kb, ids), (chunk) => chunk.documentId)
  const documents = changes.flatMap((change) => {
    const chunks = stored.get(change.documentId)
    return chunks === undefined ? [] : [changedDocument(kb, chunks, change)]
  })
  await embedAndStore({ kb, documents }, deps, signal)
  return documents.reduce((sum, { chunks }) => sum + chunks.length, 0)
}

function changedDocument(kb: KnowledgeBase, stored: readonly StoredChunk[], change: NewTexts) {
  const { documentId: id, texts } = change
  const [first] = stored
  const metadata = { ...ownMetadata(first?.metadata ?? {}), ...change.metadata }
  const rowIndex = Number(first?.metadata.original_row_index ?? 0)
  const document: Document = {
    id,
    rowIndex,
    texts: [...texts].map(([column, text]) => ({ column, text })),
    metadata,
  }
  const kept = stored.map(chunkOf).filter(({ contentColumn }) => !texts.has(contentColumn))
  const made = [...chunksOf(document, kb.preprocessing)].filter((chunk) => chunk !== null)
  return { document, chunks: [...kept, ...made] }
}

function chunkOf({ documentId, chunkId, content, metadata }: StoredChunk): Chunk {
  return {
    documentId,
    chunkId,
    content,
    contentColumn: String(metadata.content_column),
    startChar: Number(metadata.start_char),
    endChar: Number(metadata.end_char),
    chunkIndex: Number(metadata.chunk_index),
    // Written by the chunker.
    source: String(metadata.source) as ChunkSource,
  }
}
