import type { Chunk } from '../domain/chunk.ts'
import type { Document, Row } from '../domain/document.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { TimeSlice } from '../runtime/scheduling.ts'
import { chunksOf } from './chunking/chunker.ts'
import { contentId } from './content-id.ts'
import type { ColumnMapping } from './document-of-row.ts'
import { documentOfRow } from './document-of-row.ts'
import { type ChunkedDocument, embedAndStore, type StoreDeps } from './embed-documents.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'

/** Grows while a request runs; a failure finds here what is stored already. */
export interface StoredCounts {
  storedRows: number
  skippedRows: number
  chunks: number
  readRows: number
  /** Rows that were skipped because they, or their batch, could not be stored. */
  failedRows?: number
}

export interface RowsToStore {
  readonly kb: KnowledgeBase
  readonly rule: ColumnMapping
  readonly rows: AsyncIterable<Row> | readonly Row[]
  readonly isUnbounded: boolean
  readonly counts: StoredCounts
  readonly options?: StoringOptions
}

export interface StoringOptions {
  /** Leaves documents alone whose ids are stored already. */
  readonly skipsStored?: boolean
  /** Goes on when a row or a batch cannot be stored: it is counted in `failedRows`. */
  readonly skipsFailed?: boolean
  /** Chunks that make a batch of an unbounded source. */
  readonly batchChunks?: number
}

/** Rows → documents → chunks → vectors → stored; of rows with one id the last one. */
export async function storeRows(
  { kb, rule, rows, isUnbounded, counts, options = {} }: RowsToStore,
  deps: StoreDeps,
  signal: AbortSignal,
): Promise<void> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const pending = new PendingDocuments()
  let inForce = kb
  const first = counts.readRows
  let skippedRows = 0
  const { batchChunks = INGEST_LIMITS.queryBatchChunks } = options
  for await (const row of rows) {
    if (slice.isSpent) await slice.yieldIfSpent(signal)
    const rowIndex = counts.readRows
    counts.readRows += 1
    const chunked = await naming(rowIndex - first, () => {
      return chunkedRow({ row, rowIndex, rule, kb }, slice, signal)
    }).catch(skippingFailed(1))
    if (chunked === null) skippedRows += 1
    else if (chunked !== undefined) pending.add(chunked)
    if (isUnbounded && pending.chunkCount >= batchChunks) await flush()
    if (pending.chunkCount > INGEST_LIMITS.sourceChunksMax) throw tooManyChunks()
  }
  await flush()
  counts.skippedRows += skippedRows

  async function flush(): Promise<void> {
    const taken = pending.take()
    const documents = options.skipsStored === true ? await unstored(kb, taken, deps) : taken
    const stored = embedAndStore({ kb: inForce, documents }, deps, signal)
    const storedFor = await stored.catch(skippingFailed(documents.length))
    if (storedFor === undefined) return
    inForce = storedFor
    counts.storedRows += documents.length
    counts.chunks += documents.reduce((sum, { chunks }) => sum + chunks.length, 0)
  }

  function skippingFailed(rowCount: number) {
    return (error: unknown): undefined => {
      const isOfRows = error instanceof AppError && SKIPPED_CODES.has(error.code)
      if (options.skipsFailed !== true || signal.aborted || !isOfRows) throw error
      counts.failedRows = (counts.failedRows ?? 0) + rowCount
    }
  }
}

/** Failures after which the next rows may be stored all the same. */
const SKIPPED_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'insert_failed',
  'provider_failed',
  'dimension_mismatch',
])

async function unstored(
  kb: KnowledgeBase,
  documents: readonly ChunkedDocument[],
  { chunks }: StoreDeps,
): Promise<readonly ChunkedDocument[]> {
  const ids = documents.map(({ document }) => document.id)
  const stored = new Set<string>()
  for (let start = 0; start < ids.length; start += INGEST_LIMITS.lookupDocuments) {
    const some = ids.slice(start, start + INGEST_LIMITS.lookupDocuments)
    for (const { documentId } of await chunks.storedTexts(kb, some)) stored.add(documentId)
  }
  return documents.filter(({ document }) => !stored.has(document.id))
}

/** The documents of the next transaction, in the order in which their ids came last. */
class PendingDocuments {
  #byId = new Map<string, ChunkedDocument>()
  #chunkCount = 0

  get chunkCount(): number {
    return this.#chunkCount
  }

  add(chunked: ChunkedDocument): void {
    const { id } = chunked.document
    this.#chunkCount += chunked.chunks.length - (this.#byId.get(id)?.chunks.length ?? 0)
    this.#byId.delete(id)
    this.#byId.set(id, chunked)
  }

  take(): readonly ChunkedDocument[] {
    const documents = [...this.#byId.values()]
    this.#byId = new Map()
    this.#chunkCount = 0
    return documents
  }
}

interface NumberedRow {
  readonly row: Row
  readonly rowIndex: number
  readonly rule: ColumnMapping
  readonly kb: KnowledgeBase
}

/** null: the row has no content. */
async function chunkedRow(
  { row, rowIndex, rule, kb }: NumberedRow,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<ChunkedDocument | null> {
  const found = documentOfRow(row, rowIndex, rule)
  if (found === null) return null
  const id = found.id ?? (await contentId(found.texts, slice, signal))
  const document: Document = { ...found, id }
  const chunks: Chunk[] = []
  for (const chunk of chunksOf(document, kb.preprocessing)) {
    if (chunk !== null) chunks.push(chunk)
    if (slice.isSpent) await slice.yieldIfSpent(signal)
    if (chunks.length > INGEST_LIMITS.sourceChunksMax) throw tooManyChunks()
  }
  if (chunks.length === 0) return null
  refuseHugeMetadata(document, chunks.length)
  return { document, chunks }
}

function refuseHugeMetadata({ id, metadata }: Document, chunkCount: number): void {
  const chars = id.length + JSON.stringify(metadata).length
  if (chars * chunkCount <= INGEST_LIMITS.metadataCharsMax) return
  const found = `found ${chars} for each of its ${chunkCount} chunks`
  const limit = `at most ${INGEST_LIMITS.metadataCharsMax} characters of id and metadata`
  throw new AppError('insert_failed', `A document has ${limit}, ${found}`)
}

function tooManyChunks(): AppError {
  const limit = `at most ${INGEST_LIMITS.sourceChunksMax} chunks are stored at once`
  return new AppError('insert_failed', `${limit}; insert less, or use "query" for a large table`)
}

/** A failure of a row says which row it was, from 1. */
async function naming<T>(index: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'insert_failed') throw error
    throw new AppError('insert_failed', `row ${index + 1}: ${error.message}`, { cause: error })
  }
}
