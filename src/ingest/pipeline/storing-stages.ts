import type { Row } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { JobError, LeftOutItems } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { JobMark } from '../../core/domain/ports/job-ports.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import type { ChunkedDocument } from '../chunking/chunker.ts'
import type { StoredCounts } from '../sources/insert-request.ts'
import type { EmbedDeps } from './contextual.ts'
import {
  type DocumentsTarget,
  type KnownVectors,
  type PreparedDocuments,
  prepareDocuments,
  storePrepared,
} from './embed-documents.ts'

/** Prepares and stores batches: one is embedded while the previous one is stored. */

export interface RowsToStore {
  readonly kb: KnowledgeBase
  /** The source's name for errors. */
  readonly source: string
  readonly rows: AsyncIterable<Row> | readonly Row[]
  /** Whether to store in batches, because the number of rows is unknown. */
  readonly isUnbounded: boolean
  readonly counts: StoredCounts
}

export interface StoringOptions {
  /** Whether to skip documents whose ids are already stored. */
  readonly skipsStored?: boolean
  /** Skip documents with chunks from this key on, because they were stored since then. */
  readonly leavesStoredSince?: bigint
  /** If rows cannot be stored, counts them in `failedRows` and continues. */
  readonly skipsFailed?: boolean
  /** Chunks per batch of an unbounded source; by default `pace` decides. */
  readonly batchChunks?: number
  /** The size of the first batch. Each further one is twice as large, up to `batchChunks`. */
  readonly firstBatchChunks?: number
  /** For each batch, in order. The mark is written in the batch's transaction. */
  readonly markOf?: (stored: StoredCounts) => JobMark | undefined
  /** Stores one batch, possibly after waiting. */
  readonly alone?: (work: () => Promise<void>) => Promise<void>
  /** Called for rows without content, before the mark of their batch is created. */
  readonly onSkipped?: (rows: LeftOutItems) => void
  /** Called for a row that is left out, before the mark of its batch is created. */
  readonly onLeftOut?: (error: JobError) => void
  /** Called as chunks are embedded, long before a large document is stored. */
  readonly onEmbedded?: (chunkCount: number) => void
  /** Called before each batch. Null: no special pace, because a client may be waiting. */
  readonly pace?: () => {
    /** Chunks per batch, for every source. */
    readonly batchChunks: number
    /** How long to retry a failing call to the embedding model. */
    readonly patienceMs: number
  } | null
}

export interface Batch {
  readonly documents: readonly ChunkedDocument[]
  /** Rows up to the end of the batch, which are stored, skipped or left out with it. */
  readonly takenRows: number
  /** Rows of the batch without content. */
  readonly skipped: LeftOutItems
  readonly leftOut: readonly JobError[]
}

interface ReadyBatch extends Batch {
  readonly known: KnownVectors
  /** An error if the batch cannot be stored; null if there is nothing to store. */
  readonly prepared: PreparedDocuments | AppError | null
}

export class StoringStages implements BatchStages<Batch, ReadyBatch> {
  readonly #target: RowsToStore
  readonly #deps: EmbedDeps
  readonly #signal: AbortSignal
  readonly #options: StoringOptions
  #inForce: KnowledgeBase
  /** The ids of the previous batch, which may still be running. */
  #formerIds: ReadonlySet<string> = new Set()

  constructor(target: RowsToStore, deps: EmbedDeps, signal: AbortSignal, options: StoringOptions) {
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
    // Wait for the earlier version of a repeated document, because its stored state is looked up.
    if (isRepeated) await former.catch(() => {})
    const kb = this.#inForce
    const documents = await this.#documentsToStore(kb, batch.documents)
    const known: KnownVectors = new Map()
    if (documents.length === 0) return { ...batch, documents, known, prepared: null }
    const { leftOut, error, ...sorted } = await this.#prepareUsable({ kb, documents }, known)
    // If the model refuses every text, the texts are not the cause.
    const isEverything = sorted.documents.length === 0 && documents.length > 1
    if (isEverything && error?.code === 'provider_refused') throw error
    return { ...batch, known, ...sorted, leftOut: [...batch.leftOut, ...leftOut] }
  }

  async store(batch: ReadyBatch): Promise<void> {
    const store = async () => {
      this.#options.onSkipped?.(batch.skipped)
      this.#target.counts.skippedRows += batch.skipped.errorCount
      for (const one of batch.leftOut) this.#leaveOut(one)
      await this.#store(batch, true)
    }
    await (this.#options.alone?.(store) ?? store())
  }

  /** Returns the documents that can be prepared. Faulty ones are found by bisection. */
  async #prepareUsable(
    { kb, documents }: DocumentsTarget,
    known: KnownVectors,
  ): Promise<SortedDocuments> {
    try {
      const prepared = await this.#prepare({ kb, documents }, known)
      return { documents, prepared, leftOut: [], error: null }
    } catch (error) {
      if (!this.mayLeaveOut(error)) throw error
      // Do not bisect: a chat model's texts are not cached and would be requested again for each
      // half.
      const isWhole = error.code === 'provider_failed' || kb.preprocessing.contextual !== undefined
      if (isWhole) return { documents, prepared: error, leftOut: [], error }
      if (documents.length === 1) return noneOf(documents, error)
      const sorted: SortedDocuments[] = []
      for (const half of halvesOf(documents)) {
        sorted.push(await this.#prepareUsable({ kb, documents: half }, known))
      }
      const usable = sorted.flatMap((one) =>
        one.prepared instanceof AppError ? [] : one.documents,
      )
      const leftOut = sorted.flatMap(leftOutOf)
      const prepared =
        usable.length === 0 ? null : await this.#prepare({ kb, documents: usable }, known)
      return { documents: usable, prepared, leftOut, error }
    }
  }

  async #prepare(target: DocumentsTarget, known: KnownVectors): Promise<PreparedDocuments> {
    await this.#deps.chunks.checkDeclared(
      target.kb,
      target.documents.map(({ document }) => document),
    )
    return prepareDocuments(target, this.#deps, this.#signal, known)
  }

  /** @param isEnd whether all of the batch is now stored or left out */
  async #store(batch: ReadyBatch, isEnd: boolean): Promise<void> {
    const { documents, prepared } = batch
    if (prepared === null) return
    const { counts } = this.#target
    const chunkCount = documents.reduce((sum, { chunks }) => sum + chunks.length, 0)
    const stored = {
      ...counts,
      storedDocuments: counts.storedDocuments + documents.length,
      chunks: counts.chunks + chunkCount,
      readRows: batch.takenRows,
    }
    try {
      if (prepared instanceof AppError) throw prepared
      const mark = isEnd ? this.#options.markOf?.(stored) : undefined
      this.#inForce = await storePrepared({ ...prepared, mark }, this.#deps, this.#signal)
    } catch (error) {
      if (!this.mayLeaveOut(error)) throw error
      const isWhole = prepared instanceof AppError || documents.length === 1
      if (!isWhole) return this.#storeByHalves(batch, prepared.kb, isEnd)
      for (const one of noneOf(documents, error).leftOut) this.#leaveOut(one)
      return
    }
    counts.storedDocuments = stored.storedDocuments
    counts.chunks = stored.chunks
  }

  /** Uses bisection to find rows that the store refuses. */
  async #storeByHalves(batch: ReadyBatch, kb: KnowledgeBase, isEnd: boolean): Promise<void> {
    const [first, second] = halvesOf(batch.documents)
    for (const documents of [first, second]) {
      const prepared = await this.#prepare({ kb, documents }, batch.known)
      await this.#store({ ...batch, documents, prepared }, isEnd && documents === second)
    }
  }

  async #documentsToStore(
    kb: KnowledgeBase,
    documents: readonly ChunkedDocument[],
  ): Promise<readonly ChunkedDocument[]> {
    const { skipsStored = false, leavesStoredSince: since } = this.#options
    const missing = skipsStored ? await unstored(kb, documents, this.#deps) : documents
    return since === undefined
      ? missing
      : changedSince(since, { kb, documents: missing }, this.#deps)
  }

  /** Whether to store the rest after this error. */
  mayLeaveOut(error: unknown): error is AppError {
    if (this.#options.skipsFailed !== true || this.#signal.aborted) return false
    if (!(error instanceof AppError)) return false
    return SKIPPED_CODES.has(error.code) || isRefusedText(error)
  }

  #leaveOut(error: JobError): void {
    const { counts } = this.#target
    counts.failedRows = (counts.failedRows ?? 0) + 1
    this.#options.onLeftOut?.(error)
  }
}

/** Documents with their vectors, and those that are left out. */
interface SortedDocuments extends Pick<ReadyBatch, 'documents' | 'prepared' | 'leftOut'> {
  /** Why some documents are left out. */
  readonly error: AppError | null
}

function noneOf(documents: readonly ChunkedDocument[], error: AppError): SortedDocuments {
  const leftOut = idsOf(documents).map((item) => ({ item, message: error.message }))
  return { documents: [], prepared: null, leftOut, error }
}

function leftOutOf({ documents, prepared, leftOut }: SortedDocuments): readonly JobError[] {
  return prepared instanceof AppError ? noneOf(documents, prepared).leftOut : leftOut
}

function halvesOf<T>(items: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = items.length >> 1
  return [items.slice(0, middle), items.slice(middle)]
}

/** Statuses with which a model refuses this text. Others mean that it accepts no text at all. */
const TEXT_STATUSES: readonly unknown[] = [400, 413, 422]

export function isRefusedText({ code, cause }: AppError): boolean {
  const status = cause instanceof Error && 'status' in cause ? cause.status : null
  return code === 'provider_refused' && TEXT_STATUSES.includes(status)
}

function idsOf(documents: readonly ChunkedDocument[]): readonly string[] {
  return documents.map(({ document }) => document.id)
}

/** Failures after which the next rows may still be stored. */
const SKIPPED_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'insert_failed',
  'provider_failed',
  'dimension_mismatch',
])

/** Leaves out documents that were stored since then with the same texts. */
async function changedSince(
  firstKey: bigint,
  { kb, documents }: { readonly kb: KnowledgeBase; readonly documents: readonly ChunkedDocument[] },
  { chunks }: EmbedDeps,
): Promise<readonly ChunkedDocument[]> {
  const textsOf = new Map<string, string[]>()
  const ids = idsOf(documents)
  for (let start = 0; start < ids.length; start += INGEST_LIMITS.lookupDocuments) {
    const some = ids.slice(start, start + INGEST_LIMITS.lookupDocuments)
    for (const { documentId, chunkKey, content } of await chunks.storedTexts(kb, some)) {
      if (chunkKey < firstKey) continue
      const texts = textsOf.get(documentId) ?? []
      texts.push(content)
      textsOf.set(documentId, texts)
    }
  }
  return documents.filter(({ document, chunks: wanted }) => {
    const texts = textsOf.get(document.id)
    if (texts?.length !== wanted.length) return true
    return wanted.some(({ chunk }, index) => chunk.content !== texts[index])
  })
}

async function unstored(
  kb: KnowledgeBase,
  documents: readonly ChunkedDocument[],
  { chunks }: EmbedDeps,
): Promise<readonly ChunkedDocument[]> {
  const ids = idsOf(documents)
  const stored = new Set<string>()
  for (let start = 0; start < ids.length; start += INGEST_LIMITS.lookupDocuments) {
    const some = ids.slice(start, start + INGEST_LIMITS.lookupDocuments)
    for (const { documentId } of await chunks.storedTexts(kb, some)) stored.add(documentId)
  }
  return documents.filter(({ document }) => !stored.has(document.id))
}

interface BatchStages<Batch, Ready> {
  /** @param former settles when the previous batch is stored */
  prepare(batch: Batch, former: Promise<void>): Promise<Ready>
  store(ready: Ready): Promise<void>
}

/** If several fail, throws the error of the first, as if each were stored first. */
export class BatchPipeline<Batch, Ready> {
  readonly #stages: BatchStages<Batch, Ready>
  readonly #onFailure: (error: unknown) => void
  /** Settles when the last batch is stored, or has failed. */
  #entered: Promise<void> = Promise.resolve()
  #stored: Promise<void> = Promise.resolve()
  #failure: { readonly error: unknown } | null = null

  /** @param onFailure called at once, because no more rows need to be collected */
  constructor(stages: BatchStages<Batch, Ready>, onFailure: (error: unknown) => void) {
    this.#stages = stages
    this.#onFailure = onFailure
  }

  /** Resolves when the next one can be added. @throws the error of an earlier batch */
  async add(batch: Batch): Promise<void> {
    await this.#entered
    if (this.#failure !== null) throw this.#failure.error
    const former = this.#stored
    const prepared = this.#stages.prepare(batch, former)
    // Its error is thrown below, after any error of the previous batch.
    prepared.catch(ignore)
    const entered = former.then(() => prepared)
    this.#entered = entered.then(ignore, ignore)
    this.#stored = entered.then((ready) => this.#stages.store(ready))
    this.#stored.catch((error: unknown) => this.#fail(error))
  }

  /** Resolves when all batches are stored. @throws the error of the first batch that failed */
  async end(): Promise<void> {
    await this.#stored
  }

  /** @returns the error of the first batch that failed, or null if all are stored */
  async settled(): Promise<{ readonly error: unknown } | null> {
    await this.#stored.catch(ignore)
    return this.#failure
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return
    this.#failure = { error }
    this.#onFailure(error)
  }
}

function ignore(): void {}
