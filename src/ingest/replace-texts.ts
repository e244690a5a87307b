import type { Chunk, DocumentChange, EmbeddedDocument } from '../domain/chunk.ts'
import type { Row } from '../domain/document.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { ChunkStore, EmbedderRegistry } from '../domain/ports.ts'
import { withModelInForce } from '../domain/reembedding.ts'
import { AppError } from '../errors.ts'
import { TimeSlice } from '../runtime/scheduling.ts'
import { chunksOf } from './chunking/chunker.ts'
import { type ChunkedDocument, embedAndWrite } from './embed-documents.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'

/** New texts of one document's content columns, and values of metadata columns over those that are stored. */
export interface NewTexts {
  readonly documentId: string
  /** Content column → its text, which is not empty. */
  readonly texts: ReadonlyMap<string, string>
  readonly metadata: Row
}

/**
 * Replaces texts of stored documents, all in one transaction: the columns are cut and embedded anew, everything else of
 * a document stays as it is by then. Documents that are gone stay gone. Ids must be distinct.
 * @returns how many chunks the documents have now
 * @throws AppError `insert_failed` for too many chunks, those of the embedder and the store
 */
export async function replaceTexts(
  { kb, changes }: { readonly kb: KnowledgeBase; readonly changes: readonly NewTexts[] },
  deps: {
    readonly chunks: ChunkStore
    readonly embedders: Pick<EmbedderRegistry, 'embedder'>
  },
  signal: AbortSignal,
): Promise<number> {
  const documents = await cutDocuments(kb, changes, signal)
  const outcome = await withModelInForce(kb, (inForce) => {
    const write = (embedded: readonly EmbeddedDocument[]) => {
      return deps.chunks.changeDocuments(inForce, embedded.map(documentChange))
    }
    return embedAndWrite({ kb: inForce, documents, write }, deps, signal)
  })
  if (outcome.kind === 'stored') return outcome.chunkCount
  throw new Error('stale without a stored vector')
}

function documentChange({ document, chunks }: EmbeddedDocument): DocumentChange {
  return {
    documentId: document.id,
    columns: document.texts.map(({ column }) => column),
    metadata: document.metadata,
    chunks,
  }
}

async function cutDocuments(
  kb: KnowledgeBase,
  changes: readonly NewTexts[],
  signal: AbortSignal,
): Promise<readonly ChunkedDocument[]> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const documents: ChunkedDocument[] = []
  let chunkCount = 0
  for (const { documentId: id, texts, metadata } of changes) {
    const columns = [...texts].map(([column, text]) => ({ column, text }))
    // The store knows the row's place in its insert.
    const document = { id, rowIndex: 0, texts: columns, metadata }
    const chunks: Chunk[] = []
    for (const chunk of chunksOf(document, kb.preprocessing)) {
      if (slice.isSpent) await slice.yieldIfSpent(signal)
      if (chunk === null) continue
      chunks.push(chunk)
      chunkCount += 1
      if (chunkCount > INGEST_LIMITS.sourceChunksMax) throw tooManyChunks()
    }
    const known = new Set(chunks.map(({ contentColumn }) => contentColumn))
    if (columns.some(({ column }) => !known.has(column))) throw withoutChunks(id)
    documents.push({ document, chunks })
  }
  return documents
}

/** A list of nothing, where JSON is cut: the column would be gone. */
function withoutChunks(id: string): AppError {
  return new AppError('insert_failed', `The new content of document ${id} is empty`)
}

function tooManyChunks(): AppError {
  const limit = `at most ${INGEST_LIMITS.sourceChunksMax} chunks are changed at once`
  return new AppError('insert_failed', `${limit}; narrow the WHERE`)
}
