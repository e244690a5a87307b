import type { Document, Row } from '../domain/document.ts'
import type { JobError } from '../domain/flow/job.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { JobMark } from '../domain/ports/job-ports.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { TimeSlice } from '../runtime/scheduling.ts'
import { type ChunkedDocument, type ChunkingTarget, chunkDocuments } from './chunking/chunker.ts'
import { columnMappingOf, contentId, documentOfRow } from './document-of-row.ts'
import { type EmbedDeps, embedAndStore } from './embed-documents.ts'
import { INGEST_LIMITS } from './ingest-limits.ts'

/** Grows while a request runs; a failure finds here what is stored already. */
export interface StoredCounts {
  storedDocuments: number
  skippedRows: number
  chunks: number
  readRows: number
  /** Rows that were skipped because they, or their batch, could not be stored. */
  failedRows?: number
}

export interface RowsToStore {
  readonly kb: KnowledgeBase
  /** What an error calls them. */
  readonly source: string
  readonly rows: AsyncIterable<Row> | readonly Row[]
  /** Stored piece by piece, because nobody knows how many there are. */
  readonly isUnbounded: boolean
  readonly counts: StoredCounts
}

export interface StoringOptions {
  /** Leaves documents alone whose ids are stored already. */
  readonly skipsStored?: boolean
  /** Goes on when a row or a batch cannot be stored: it is counted in `failedRows`. */
  readonly skipsFailed?: boolean
  /** Chunks that make a batch of an unbounded source. */
  readonly batchChunks?: number
  /**
   * How far the job is that stores them: called for each batch, in their order, with what is stored once it is, and written
   * in its transaction.
   */
  readonly markOf?: (stored: StoredCounts) => JobMark
  /** A row that is left out: told before the mark of its batch is made. */
  readonly onLeftOut?: (error: JobError) => void
}

export type StoreDeps = EmbedDeps

/**
 * Rows → documents → chunks → vectors → stored; of rows with one id the last one.
 * @throws AppError that names the source and says what is stored in spite of the failure
 */
export async function storeRows(
  target: RowsToStore,
  deps: StoreDeps,
  signal: AbortSignal,
  options: StoringOptions = {},
): Promise<void> {
  const before = target.counts.storedDocuments
  try {
    const store = () => storeInBatches(target, deps, signal, options)
    await (target.isUnbounded ? deps.chunks.withoutCaching(store) : store())
  } catch (error) {
    const isAbort = signal.aborted && error === signal.reason
    throw isAbort ? error : failedInsert(error, target, before)
  }
}

async function storeInBatches(
  target: RowsToStore,
  deps: StoreDeps,
  signal: AbortSignal,
  options: StoringOptions,
): Promise<void> {
  const { kb, counts } = target
  const { batchChunks = INGEST_LIMITS.batchChunks } = options
  const { isUnbounded } = target
  const chunksMax = isUnbounded ? batchChunks : Number.POSITIVE_INFINITY
  const charsMax = isUnbounded ? INGEST_LIMITS.batchChars : Number.POSITIVE_INFINITY
  const pending = new PendingDocuments()
  const { reach = null } = deps.embedders.embedder(kb.embeddingModel)
  const chunking = { chunker: deps.chunker, reach }
  let inForce = kb
  let skippedRows = 0
  /** Those that are stored or left out once the documents that wait are. */
  let takenRows = counts.readRows
  for await (const rows of chunkedRows(target, chunking, signal, chunksMax)) {
    for (const row of rows) {
      takenRows += 1
      if (row === null) skippedRows += 1
      else if (row instanceof AppError) skipFailed(row, [`row ${takenRows}`])
      else pending.add(row)
      if (pending.chunkCount >= chunksMax || pending.chars >= charsMax) await flush()
      if (pending.chunkCount > INGEST_LIMITS.sourceChunksMax) throw tooManyChunks()
    }
  }
  await flush()
  counts.skippedRows += skippedRows

  async function flush(): Promise<void> {
    const taken = pending.take()
    const documents = options.skipsStored === true ? await unstored(kb, taken, deps) : taken
    const chunkCount = chunkCountOf(documents)
    const mark = options.markOf?.({
      ...counts,
      skippedRows: counts.skippedRows + skippedRows,
      storedDocuments: counts.storedDocuments + documents.length,
      chunks: counts.chunks + chunkCount,
      readRows: takenRows,
    })
    try {
      inForce = await embedAndStore({ kb: inForce, documents, mark }, deps, signal)
    } catch (error) {
      return skipFailed(error, idsOf(documents))
    }
    counts.storedDocuments += documents.length
    counts.chunks += chunkCount
  }

  function skipFailed(error: unknown, items: readonly string[]): void {
    const isOfRows = error instanceof AppError && SKIPPED_CODES.has(error.code)
    if (options.skipsFailed !== true || signal.aborted || !isOfRows) throw error
    counts.failedRows = (counts.failedRows ?? 0) + items.length
    for (const item of items) options.onLeftOut?.({ item, message: error.message })
  }
}

function chunkCountOf(documents: readonly ChunkedDocument[]): number {
  return documents.reduce((sum, { chunks }) => sum + chunks.length, 0)
}

function idsOf(documents: readonly ChunkedDocument[]): readonly string[] {
  return documents.map(({ document }) => document.id)
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
  const ids = idsOf(documents)
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
  #chars = 0

  get chunkCount(): number {
    return this.#chunkCount
  }

  /** Of all chunks: what overlaps counts twice. */
  get chars(): number {
    return this.#chars
  }

  add(chunked: ChunkedDocument): void {
    const { id } = chunked.document
    const former = this.#byId.get(id)
    this.#chunkCount += chunked.chunks.length - (former?.chunks.length ?? 0)
    this.#chars += charsOf(chunked) - (former === undefined ? 0 : charsOf(former))
    this.#byId.delete(id)
    this.#byId.set(id, chunked)
  }

  take(): readonly ChunkedDocument[] {
    const documents = [...this.#byId.values()]
    this.#byId = new Map()
    this.#chunkCount = 0
    this.#chars = 0
    return documents
  }
}

function charsOf({ chunks }: ChunkedDocument): number {
  return chunks.reduce((sum, { chunk }) => sum + chunk.content.length, 0)
}

/** A row after each step on its way: null where it has no content, an error where it cannot be stored. */
type Outcome<T> = T | AppError | null

/**
 * The rows as documents with their chunks, in their order, some at a time: at most `rowsMax`. A source that breaks off has
 * first given all rows before the failure.
 */
async function* chunkedRows(
  { kb, rows, counts }: RowsToStore,
  { chunker, reach }: Pick<ChunkingTarget, 'chunker' | 'reach'>,
  signal: AbortSignal,
  rowsMax: number,
): AsyncGenerator<readonly Outcome<ChunkedDocument>[], void> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const mapping = columnMappingOf(kb)
  const first = counts.readRows
  let batch: Outcome<Document>[] = []
  let batchChars = 0
  const chunkBatch = () => {
    const taken = batch
    batch = []
    batchChars = 0
    const firstRow = counts.readRows - first - taken.length
    return chunkRows(taken, { kb, reach, chunker, firstRow }, signal)
  }
  try {
    for await (const row of rows) {
      if (slice.isSpent) await slice.yieldIfSpent(signal)
      const rowIndex = counts.readRows
      counts.readRows += 1
      const read = outcomeOf(rowIndex - first, () => documentOfRow(row, rowIndex, mapping))
      if (read === null || read instanceof AppError) batch.push(read)
      else {
        batch.push({ ...read, id: read.id ?? (await contentId(read.texts, slice, signal)) })
        for (const { text } of read.texts) batchChars += text.length
      }
      const isFull = batchChars >= INGEST_LIMITS.chunkingBatchChars || batch.length >= rowsMax
      if (isFull || read instanceof AppError) yield await chunkBatch()
    }
  } catch (error) {
    yield await chunkBatch()
    throw error
  }
  yield await chunkBatch()
}

async function chunkRows(
  rows: readonly Outcome<Document>[],
  target: ChunkingTarget & { readonly firstRow: number },
  signal: AbortSignal,
): Promise<readonly Outcome<ChunkedDocument>[]> {
  const documents = rows.filter(isDocument)
  const chunked = (await chunkDocuments(documents, target, signal)).values()
  return rows.map((row, index) => {
    if (!isDocument(row)) return row
    return outcomeOf(target.firstRow + index, () => storable(chunked.next().value))
  })
}

function isDocument(outcome: Outcome<Document>): outcome is Document {
  return outcome !== null && !(outcome instanceof AppError)
}

/** What is made of the row; its failure says which row it was, from 1. */
function outcomeOf<T>(index: number, work: () => T | null): Outcome<T> {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'insert_failed') throw error
    const message = `row ${index + 1}: ${error.message}`
    return new AppError('insert_failed', message, { cause: error })
  }
}

/** null: the document has no chunks. */
function storable(chunked: ChunkedDocument | AppError | undefined): ChunkedDocument | null {
  if (chunked === undefined) throw new Error('a document was not chunked')
  if (chunked instanceof AppError) throw chunked
  const { document, chunks } = chunked
  if (chunks.length > INGEST_LIMITS.sourceChunksMax) throw tooManyChunks()
  refuseHugeMetadata(document, chunks.length)
  return chunks.length === 0 ? null : chunked
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

/** Failures that are not the fault of the rows keep their codes. */
const KEPT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_select',
  'statement_too_large',
  'statement_refused',
  'crawl_failed',
  'address_refused',
  'unknown_provider',
  'provider_refused',
  'provider_failed',
  'dimension_mismatch',
  'knowledge_base_not_found',
  'invalid_knowledge_base',
  'timeout',
  'cancelled',
  'too_busy',
  'shutting_down',
  'out_of_memory',
  'storage_full',
  'data_damaged',
  'internal',
])

/** The same failure with the name of the source and what is stored in spite of it. A bug stays as it is. */
function failedInsert(error: unknown, { source, counts }: RowsToStore, before: number): unknown {
  if (!(error instanceof AppError)) return error
  const code = KEPT_CODES.has(error.code) ? error.code : 'insert_failed'
  const stored = storedNote(source, before, counts.storedDocuments)
  const message =
    code === 'invalid_select'
      ? `${error.message}. ${stored}`
      : `Error during preprocessing and insertion: ${source}: ${error.message}. ${stored}`
  return new AppError(code, message, { cause: error })
}

/** @param before rows that were stored from other sources; @param after the same plus those of this one */
function storedNote(source: string, before: number, after: number): string {
  if (after === 0) return 'Nothing was stored'
  if (after === before) return `Stored: ${rowCount(before)} of the other sources`
  const own = `Stored: ${rowCount(after - before)} of ${source}`
  return before === 0 ? own : `${own} and ${rowCount(before)} of the other sources`
}

function rowCount(count: number): string {
  return count === 1 ? '1 row' : `${count} rows`
}
