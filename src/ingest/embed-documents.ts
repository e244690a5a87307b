import {
  type ChunkVector,
  type EmbeddedChunk,
  type EmbeddedDocument,
  embeddedText,
} from '../domain/chunk.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { JobMark } from '../domain/ports/job-ports.ts'
import type { ChatModels, Embedder, EmbedderRegistry } from '../domain/ports/model-ports.ts'
import type { DocumentStore } from '../domain/ports/store-ports.ts'
import { withModelInForce } from '../domain/reembedding.ts'
import { AppError } from '../errors.ts'
import { TimeSlice } from '../runtime/scheduling.ts'
import type { ChunkedDocument, Chunker } from './chunking/chunker.ts'
import { withWrittenContexts } from './contextual.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'

export interface EmbedDeps {
  readonly chunks: DocumentStore
  readonly embedders: Pick<EmbedderRegistry, 'embedder'>
  readonly chunker: Chunker
  /** They write what chunks are about, where that is wanted. */
  readonly chatModels: ChatModels
}

export interface DocumentsToStore {
  readonly kb: KnowledgeBase
  readonly documents: readonly ChunkedDocument[]
  /** Of the job that stores them: written in the same transaction. */
  readonly mark?: JobMark | undefined
}

/**
 * Stores the documents in one transaction. Only text that is neither stored with one of them nor repeated is embedded.
 * Ids must be distinct.
 * @returns the knowledge base as it was embedded for: another model may have taken over
 */
export async function embedAndStore(
  { kb, documents, mark }: DocumentsToStore,
  deps: EmbedDeps,
  signal: AbortSignal,
): Promise<KnowledgeBase> {
  if (documents.length === 0) return kb
  await deps.chunks.checkDeclared(
    kb,
    documents.map(({ document }) => document),
  )
  return withModelInForce(kb, async (inForce) => {
    const target = { kb: inForce, documents }
    await embedAndWrite(target, deps, signal, (embedded) => {
      return deps.chunks.replaceDocuments(inForce, embedded, mark)
    })
    return inForce
  })
}

/**
 * The same with another way to write.
 * @param write in one transaction; it is `stale` where a stored vector is gone
 * @returns what the write came to
 */
export async function embedAndWrite<O extends { readonly kind: 'stored' | 'stale' }>(
  target: { readonly kb: KnowledgeBase; readonly documents: readonly ChunkedDocument[] },
  deps: EmbedDeps,
  signal: AbortSignal,
  write: (embedded: readonly EmbeddedDocument[]) => Promise<O>,
): Promise<O> {
  const { kb } = target
  const embedder = deps.embedders.embedder(kb.embeddingModel)
  const documents = await withWrittenContexts(target, deps, signal)
  const known = await storedVectors({ kb, documents }, deps, signal)
  const outcome = await write(await embedded(documents, known, embedder, signal))
  if (outcome.kind === 'stored') return outcome
  // A stored vector went away meanwhile. Without any, the second attempt cannot become stale.
  for (const [text, vector] of known) if (vector.kind === 'stored') known.delete(text)
  return write(await embedded(documents, known, embedder, signal))
}

/** What is embedded of a chunk → its vector: equal texts share one. */
type KnownVectors = Map<string, ChunkVector>

async function storedVectors(
  { kb, documents }: { readonly kb: KnowledgeBase; readonly documents: readonly ChunkedDocument[] },
  deps: EmbedDeps,
  signal: AbortSignal,
): Promise<KnownVectors> {
  const wanted = new Set<string>()
  await visitChunks(documents, signal, ({ chunk }) => wanted.add(embeddedText(chunk)))
  const ids = documents.map(({ document }) => document.id)
  const known: KnownVectors = new Map()
  for (let start = 0; start < ids.length; start += INGEST_LIMITS.lookupDocuments) {
    signal.throwIfAborted()
    const some = ids.slice(start, start + INGEST_LIMITS.lookupDocuments)
    for (const { chunkKey, ...stored } of await deps.chunks.storedTexts(kb, some)) {
      const text = embeddedText(stored)
      if (wanted.has(text)) known.set(text, { kind: 'stored', chunkKey })
    }
  }
  return known
}

/** The documents with their vectors. What is not in `known` is embedded, and known then. */
async function embedded(
  documents: readonly ChunkedDocument[],
  known: KnownVectors,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<readonly EmbeddedDocument[]> {
  const unknown = new Set<string>()
  await visitChunks(documents, signal, ({ chunk }) => {
    const text = embeddedText(chunk)
    if (!known.has(text)) unknown.add(text)
  })
  for (const [text, vector] of await embedTexts(unknown, embedder, signal)) {
    known.set(text, { kind: 'new', vector })
  }
  const chunks = documents.map((): EmbeddedChunk[] => [])
  await visitChunks(documents, signal, ({ chunk, terms }, documentIndex) => {
    const vector = known.get(embeddedText(chunk))
    if (vector === undefined) throw new Error('a chunk was not embedded')
    chunks[documentIndex]?.push({ chunk, terms, vector })
  })
  return documents.map(({ document }, index) => ({ document, chunks: chunks[index] ?? [] }))
}

/** Of hundreds of thousands of chunks, so others have their turn in between. */
async function visitChunks(
  documents: readonly ChunkedDocument[],
  signal: AbortSignal,
  visit: (chunk: ChunkedDocument['chunks'][number], documentIndex: number) => void,
): Promise<void> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  for (const [documentIndex, { chunks }] of documents.entries()) {
    for (const chunk of chunks) {
      visit(chunk, documentIndex)
      if (slice.isSpent) await slice.yieldIfSpent(signal)
    }
  }
}

/**
 * The vectors of texts, some texts at a time.
 * @throws AppError those of the embedder, and `provider_failed` where it gives another number of vectors than of texts
 */
export async function embedTexts(
  texts: ReadonlySet<string>,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Float32Array>> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const vectors = new Map<string, Float32Array>()
  let batch: string[] = []
  const embedBatch = async () => {
    await slice.yieldIfSpent(signal)
    const answer = await embedder.embed(batch, signal)
    for (const [index, text] of batch.entries()) {
      const vector = answer[index]
      if (vector === undefined || answer.length !== batch.length) throw miscounted(answer, batch)
      vectors.set(text, vector)
    }
    batch = []
  }
  for (const text of texts) {
    batch.push(text)
    if (batch.length === INGEST_LIMITS.insertBatchChunks) await embedBatch()
  }
  if (batch.length > 0) await embedBatch()
  return vectors
}

function miscounted(vectors: readonly Float32Array[], texts: readonly string[]): AppError {
  const counts = `${vectors.length} vectors for ${texts.length} texts`
  return new AppError('provider_failed', `The embedding model answered ${counts}`)
}
