import { type LeftOutItems, withLeftOut } from '../../domain/flow/job.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { JobMark, JobWork } from '../../domain/ports/job-ports.ts'
import type { DocumentStore } from '../../domain/ports/store-ports.ts'
import type { StoredCounts, StoringOptions } from '../storing-stages.ts'

/** Where the job of an insert is. */
interface Checkpoint {
  /** The chunks of the job have this key or a greater one. */
  readonly firstChunkKey: string
  /** Of the source at work, in the order of the request. */
  readonly sourceIndex: number
  /** Rows of it that are stored or left out. */
  readonly rows: number
  /** Of all sources before it. */
  readonly before: { readonly rows: number; readonly leftOut: LeftOutItems }
}

/** How one source is stored. */
export interface SourceRun {
  /** Rows at its beginning that are stored or left out already: it goes on after them. */
  readonly doneRows: number
  readonly counts: StoredCounts
  readonly storing: StoringOptions
}

/**
 * A transaction of a job is small enough to be there soon: what is stored can be searched, and a kill loses no more than it.
 */
const BATCH_CHUNKS = 512
/** Whoever is killed again and again gets on all the same. */
const FIRST_BATCH_CHUNKS = 64

/** A provider that is busy or down may come back: a job has the time. */
const PATIENCE_MS = 600_000

/** How far the job of an insert is, source by source. Each batch is stored with its mark. */
export class JobInsert {
  /** Grow while it works. */
  readonly counts: StoredCounts
  readonly #work: JobWork
  readonly #total: number | null
  #checkpoint: Checkpoint
  #leftOut: LeftOutItems

  private constructor(work: JobWork, checkpoint: Checkpoint, total: number | null) {
    const { errors, errorCount, progress } = work.job
    this.#work = work
    this.#checkpoint = checkpoint
    this.#total = total
    this.#leftOut = { errors, errorCount }
    const { documents: storedDocuments, chunks } = progress
    this.counts = { storedDocuments, chunks, skippedRows: 0, readRows: checkpoint.before.rows }
  }

  /** @param total rows of all sources; null: nobody knows */
  static async begin(
    work: JobWork,
    { kb, total }: { readonly kb: KnowledgeBase; readonly total: number | null },
    store: Pick<DocumentStore, 'nextChunkKey'>,
  ): Promise<JobInsert> {
    // What a job has stored as its checkpoint is its own.
    const known = work.checkpoint as Checkpoint | null
    if (known !== null) return new JobInsert(work, known, total)
    const { errors, errorCount } = work.job
    const checkpoint = {
      firstChunkKey: String(await store.nextChunkKey(kb)),
      sourceIndex: 0,
      rows: 0,
      before: { rows: 0, leftOut: { errors, errorCount } },
    }
    const insert = new JobInsert(work, checkpoint, total)
    await work.mark(insert.#markOf(insert.counts, checkpoint))
    return insert
  }

  /**
   * Stores one source, or what is missing of it.
   * @param source `isInOrder`: its rows come in the same order whenever it is read. Any other is read again from its
   * beginning, and what the job has stored of it is left alone
   */
  async store(
    { index, isInOrder }: { readonly index: number; readonly isInOrder: boolean },
    run: (source: SourceRun) => Promise<void>,
  ): Promise<void> {
    const { sourceIndex, before, rows, firstChunkKey } = this.#checkpoint
    if (index < sourceIndex) return
    const isBegun = index === sourceIndex && rows > 0
    const doneRows = isBegun && isInOrder ? rows : 0
    const isAgain = isBegun && !isInOrder
    // Its items are left out once more.
    if (isAgain) this.#leftOut = before.leftOut
    this.counts.readRows = before.rows + doneRows
    const storing: StoringOptions = {
      batchChunks: BATCH_CHUNKS,
      firstBatchChunks: FIRST_BATCH_CHUNKS,
      patienceMs: PATIENCE_MS,
      ...(isAgain ? { leavesStoredSince: BigInt(firstChunkKey) } : {}),
      markOf: (stored) => {
        const done = { sourceIndex: index, rows: stored.readRows - before.rows, before }
        return this.#markOf(stored, { firstChunkKey, ...done })
      },
      onLeftOut: (error) => {
        this.#leftOut = withLeftOut(this.#leftOut, error)
      },
    }
    await run({ doneRows, counts: this.counts, storing })
    this.#checkpoint = {
      firstChunkKey,
      sourceIndex: index + 1,
      rows: 0,
      before: { rows: this.counts.readRows, leftOut: this.#leftOut },
    }
    await this.#work.mark(this.#markOf(this.counts, this.#checkpoint))
  }

  #markOf(stored: StoredCounts, checkpoint: Checkpoint): JobMark {
    const { job } = this.#work
    return {
      jobId: job.id,
      progress: {
        // What was read before stays read while a source is read again.
        rows: Math.max(stored.readRows, job.progress.rows, stored.storedDocuments),
        documents: stored.storedDocuments,
        chunks: stored.chunks,
        total: this.#total,
      },
      checkpoint,
      leftOut: this.#leftOut,
    }
  }
}
