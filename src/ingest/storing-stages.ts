/** A batch of documents on its way: embedded while the one before is stored. */
import type { Row } from '../domain/document.ts'
import type { JobError } from '../domain/flow/job.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { JobMark } from '../domain/ports/job-ports.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import type { BatchStages } from './batch-pipeline.ts'
import type { ChunkedDocument } from './chunking/chunker.ts'
import {
  type EmbedDeps,
  type PreparedDocuments,
  prepareDocuments,
  storePrepared,
  type VectorsAhead,
} from './embed-documents.ts'
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

export interface Batch {
  /** With distinct ids. */
  readonly documents: readonly ChunkedDocument[]
  /** Rows up to its end, and those without content among them: stored or left out once it is. */
  readonly takenRows: number
  readonly emptyRows: number
  readonly leftOut: readonly JobError[]
  /** Unset: nothing of it is known before. */
  readonly ahead?: VectorsAhead | null
}

export interface ReadyBatch extends Batch {
  /** Why it cannot be stored; null: it has nothing to store. */
  readonly prepared: PreparedDocuments | AppError | null
}

/** What becomes of a batch of documents. */
export class StoringStages implements BatchStages<Batch, ReadyBatch> {
  readonly #target: RowsToStore
  readonly #deps: StoreDeps
  readonly #signal: AbortSignal
  readonly #options: StoringOptions
  #inForce: KnowledgeBase
  /** Of the batch before, which may be on its way yet. */
  #formerIds: ReadonlySet<string> = new Set()

  constructor(target: RowsToStore, deps: StoreDeps, signal: AbortSignal, options: StoringOptions) {
    this.#target = target
    this.#deps = deps
    this.#signal = signal
    this.#options = options
    this.#inForce = target.kb
  }

  async prepare(batch: Batch, former: Promise<void>): Promise<ReadyBatch> {
    const ids = new Set(idsOf(batch.documents))
    const isRepeated = this.#formerIds.values().some((id) => ids.has(id))
    this.#formerIds = ids
    // What is stored of a document is looked up: its former version must be there.
    if (isRepeated) await former.catch(() => {})
    const kb = this.#inForce
    const isSkipping = this.#options.skipsStored === true
    const documents = isSkipping ? await unstored(kb, batch.documents, this.#deps) : batch.documents
    const wanted = { ...batch, documents }
    if (documents.length === 0) return { ...wanted, prepared: null }
    try {
      await this.#deps.chunks.checkDeclared(
        kb,
        documents.map(({ document }) => document),
      )
      const target = { kb, documents }
      const prepared = await prepareDocuments(target, this.#deps, this.#signal, batch.ahead ?? null)
      return { ...wanted, prepared }
    } catch (error) {
      if (!this.mayLeaveOut(error)) throw error
      return { ...wanted, prepared: error }
    }
  }

  async store(batch: ReadyBatch): Promise<void> {
    const { documents, prepared } = batch
    for (const one of batch.leftOut) this.#leaveOut(one)
    if (prepared === null) return
    const { counts } = this.#target
    const chunkCount = chunkCountOf(documents)
    const mark = this.#options.markOf?.({
      ...counts,
      skippedRows: counts.skippedRows + batch.emptyRows,
      storedDocuments: counts.storedDocuments + documents.length,
      chunks: counts.chunks + chunkCount,
      readRows: batch.takenRows,
    })
    try {
      if (prepared instanceof AppError) throw prepared
      this.#inForce = await storePrepared({ ...prepared, mark }, this.#deps, this.#signal)
    } catch (error) {
      if (!this.mayLeaveOut(error)) throw error
      for (const item of idsOf(documents)) this.#leaveOut({ item, message: error.message })
      return
    }
    counts.storedDocuments += documents.length
    counts.chunks += chunkCount
  }

  /** Whether the rest is to be stored in spite of it. */
  mayLeaveOut(error: unknown): error is AppError {
    const isOfRows = error instanceof AppError && SKIPPED_CODES.has(error.code)
    return this.#options.skipsFailed === true && !this.#signal.aborted && isOfRows
  }

  #leaveOut(error: JobError): void {
    const { counts } = this.#target
    counts.failedRows = (counts.failedRows ?? 0) + 1
    this.#options.onLeftOut?.(error)
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
