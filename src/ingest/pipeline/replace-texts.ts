import type { Document, DocumentChange, EmbeddedDocument, Row } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import { type KnowledgeBase, withModelInForce } from '../../core/domain/knowledge-base.ts'
import type { ChunkStore } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import { type ChunkedDocument, type ChunkingTarget, chunkDocuments } from '../chunking/chunker.ts'
import type { EmbedDeps } from './contextual.ts'
import { embedAndWrite } from './embed-documents.ts'

/** New texts for a document's content columns, and new values for its metadata columns. */
export interface NewTexts {
  readonly documentId: string
  /** New text by content column; never empty. */
  readonly texts: ReadonlyMap<string, string>
  readonly metadata: Row
}

/**
 * Replaces texts of stored documents in one transaction. The columns are re-chunked and embedded;
 * everything else stays. Documents deleted in the meantime are skipped. Ids must be distinct.
 * @returns how many chunks the documents have now
 * @throws AppError `insert_failed` for too many chunks; errors of the embedder and the store
 */
export async function replaceTexts(
  { kb, changes }: { readonly kb: KnowledgeBase; readonly changes: readonly NewTexts[] },
  deps: EmbedDeps & { readonly chunks: ChunkStore },
  signal: AbortSignal,
): Promise<number> {
  const { reach = null } = deps.embedders.embedder(kb.embeddingModel)
  const documents = await chunkNewTexts(changes, { kb, reach, chunker: deps.chunker }, signal)
  const outcome = await withModelInForce(kb, (inForce) => {
    return embedAndWrite({ kb: inForce, documents }, deps, signal, (embedded) => {
      return deps.chunks.changeDocuments(inForce, embedded.map(documentChange))
    })
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

async function chunkNewTexts(
  changes: readonly NewTexts[],
  target: ChunkingTarget,
  signal: AbortSignal,
): Promise<readonly ChunkedDocument[]> {
  const chunked: ChunkedDocument[] = []
  let chunkCount = 0
  for (const documents of textBatches(changes)) {
    for (const document of await chunkDocuments(documents, target, signal)) {
      if (document instanceof AppError) throw document
      chunkCount += document.chunks.length
      if (chunkCount > INGEST_LIMITS.sourceChunksMax) throw tooManyChunks()
      refuseEmptyColumns(document)
      chunked.push(document)
    }
  }
  return chunked
}

function* textBatches(changes: readonly NewTexts[]): Generator<readonly Document[], void> {
  let batch: Document[] = []
  let chars = 0
  for (const { documentId: id, texts, metadata } of changes) {
    // The store knows the row's position in its insert, so it is not needed here.
    const columns = [...texts].map(([column, text]) => ({ column, text }))
    batch.push({ id, rowIndex: 0, texts: columns, metadata })
    for (const text of texts.values()) chars += text.length
    if (chars < INGEST_LIMITS.chunkingBatchChars) continue
    yield batch
    ;[batch, chars] = [[], 0]
  }
  if (batch.length > 0) yield batch
}

/** A column without chunks, for example an empty JSON list, would disappear from the document. */
export function refuseEmptyColumns({ document, chunks }: ChunkedDocument): void {
  const known = new Set(chunks.map(({ chunk }) => chunk.contentColumn))
  if (document.texts.every(({ column }) => known.has(column))) return
  throw new AppError('insert_failed', `The new content of document ${document.id} is empty`)
}

function tooManyChunks(): AppError {
  const limit = `at most ${INGEST_LIMITS.sourceChunksMax} chunks are changed at once`
  return new AppError('insert_failed', `${limit}; narrow the WHERE`)
}
