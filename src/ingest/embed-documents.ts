import type { Chunk, ChunkVector, EmbeddedChunk, EmbeddedDocument } from '../domain/chunk.ts'
import type { Document } from '../domain/document.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { LIMITS } from '../domain/limits.ts'
import type { DocumentStore, Embedder, EmbedderRegistry } from '../domain/ports.ts'
import { withModelInForce } from '../domain/reembedding.ts'
import { AppError } from '../errors.ts'
import { TimeSlice } from '../runtime/scheduling.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'

/** A document that is cut and not embedded yet. */
export interface ChunkedDocument {
  readonly document: Document
  readonly chunks: readonly Chunk[]
}

/** Chunk text → its vector: equal texts share one. */
type KnownVectors = Map<string, ChunkVector>

export interface StoreDeps {
  readonly chunks: DocumentStore
  readonly embedders: Pick<EmbedderRegistry, 'embedder'>
}

/**
 * Stores the documents in one transaction. Only text that is neither stored with one of them nor repeated is embedded.
 * Ids must be distinct.
 * @returns the knowledge base as it was embedded for: another model may have taken over
 */
export async function embedAndStore(
  { kb, documents }: { readonly kb: KnowledgeBase; readonly documents: readonly ChunkedDocument[] },
  deps: StoreDeps,
  signal: AbortSignal,
): Promise<KnowledgeBase> {
  if (documents.length === 0) return kb
  return withModelInForce(kb, async (inForce) => {
    const write = (embedded: readonly EmbeddedDocument[]) => {
      return deps.chunks.replaceDocuments(inForce, embedded)
    }
    await embedAndWrite({ kb: inForce, documents, write }, deps, signal)
    return inForce
  })
}

interface DocumentsToWrite<O> {
  readonly kb: KnowledgeBase
  readonly documents: readonly ChunkedDocument[]
  /** In one transaction. It is `stale` where a stored vector is gone. */
  write(embedded: readonly EmbeddedDocument[]): Promise<O>
}

/** The same with another way to write. @returns what the write came to */
export async function embedAndWrite<O extends { readonly kind: 'stored' | 'stale' }>(
  target: DocumentsToWrite<O>,
  deps: StoreDeps,
  signal: AbortSignal,
): Promise<O> {
  const { kb, documents } = target
  const embedder = deps.embedders.embedder(kb.embeddingModel)
  const known: KnownVectors = await storedVectors(target, deps, signal)
  await embedUnknown(documents, { known, embedder }, signal)
  const outcome = await target.write(await withVectors(documents, known, signal))
  if (outcome.kind === 'stored') return outcome
  // A stored vector went away meanwhile. Without any, the second attempt cannot become stale.
  for (const [text, vector] of known) if (vector.kind === 'stored') known.delete(text)
  await embedUnknown(documents, { known, embedder }, signal)
  return target.write(await withVectors(documents, known, signal))
}

async function storedVectors(
  target: { readonly kb: KnowledgeBase; readonly documents: readonly ChunkedDocument[] },
  deps: StoreDeps,
  signal: AbortSignal,
): Promise<KnownVectors> {
  const ids = target.documents.map(({ document }) => document.id)
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const wanted = new Set<string>()
  for (const { chunks } of target.documents) {
    for (const { content } of chunks) {
      wanted.add(content)
      if (slice.isSpent) await slice.yieldIfSpent(signal)
    }
  }
  const known: KnownVectors = new Map()
  for (let start = 0; start < ids.length; start += INGEST_LIMITS.lookupDocuments) {
    signal.throwIfAborted()
    const some = ids.slice(start, start + INGEST_LIMITS.lookupDocuments)
    for (const { content, chunkKey } of await deps.chunks.storedTexts(target.kb, some)) {
      if (wanted.has(content)) known.set(content, { kind: 'stored', chunkKey })
    }
  }
  return known
}

async function embedUnknown(
  documents: readonly ChunkedDocument[],
  { known, embedder }: { readonly known: KnownVectors; readonly embedder: Embedder },
  signal: AbortSignal,
): Promise<void> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const texts = new Set<string>()
  for (const { chunks } of documents) {
    for (const { content } of chunks) {
      if (!known.has(content)) texts.add(content)
      if (slice.isSpent) await slice.yieldIfSpent(signal)
    }
  }
  for (const [text, vector] of await embedTexts(texts, embedder, signal)) {
    known.set(text, { kind: 'new', vector })
  }
}

async function withVectors(
  documents: readonly ChunkedDocument[],
  known: KnownVectors,
  signal: AbortSignal,
): Promise<readonly EmbeddedDocument[]> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const embedded: EmbeddedDocument[] = []
  for (const { document, chunks } of documents) {
    const withVectorsOfOne: EmbeddedChunk[] = []
    for (const chunk of chunks) {
      withVectorsOfOne.push(withVector(chunk, known))
      if (slice.isSpent) await slice.yieldIfSpent(signal)
    }
    embedded.push({ document, chunks: withVectorsOfOne })
  }
  return embedded
}

function withVector(chunk: Chunk, known: KnownVectors): EmbeddedChunk {
  const vector = known.get(chunk.content)
  if (vector === undefined) throw new Error('a chunk was not embedded')
  return { chunk, vector }
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
    const found = await embedder.embed(batch, signal)
    for (const [index, text] of batch.entries()) {
      const vector = found[index]
      if (vector === undefined || found.length !== batch.length) throw miscounted(found, batch)
      vectors.set(text, vector)
    }
    batch = []
  }
  for (const text of texts) {
    batch.push(text)
    if (batch.length === LIMITS.insertBatchChunks) await embedBatch()
  }
  if (batch.length > 0) await embedBatch()
  return vectors
}

function miscounted(vectors: readonly Float32Array[], texts: readonly string[]): AppError {
  const counts = `${vectors.length} vectors for ${texts.length} texts`
  return new AppError('provider_failed', `The embedding model answered ${counts}`)
}
