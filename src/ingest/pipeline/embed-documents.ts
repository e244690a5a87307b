import {
  type ChunkVector,
  type EmbeddedChunk,
  type EmbeddedDocument,
  embeddedText,
} from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import { type KnowledgeBase, withModelInForce } from '../../core/domain/knowledge-base.ts'
import type { JobMark } from '../../core/domain/ports/job-ports.ts'
import type { Embedder } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import type { ChunkedDocument } from '../chunking/chunker.ts'
import { type EmbedDeps, withWrittenContexts } from './contextual.ts'

export interface PreparedDocuments {
  readonly kb: KnowledgeBase
  readonly documents: readonly ChunkedDocument[]
  readonly embedded: readonly EmbeddedDocument[]
  readonly known: KnownVectors
}

export interface DocumentsTarget {
  readonly kb: KnowledgeBase
  /** The documents, with distinct ids. */
  readonly documents: readonly ChunkedDocument[]
}

/** Embeds only new text, not repeated or stored text. @param known gets the vectors */
export async function prepareDocuments(
  target: DocumentsTarget,
  deps: EmbedDeps,
  signal: AbortSignal,
  known: KnownVectors = new Map(),
): Promise<PreparedDocuments> {
  const { kb } = target
  const embedder = deps.embedders.embedder(kb.embeddingModel)
  const documents = await withWrittenContexts(target, deps, signal)
  for (const [text, vector] of await storedVectors({ kb, documents }, deps, signal)) {
    if (known.get(text)?.kind !== 'new') known.set(text, vector)
  }
  return { kb, documents, known, embedded: await embedded(documents, known, embedder, signal) }
}

/** In one transaction. @param mark progress @returns the base they were embedded for */
export function storePrepared(
  { mark, ...prepared }: PreparedDocuments & { readonly mark?: JobMark | undefined },
  deps: EmbedDeps,
  signal: AbortSignal,
): Promise<KnowledgeBase> {
  return withModelInForce(prepared.kb, async (inForce) => {
    const { documents } = prepared
    const write = (embedded: readonly EmbeddedDocument[]) => {
      return deps.chunks.replaceDocuments(inForce, embedded, mark)
    }
    if (inForce === prepared.kb) await writePrepared(prepared, deps, signal, write)
    else await embedAndWrite({ kb: inForce, documents }, deps, signal, write)
    return inForce
  })
}

/** @param write uses one transaction; returns `stale` if a stored vector no longer exists */
export async function embedAndWrite<O extends { readonly kind: 'stored' | 'stale' }>(
  target: DocumentsTarget,
  deps: EmbedDeps,
  signal: AbortSignal,
  write: (embedded: readonly EmbeddedDocument[]) => Promise<O>,
): Promise<O> {
  return writePrepared(await prepareDocuments(target, deps, signal), deps, signal, write)
}

async function writePrepared<O extends { readonly kind: 'stored' | 'stale' }>(
  prepared: PreparedDocuments,
  deps: EmbedDeps,
  signal: AbortSignal,
  write: (embedded: readonly EmbeddedDocument[]) => Promise<O>,
): Promise<O> {
  const { kb, documents, known } = prepared
  const outcome = await write(prepared.embedded)
  if (outcome.kind === 'stored') return outcome
  // A stored vector has since been deleted. The second attempt uses none, so it cannot fail this
  // way.
  for (const [text, vector] of known) if (vector.kind === 'stored') known.delete(text)
  const embedder = deps.embedders.embedder(kb.embeddingModel)
  return write(await embedded(documents, known, embedder, signal))
}

/** Vectors by embedded text. Equal texts share one. */
export type KnownVectors = Map<string, ChunkVector>

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

/** The documents with their vectors. Texts missing in `known` are embedded and added to it. */
async function embedded(
  documents: readonly ChunkedDocument[],
  known: KnownVectors,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<readonly EmbeddedDocument[]> {
  await embedUnknown(documents, known, embedder, signal)
  const chunks = documents.map((): EmbeddedChunk[] => [])
  await visitChunks(documents, signal, ({ chunk, terms }, documentIndex) => {
    const vector = known.get(embeddedText(chunk))
    if (vector === undefined) throw new Error('a chunk was not embedded')
    chunks[documentIndex]?.push({ chunk, terms, vector })
  })
  return documents.map(({ document }, index) => ({ document, chunks: chunks[index] ?? [] }))
}

async function embedUnknown(
  documents: readonly ChunkedDocument[],
  known: KnownVectors,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<void> {
  const unknown = new Set<string>()
  await visitChunks(documents, signal, ({ chunk }) => {
    const text = embeddedText(chunk)
    if (!known.has(text)) unknown.add(text)
  })
  await embedEach(unknown, embedder, signal, (text, vector) => {
    known.set(text, { kind: 'new', vector })
  })
}

/** Visits all chunks, yielding to other work, because there may be hundreds of thousands. */
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

/** Embeds texts, a few at a time. */
export async function embedTexts(
  texts: ReadonlySet<string>,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Float32Array>> {
  const vectors = new Map<string, Float32Array>()
  await embedEach(texts, embedder, signal, (text, vector) => vectors.set(text, vector))
  return vectors
}

/** @param keep gets each call's vectors at once @throws AppError if counts differ */
async function embedEach(
  texts: ReadonlySet<string>,
  embedder: Embedder,
  signal: AbortSignal,
  keep: (text: string, vector: Float32Array) => void,
): Promise<void> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  let batch: string[] = []
  const embedBatch = async () => {
    await slice.yieldIfSpent(signal)
    const answer = await embedder.embed(batch, signal)
    for (const [index, text] of batch.entries()) {
      const vector = answer[index]
      if (vector === undefined || answer.length !== batch.length) throw miscounted(answer, batch)
      keep(text, vector)
    }
    batch = []
  }
  for (const text of texts) {
    batch.push(text)
    if (batch.length === INGEST_LIMITS.insertBatchChunks) await embedBatch()
  }
  if (batch.length > 0) await embedBatch()
}

function miscounted(vectors: readonly Float32Array[], texts: readonly string[]): AppError {
  const counts = `${vectors.length} vectors for ${texts.length} texts`
  return new AppError('provider_failed', `The embedding model answered ${counts}`)
}

/** The most numbers in all cached vectors: 8 MB. */
const NUMBERS_MAX = 2_000_000

/** Embeds repeated text of an insert once. Caches recent vectors by 128-bit hashes. */
export function rememberingEmbedder(embedder: Embedder): Embedder {
  const known = new LruMap<string, Float32Array>({
    sizeMax: NUMBERS_MAX,
    sizeOf: ({ length }) => length,
  })
  return {
    ...(embedder.reach === undefined ? {} : { reach: embedder.reach }),
    async embed(texts, signal) {
      const keys = texts.map((text) => Bun.MD5.hash(text, 'base64'))
      const found = keys.map((key) => known.get(key))
      const others = texts.filter((_, index) => found[index] === undefined)
      const made = others.length === 0 ? [] : await embedder.embed(others, signal)
      // The caller reports the mismatch.
      if (made.length !== others.length) return made
      const rest = made.values()
      return keys.map((key, index) => {
        const vector = found[index] ?? rest.next().value ?? new Float32Array()
        known.set(key, vector)
        return vector
      })
    },
  }
}
