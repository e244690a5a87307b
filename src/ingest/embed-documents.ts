import type { Chunk, ChunkVector, EmbeddedChunk, EmbeddedDocument } from '../domain/chunk.ts'
import type { Document } from '../domain/document.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { LIMITS } from '../domain/limits.ts'
import type { DocumentStore, Embedder } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'
import { LoopShare } from './loop-share.ts'

/** A document that is cut and not embedded yet. */
export interface ChunkedDocument {
  readonly document: Document
  readonly chunks: readonly Chunk[]
}

/** Chunk text → its vector: equal texts share one. */
type KnownVectors = Map<string, ChunkVector>

export interface StoreDeps {
  readonly chunks: DocumentStore
  readonly embedder: Embedder
}

/**
 * Stores the documents in one transaction. Only text that is neither stored with one of them nor repeated is embedded.
 * Ids must be distinct.
 */
export async function embedAndStore(
  target: { readonly kb: KnowledgeBase; readonly documents: readonly ChunkedDocument[] },
  deps: StoreDeps,
  signal: AbortSignal,
): Promise<void> {
  const { kb, documents } = target
  if (documents.length === 0) return
  const known: KnownVectors = await storedVectors(target, deps, signal)
  await embedUnknown(documents, { known, embedder: deps.embedder }, signal)
  const embedded = await withVectors(documents, known, signal)
  const outcome = await deps.chunks.replaceDocuments(kb, embedded)
  if (outcome.kind === 'stored') return
  // A stored vector went away meanwhile. Without any, the second attempt cannot become stale.
  for (const [text, vector] of known) if (vector.kind === 'stored') known.delete(text)
  await embedUnknown(documents, { known, embedder: deps.embedder }, signal)
  await deps.chunks.replaceDocuments(kb, await withVectors(documents, known, signal))
}

async function storedVectors(
  target: { readonly kb: KnowledgeBase; readonly documents: readonly ChunkedDocument[] },
  deps: StoreDeps,
  signal: AbortSignal,
): Promise<KnownVectors> {
  const ids = target.documents.map(({ document }) => document.id)
  const share = new LoopShare()
  const wanted = new Set<string>()
  for (const { chunks } of target.documents) {
    for (const { content } of chunks) {
      wanted.add(content)
      if (share.isSpent) await share.giveWay(signal)
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
  const share = new LoopShare()
  const texts = new Set<string>()
  for (const { chunks } of documents) {
    for (const { content } of chunks) {
      if (!known.has(content)) texts.add(content)
      if (share.isSpent) await share.giveWay(signal)
    }
  }
  let batch: string[] = []
  const embedBatch = async () => {
    await share.giveWay(signal)
    const vectors = await embedder.embed(batch, signal)
    for (const [index, text] of batch.entries()) {
      const vector = vectors[index]
      if (vector === undefined || vectors.length !== batch.length) throw miscounted(vectors, batch)
      known.set(text, { kind: 'new', vector })
    }
    batch = []
  }
  for (const text of texts) {
    batch.push(text)
    if (batch.length === LIMITS.insertBatchChunks) await embedBatch()
  }
  if (batch.length > 0) await embedBatch()
}

function miscounted(vectors: readonly Float32Array[], texts: readonly string[]): AppError {
  const counts = `${vectors.length} vectors for ${texts.length} texts`
  return new AppError('provider_failed', `The embedding model answered ${counts}`)
}

async function withVectors(
  documents: readonly ChunkedDocument[],
  known: KnownVectors,
  signal: AbortSignal,
): Promise<readonly EmbeddedDocument[]> {
  const share = new LoopShare()
  const embedded: EmbeddedDocument[] = []
  for (const { document, chunks } of documents) {
    const withVectorsOfOne: EmbeddedChunk[] = []
    for (const chunk of chunks) {
      withVectorsOfOne.push(withVector(chunk, known))
      if (share.isSpent) await share.giveWay(signal)
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
