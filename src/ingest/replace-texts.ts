import type { Chunk } from '../domain/chunk.ts'
import type { Row } from '../domain/document.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { ChunkStore, Embedder } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import { chunksOf } from './chunker.ts'
import { type ChunkedDocument, embedAndWrite } from './embed-documents.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'
import { LoopShare } from './loop-share.ts'

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
  deps: { readonly chunks: ChunkStore; readonly embedder: Embedder },
  signal: AbortSignal,
): Promise<number> {
  const documents = await cutDocuments(kb, changes, signal)
  const outcome = await embedAndWrite(
    {
      kb,
      documents,
      write: (embedded) => {
        const asked = embedded.map(({ document, chunks }) => ({
          documentId: document.id,
          columns: document.texts.map(({ column }) => column),
          metadata: document.metadata,
          chunks,
        }))
        return deps.chunks.changeDocuments(kb, asked)
      },
    },
    deps,
    signal,
  )
  if (outcome.kind === 'stored') return outcome.chunkCount
  throw new Error('stale without a stored vector')
}

async function cutDocuments(
  kb: KnowledgeBase,
  changes: readonly NewTexts[],
  signal: AbortSignal,
): Promise<readonly ChunkedDocument[]> {
  const share = new LoopShare()
  const documents: ChunkedDocument[] = []
  let chunkCount = 0
  for (const { documentId: id, texts, metadata } of changes) {
    const columns = [...texts].map(([column, text]) => ({ column, text }))
    // The store knows the row's place in its insert.
    const document = { id, rowIndex: 0, texts: columns, metadata }
    const chunks: Chunk[] = []
    for (const chunk of chunksOf(document, kb.preprocessing)) {
      if (share.isSpent) await share.giveWay(signal)
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
