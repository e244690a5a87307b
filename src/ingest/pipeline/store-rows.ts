import type { Document } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import { type JobError, NOTHING_LEFT_OUT, withLeftOut } from '../../core/domain/flow/job.ts'
import type { ModelRef } from '../../core/domain/model-ref.ts'
import type { Embedder } from '../../core/domain/ports/model-ports.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import { callerOf, setCaller } from '../../core/runtime/cancellation.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import { type ChunkedDocument, type ChunkingTarget, chunkDocuments } from '../chunking/chunker.ts'
import { columnMappingOf, contentId, documentOfRow } from '../sources/document-of-row.ts'
import { SERVER_FAILURES } from '../sources/file-rows.ts'
import type { EmbedDeps } from './contextual.ts'
import { rememberingEmbedder } from './embed-documents.ts'
import {
  type Batch,
  BatchPipeline,
  type RowsToStore,
  type StoringOptions,
  StoringStages,
} from './storing-stages.ts'

/** Of rows with the same id, the last counts. @throws AppError with what was stored */
export async function storeRows(
  target: RowsToStore,
  deps: EmbedDeps,
  signal: AbortSignal,
  options: StoringOptions = {},
): Promise<void> {
  const before = target.counts.storedDocuments
  try {
    const own = withModels(deps, target, options)
    const store = () => storeInBatches(target, own, signal, options)
    await (target.isUnbounded ? deps.chunks.withoutCaching(store) : store())
  } catch (error) {
    const isAbort = signal.aborted && error === signal.reason
    throw isAbort ? error : failedInsert(error, target, before)
  }
}

function withModels(deps: EmbedDeps, target: RowsToStore, options: StoringOptions): EmbedDeps {
  const onEmbedded = (chunkCount: number) => {
    target.counts.embeddedChunks = (target.counts.embeddedChunks ?? 0) + chunkCount
    options.onEmbedded?.(chunkCount)
  }
  const made = new Map<ModelRef, Embedder>()
  let madeMs: number | undefined
  const embedder = (ref: ModelRef) => {
    const patienceMs = options.pace?.()?.patienceMs
    if (patienceMs !== madeMs) made.clear()
    madeMs = patienceMs
    const known = made.get(ref)
    if (known !== undefined) return known
    const model = deps.embedders.embedder(ref, patienceMs)
    const own: Embedder = {
      ...(model.reach === undefined ? {} : { reach: model.reach }),
      embed: (texts, signal) => model.embed(texts, signal, onEmbedded),
    }
    // A single batch never embeds a text twice, so it needs no cache.
    const used = target.isUnbounded ? rememberingEmbedder(own) : own
    made.set(ref, used)
    return used
  }
  return { ...deps, embedders: { embedder } }
}

async function storeInBatches(
  target: RowsToStore,
  deps: EmbedDeps,
  signal: AbortSignal,
  options: StoringOptions,
): Promise<void> {
  const { kb } = target
  const limits = batchLimits(target, options)
  // After a failure, the other work is stopped and its results are not awaited.
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  setCaller(either, callerOf(signal))
  const stages = new StoringStages(target, deps, either, options)
  const pipeline = new BatchPipeline(stages, (error) => stop.abort(error))
  const pending = new PendingRows(target.counts.readRows, limits)
  const { reach = null } = deps.embedders.embedder(kb.embeddingModel)
  const chunking = { chunker: deps.chunker, reach }
  let storedMs = performance.now()
  try {
    for await (const rows of chunkedRows(target, chunking, either, limits.chunksMax)) {
      try {
        await take(rows)
      } catch (error) {
        throw await failed(error)
      }
    }
    await pipeline.add(pending.take())
    await pipeline.end()
  } catch (error) {
    throw await failed(error)
  }

  async function take(rows: readonly Outcome<ChunkedDocument>[]): Promise<void> {
    for (const row of rows) {
      if (row instanceof AppError && !stages.mayLeaveOut(row)) throw row
      pending.add(row)
      if (pending.isFull) await store()
      if (pending.chunkCount > INGEST_LIMITS.sourceChunksMax) throw tooManyChunks()
    }
    // Only a job has a pace: what a request waits for is stored in one piece if it fits.
    const isOld = performance.now() - storedMs >= INGEST_LIMITS.batchMs
    if (isOld && pending.chunkCount > 0 && (options.pace?.() ?? null) !== null) await store()
  }

  async function store(): Promise<void> {
    await pipeline.add(pending.take())
    storedMs = performance.now()
  }

  /** Waits until earlier rows are stored. Their errors take precedence. */
  async function failed(error: unknown): Promise<unknown> {
    const earlier = await pipeline.settled()
    stop.abort(error)
    return signal.aborted ? signal.reason : (earlier?.error ?? error)
  }
}

interface BatchLimits extends Pick<StoringOptions, 'pace'> {
  readonly chunksMax: number
  /** The size of the first batch. Each further one is twice as large, up to `chunksMax`. */
  readonly firstChunksMax: number
  readonly charsMax: number
}

function batchLimits({ isUnbounded }: RowsToStore, options: StoringOptions): BatchLimits {
  const { POSITIVE_INFINITY: all } = Number
  const { batchChunks, pace } = options
  const own = batchChunks === undefined && pace !== undefined ? { pace } : {}
  if (!isUnbounded) return { chunksMax: all, firstChunksMax: all, charsMax: all, ...own }
  const chunksMax = batchChunks ?? pace?.()?.batchChunks ?? INGEST_LIMITS.batchChunks
  const { firstBatchChunks: firstChunksMax = chunksMax } = options
  return { chunksMax, firstChunksMax, charsMax: INGEST_LIMITS.batchChars, ...own }
}

/** Collects the rows of the next transaction. Its documents are in the order of their last rows. */
class PendingRows {
  #byId = new Map<string, ChunkedDocument>()
  #chunkCount = 0
  /** The characters of all chunks, counting overlaps twice. */
  #chars = 0
  #leftOut: JobError[] = []
  #skipped = NOTHING_LEFT_OUT
  #takenRows: number
  readonly #limits: BatchLimits
  #chunksMax: number

  /** @param firstRow how many rows of other sources came before */
  constructor(firstRow: number, limits: BatchLimits) {
    this.#takenRows = firstRow
    this.#limits = limits
    this.#chunksMax = Math.min(limits.firstChunksMax, limits.chunksMax)
  }

  get isFull(): boolean {
    if (this.#chunkCount >= this.#chunksMax || this.#chars >= this.#limits.charsMax) return true
    const pace = this.#limits.pace?.() ?? null
    if (pace === null) return false
    return this.#chunkCount >= pace.batchChunks || this.#chars >= INGEST_LIMITS.batchChars
  }

  get chunkCount(): number {
    return this.#chunkCount
  }

  add(row: Outcome<ChunkedDocument>): void {
    this.#takenRows += 1
    const item = `row ${this.#takenRows}`
    if (row instanceof AppError) this.#leftOut.push({ item, message: row.message })
    else if ('chunks' in row) this.#addDocument(row)
    else this.#skipped = withLeftOut(this.#skipped, { item: row.emptyId ?? item, message: EMPTY })
  }

  #addDocument(chunked: ChunkedDocument): void {
    const { id } = chunked.document
    const former = this.#byId.get(id)
    this.#chunkCount += chunked.chunks.length - (former?.chunks.length ?? 0)
    this.#chars += charsOf(chunked) - (former === undefined ? 0 : charsOf(former))
    this.#byId.delete(id)
    this.#byId.set(id, chunked)
  }

  take(): Batch {
    const documents = [...this.#byId.values()]
    const leftOut = this.#leftOut
    const skipped = this.#skipped
    this.#byId = new Map()
    this.#leftOut = []
    this.#skipped = NOTHING_LEFT_OUT
    this.#chunkCount = 0
    this.#chars = 0
    this.#chunksMax = Math.min(2 * this.#chunksMax, this.#limits.chunksMax)
    return { documents, takenRows: this.#takenRows, skipped, leftOut }
  }
}

function charsOf({ chunks }: ChunkedDocument): number {
  return chunks.reduce((sum, { chunk }) => sum + chunk.content.length, 0)
}

/** A row after each step, or the error why it cannot be stored. */
type Outcome<T> = T | AppError | { readonly emptyId: string | null }

export const EMPTY = 'Skipped: its content is empty'

/** If reading the source fails, all rows before the failure are returned first. */
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
  let sinceMs = 0
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
      if (batch.length === 0) sinceMs = performance.now()
      const read = outcomeOf(rowIndex - first, () => documentOfRow(row, rowIndex, mapping))
      if (read instanceof AppError) batch.push(read)
      else if (read.texts.length === 0) batch.push({ emptyId: read.id })
      else {
        batch.push({ ...read, id: read.id ?? (await contentId(read.texts, slice, signal)) })
        for (const { text } of read.texts) batchChars += text.length
      }
      const isOld = performance.now() - sinceMs >= INGEST_LIMITS.batchMs
      const isFull = batchChars >= INGEST_LIMITS.chunkingBatchChars || batch.length >= rowsMax
      if (isFull || isOld || read instanceof AppError) yield await chunkBatch()
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
    return outcomeOf(target.firstRow + index, () => {
      return storable(chunked.next().value) ?? { emptyId: row.id }
    })
  })
}

function isDocument(outcome: Outcome<Document>): outcome is Document {
  return 'texts' in outcome
}

function outcomeOf<T extends object>(index: number, work: () => T): T | AppError {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'insert_failed') throw error
    const message = `row ${index + 1}: ${error.message}`
    return new AppError('insert_failed', message, { cause: error })
  }
}

/**
 * Returns null if the document has no chunks. @throws AppError `insert_failed` if it is too large
 */
export function storable(chunked: ChunkedDocument | AppError | undefined): ChunkedDocument | null {
  if (chunked === undefined) throw new Error('a document was not chunked')
  if (chunked instanceof AppError) throw chunked
  const { document, chunks } = chunked
  if (chunks.length > INGEST_LIMITS.sourceChunksMax) throw tooManyChunks()
  refuseHugeMetadata(document, chunks.length)
  return chunks.length === 0 ? null : chunked
}

/** Limits the size, because each chunk of the document stores the metadata again. */
export function refuseHugeMetadata(
  { id, metadata }: Pick<Document, 'id'> & { readonly metadata: object },
  chunkCount: number,
): void {
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

/** Failures that are not the rows' fault keep their error codes. */
const KEPT_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...SERVER_FAILURES,
  ...(['invalid_select', 'crawl_failed', 'file_changed'] as const),
  ...(['unknown_provider', 'provider_refused', 'provider_failed', 'dimension_mismatch'] as const),
  ...(['knowledge_base_not_found', 'invalid_knowledge_base'] as const),
])

/** Adds the source's name and what was stored to the error. Bugs are unchanged. */
function failedInsert(error: unknown, { source, counts }: RowsToStore, before: number): unknown {
  if (!(error instanceof AppError)) return error
  const code = KEPT_CODES.has(error.code) ? error.code : 'insert_failed'
  // An error in a statement ends with the line and its caret.
  const end = error.message.includes('\n') ? '\n' : '. '
  const what = `${error.message}${end}${storedNote(source, before, counts.storedDocuments)}`
  const message =
    code === 'invalid_select'
      ? what
      : `Error during preprocessing and insertion: ${source}: ${what}`
  return new AppError(code, message, { cause: error })
}

/** @param before rows stored from other sources; @param after the same plus those of this source */
function storedNote(source: string, before: number, after: number): string {
  if (after === 0) return 'Nothing was stored'
  if (after === before) return `Stored: ${rowCount(before)} of the other sources`
  const own = `Stored: ${rowCount(after - before)} of ${source}`
  return before === 0 ? own : `${own} and ${rowCount(before)} of the other sources`
}

function rowCount(count: number): string {
  return count === 1 ? '1 row' : `${count} rows`
}
