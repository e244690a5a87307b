/**
 * Re-chunks documents from their stored text. Unchanged chunks are neither embedded nor written
 * again.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Row } from '../../core/domain/document.ts'
import {
  chunkFacts,
  type DocumentChange,
  type EmbeddedDocument,
} from '../../core/domain/document.ts'
import type { JobError } from '../../core/domain/flow/job.ts'
import { type KnowledgeBase, withModelInForce } from '../../core/domain/knowledge-base.ts'
import type { CutChunk } from '../../core/domain/ports/document-ports.ts'
import type { JobMark } from '../../core/domain/ports/job-ports.ts'
import { AppError } from '../../core/errors.ts'
import { type ChunkedDocument, chunkDocuments } from '../../ingest/chunking/chunker.ts'
import { embedAndWrite } from '../../ingest/pipeline/embed-documents.ts'
import { refuseEmptyColumns } from '../../ingest/pipeline/replace-texts.ts'
import { storable } from '../../ingest/pipeline/store-rows.ts'
import { isRefusedText } from '../../ingest/pipeline/storing-stages.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { uncutDocument } from './text-of-chunks.ts'

export type RechunkDeps = Pick<
  QueryDeps,
  'documents' | 'chunks' | 'embedders' | 'chunker' | 'chatModels'
>

interface RechunkTarget {
  readonly kb: KnowledgeBase
  readonly ids: readonly string[]
  /** Returns the job's progress mark, which is written in the same transaction as the documents. */
  readonly markOf: (changed: Rechunked) => JobMark
}

export interface Rechunked {
  readonly documents: number
  readonly chunks: number
  /** Unchanged documents that could not be re-chunked, with the reason. */
  readonly leftOut: readonly JobError[]
}

/** Try again this often if a client changes a document between reading and writing it. */
const RECHUNK_ATTEMPTS_MAX = 4

/** In one transaction. A document that changes in the meantime is read again. @throws AppError */
export async function rechunkDocuments(
  { kb, ids, markOf }: RechunkTarget,
  deps: RechunkDeps,
  signal: AbortSignal,
): Promise<Rechunked> {
  let done: Rechunked = { documents: 0, chunks: 0, leftOut: [] }
  let rest = ids
  for (let attempt = 1; ; attempt += 1) {
    const { documents, leftOut } = await readUncut({ kb, ids: rest }, deps, signal)
    done = { ...done, leftOut: [...done.leftOut, ...leftOut] }
    if (documents.length === 0) return done
    if (attempt === RECHUNK_ATTEMPTS_MAX)
      return { ...done, leftOut: [...done.leftOut, ...busy(documents)] }
    const { isWhole, ...now } = await rewrite({ kb, documents, done, markOf }, deps, signal)
    done = now
    if (isWhole) return done
    // Skip documents that failed before, because they would fail again.
    const refused = new Set(done.leftOut.map(({ item }) => item))
    rest = documents.map(({ chunked }) => chunked.document.id).filter((id) => !refused.has(id))
  }
}

function busy(documents: readonly ReadDocument[]): readonly JobError[] {
  const message = 'It kept changing in the meantime: try again'
  return documents.map(({ chunked }) => ({ item: chunked.document.id, message }))
}

interface ReadDocument {
  readonly stored: readonly CutChunk[]
  readonly chunked: ChunkedDocument
}

/** Reads the documents that need new chunks, and leaves out the others. */
async function readUncut(
  { kb, ids }: Pick<RechunkTarget, 'kb' | 'ids'>,
  deps: RechunkDeps,
  signal: AbortSignal,
): Promise<{ readonly documents: readonly ReadDocument[]; readonly leftOut: readonly JobError[] }> {
  const chunks = await deps.documents.cutChunks(kb, ids)
  const { reach = null } = deps.embedders.embedder(kb.embeddingModel)
  const documents: ReadDocument[] = []
  const leftOut: JobError[] = []
  for (const [id, stored] of Map.groupBy(chunks, ({ documentId }) => documentId)) {
    signal.throwIfAborted()
    try {
      const target = { kb, reach, chunker: deps.chunker }
      const [cut] = await chunkDocuments([uncutDocument(id, stored)], target, signal)
      const chunked = storable(cut)
      if (chunked === null) throw new AppError('insert_failed', 'It would have no chunks')
      refuseEmptyColumns(chunked)
      // Contexts from a chat model are not known yet, so not compared.
      const isComparable = kb.preprocessing.contextual === undefined
      const isCutSo = isComparable && hasChunks(stored, chunked.chunks)
      if (!isCutSo) documents.push({ stored, chunked })
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof AppError) || error.code !== 'insert_failed') throw error
      leftOut.push({ item: id, message: error.message })
    }
  }
  return { documents, leftOut }
}

function hasChunks(stored: readonly CutChunk[], chunks: ChunkedDocument['chunks']): boolean {
  if (stored.length !== chunks.length) return false
  const byId = new Map(stored.map((chunk) => [chunk.chunkId, chunk]))
  return chunks.every(({ chunk }) => {
    const known = byId.get(chunk.chunkId.toWellFormed())
    return (
      known !== undefined &&
      known.content === chunk.content.toWellFormed() &&
      known.context === (chunk.context ?? '').toWellFormed() &&
      known.metadata.source === chunk.source &&
      isDeepStrictEqual(chunkFacts(known.metadata), storedFacts(chunk.facts))
    )
  })
}

/** Returns the facts as they come back from storage. */
function storedFacts(facts: Row = {}): Row {
  const entries = Object.entries(facts).map(([name, value]) => {
    return [name, typeof value === 'string' ? value.toWellFormed() : value] as const
  })
  return Object.fromEntries(entries)
}

interface Rewriting extends Pick<RechunkTarget, 'kb' | 'markOf'> {
  readonly documents: readonly ReadDocument[]
  readonly done: Rechunked
}

interface Rewritten extends Rechunked {
  /** False if some documents changed in the meantime. */
  readonly isWhole: boolean
}

async function rewrite(
  { kb, documents, done, markOf }: Rewriting,
  deps: RechunkDeps,
  signal: AbortSignal,
): Promise<Rewritten> {
  try {
    return await write({ kb, documents, done, markOf }, deps, signal)
  } catch (error) {
    signal.throwIfAborted()
    const isOfOne = error instanceof AppError && mayBeOfOne(error)
    if (!isOfOne) throw error
    if (documents.length === 1) {
      const [item = ''] = documents.map(({ chunked }) => chunked.document.id)
      const leftOut = [...done.leftOut, { item, message: error.message }]
      return { ...done, leftOut, isWhole: true }
    }
  }
  let [now, isWhole] = [done, true]
  for (const one of documents) {
    const { isWhole: isWritten, ...rest } = await rewrite(
      { kb, documents: [one], done: now, markOf },
      deps,
      signal,
    )
    now = rest
    isWhole &&= isWritten
  }
  return { ...now, isWhole }
}

function mayBeOfOne(error: AppError): boolean {
  return error.code === 'insert_failed' || isRefusedText(error)
}

async function write(
  { kb, documents, done, markOf }: Rewriting,
  deps: RechunkDeps,
  signal: AbortSignal,
): Promise<Rewritten> {
  const storedOf = new Map(documents.map(({ chunked, stored }) => [chunked.document.id, stored]))
  const chunked = documents.map((one) => one.chunked)
  let wanted: Rechunked = done
  const outcome = await withModelInForce(kb, (inForce) => {
    return embedAndWrite({ kb: inForce, documents: chunked }, deps, signal, async (embedded) => {
      const changes = embedded.flatMap((one) => changeOf(one, storedOf))
      if (changes.length === 0) return { kind: 'stored', documentCount: 0, chunkCount: 0 } as const
      const chunkCount = changes.reduce((sum, { chunks }) => sum + chunks.length, 0)
      wanted = {
        ...done,
        documents: done.documents + changes.length,
        chunks: done.chunks + chunkCount,
      }
      signal.throwIfAborted()
      return deps.chunks.changeDocuments(inForce, changes, markOf(wanted))
    })
  })
  if (outcome.kind === 'stale') throw new Error('stale without a stored vector')
  const documentCount = done.documents + outcome.documentCount
  const chunkCount = done.chunks + outcome.chunkCount
  const isWhole = documentCount === wanted.documents
  return { ...done, documents: documentCount, chunks: chunkCount, isWhole }
}

/** Returns undefined if the document already has these chunks. */
function changeOf(
  { document, chunks }: EmbeddedDocument,
  storedOf: ReadonlyMap<string, readonly CutChunk[]>,
): readonly DocumentChange[] {
  const stored = storedOf.get(document.id) ?? []
  if (hasChunks(stored, chunks)) return []
  const readKeys = stored.map(({ key }) => key)
  const columns = document.texts.map(({ column }) => column)
  return [{ documentId: document.id, columns, chunks, metadata: {}, readKeys }]
}
