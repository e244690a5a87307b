import {
  type Job,
  type JobError,
  joinedLeftOut,
  type LeftOutItems,
  NO_PROGRESS,
  NOTHING_LEFT_OUT,
  withLeftOut,
} from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type {
  AdoptedJob,
  JobDraft,
  JobMark,
  Jobs,
  JobWork,
  OngoingWork,
} from '../../core/domain/ports/job-ports.ts'
import type { DocumentStore } from '../../core/domain/ports/store-ports.ts'
import { AppError } from '../../core/errors.ts'
import { callerOf, onAbort, setCaller, settlesWithin } from '../../core/runtime/cancellation.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { noCounts, type StoredCounts } from '../sources/insert-request.ts'
import type { StoringOptions } from './storing-stages.ts'

interface Checkpoint {
  /**
   * The smallest key of chunks stored from a source without a fixed order; null if there are none.
   */
  readonly firstChunkKey: string | null
  /** The index of the current source, in request order. */
  readonly sourceIndex: number
  /** The number of its rows that are stored or left out. */
  readonly rows: number
  /** Totals of all sources before it. */
  readonly before: {
    readonly rows: number
    /** Missing if there are none, or if an earlier version wrote it. */
    readonly skipped?: number
    readonly leftOut: LeftOutItems
  }
}

interface SourceRun {
  /** Continue after this many rows, which are already stored or left out. */
  readonly doneRows: number
  readonly counts: StoredCounts
  readonly storing: StoringOptions
}

/** Small, so that rows become searchable soon and a killed process loses at most one. */
const BATCH_CHUNKS = 512
/** Small first batches make progress even if the process is killed again and again. */
const FIRST_BATCH_CHUNKS = 64

/** A job can wait for a busy or unreachable provider. */
const JOB_PACE = { batchChunks: BATCH_CHUNKS, patienceMs: 600_000 }

interface InsertTarget {
  readonly kb: KnowledgeBase
  readonly total: number | null
}

type Store = Pick<DocumentStore, 'nextChunkKey'>

/** Batches with progress marks, so that an insert can become a job between two of them. */
export class JobInsert {
  readonly counts: StoredCounts
  readonly #target: InsertTarget
  readonly #store: Store
  #job: AdoptedJob | null
  #checkpoint: Checkpoint
  #leftOut: LeftOutItems
  /** The mark for the batch being stored, and the rows stored with it. */
  #next: Mark
  #onDisk: Mark
  /** One write at a time, so that the state on disk is always known. */
  readonly #writes = new SerialQueue()

  private constructor(
    target: InsertTarget,
    { checkpoint, counts }: { readonly checkpoint: Checkpoint; readonly counts: StoredCounts },
    store: Store,
    job: AdoptedJob | null = null,
  ) {
    this.counts = counts
    this.#target = target
    this.#store = store
    this.#job = job
    this.#checkpoint = checkpoint
    this.#leftOut = job === null ? NOTHING_LEFT_OUT : leftOutOf(job)
    this.#next = this.#markOf(counts, checkpoint)
    this.#onDisk = this.#next
  }

  /** Null while a client waits for the insert. */
  get jobId(): number | null {
    return this.#job?.job.id ?? null
  }

  /** For a job, new or continued. */
  static async begin(work: JobWork, target: InsertTarget, store: Store): Promise<JobInsert> {
    // The job itself wrote its checkpoint, so the type is right.
    const known = work.checkpoint as Checkpoint | null
    const checkpoint = known ?? atBeginning(leftOutOf(work))
    const { documents: storedDocuments, chunks, skipped: skippedRows = 0 } = work.job.progress
    const readRows = checkpoint.before.rows
    const counts = { storedDocuments, chunks, skippedRows, readRows }
    const insert = new JobInsert(target, { checkpoint, counts }, store, work)
    if (known === null) await work.mark(insert.#onDisk)
    return insert
  }

  static waitedFor(target: InsertTarget, store: Store): JobInsert {
    const counts = noCounts()
    return new JobInsert(target, { checkpoint: atBeginning(NOTHING_LEFT_OUT), counts }, store)
  }

  /** Waits for the current batch. @param adopt returns null if the insert cannot become a job */
  becomeJob(
    adopt: (onDisk: OngoingWork['onDisk']) => Promise<AdoptedJob | null>,
  ): Promise<AdoptedJob | null> {
    return this.#writes.run(async () => {
      this.#job = await adopt(this.#onDisk)
      return this.#job
    })
  }

  /** @param source if `isInOrder` is false, it is read again, skipping what is stored */
  async store(
    { index, isInOrder }: { readonly index: number; readonly isInOrder: boolean },
    run: (source: SourceRun) => Promise<void>,
  ): Promise<void> {
    const { sourceIndex, before, rows } = this.#checkpoint
    if (index < sourceIndex) return
    const firstChunkKey = await this.#firstChunkKey(isInOrder)
    const isBegun = index === sourceIndex && rows > 0
    const doneRows = isBegun && isInOrder ? rows : 0
    const isAgain = isBegun && !isInOrder
    if (isAgain && this.#checkpoint.firstChunkKey === null) throw fileChanged()
    // When a source is read again, its items are skipped again.
    if (isAgain) {
      this.#leftOut = before.leftOut
      this.counts.skippedRows = before.skipped ?? 0
    }
    this.counts.readRows = before.rows + doneRows
    const storing: StoringOptions = {
      ...(this.#job === null ? {} : { firstBatchChunks: FIRST_BATCH_CHUNKS }),
      pace: () => (this.#job === null ? null : JOB_PACE),
      ...(isAgain && firstChunkKey !== null ? { leavesStoredSince: BigInt(firstChunkKey) } : {}),
      markOf: (stored) => {
        const done = { sourceIndex: index, rows: stored.readRows - before.rows, before }
        this.#next = this.#markOf(stored, { firstChunkKey, ...done })
        return this.#job === null ? undefined : { ...this.#next, jobId: this.#job.job.id }
      },
      alone: (work) => {
        return this.#writes.run(async () => {
          await work()
          this.#onDisk = this.#next
        })
      },
      onLeftOut: (error) => this.leaveOut(error),
      onEmbedded: (chunkCount) => this.#job?.noteEmbedded(chunkCount),
      onSkipped: (rows) => {
        this.#leftOut = joinedLeftOut(this.#leftOut, rows)
      },
    }
    await run({ doneRows, counts: this.counts, storing })
    await this.#writes.run(async () => {
      this.#checkpoint = {
        firstChunkKey,
        sourceIndex: index + 1,
        rows: 0,
        before: {
          rows: this.counts.readRows,
          skipped: this.counts.skippedRows,
          leftOut: this.#leftOut,
        },
      }
      this.#next = this.#markOf(this.counts, this.#checkpoint)
      await this.#job?.mark(this.#next)
      this.#onDisk = this.#next
    })
  }

  /** Recorded with the next batch, or at the end of the source. */
  leaveOut(error: JobError): void {
    this.#leftOut = withLeftOut(this.#leftOut, error)
  }

  async #firstChunkKey(isInOrder: boolean): Promise<string | null> {
    const { firstChunkKey } = this.#checkpoint
    if (isInOrder || firstChunkKey !== null) return firstChunkKey
    return String(await this.#store.nextChunkKey(this.#target.kb))
  }

  #markOf(stored: StoredCounts, checkpoint: Checkpoint): Mark {
    const { rows } = this.#job?.job.progress ?? NO_PROGRESS
    return {
      progress: {
        // When a source is read again, rows that were read before still count.
        rows: Math.max(stored.readRows, rows, stored.storedDocuments),
        documents: stored.storedDocuments,
        chunks: stored.chunks,
        total: this.#target.total,
        skipped: stored.skippedRows,
      },
      checkpoint,
      leftOut: this.#leftOut,
    }
  }
}

type Mark = Omit<JobMark, 'jobId'>

/** Only the rows of files can be in order first and, after a file was replaced, no longer. */
function fileChanged(): AppError {
  const message = 'A file was replaced after some of its rows were stored'
  return new AppError('file_changed', `${message}; retry the job to read the new one`)
}

function atBeginning(leftOut: LeftOutItems): Checkpoint {
  return { firstChunkKey: null, sourceIndex: 0, rows: 0, before: { rows: 0, leftOut } }
}

function leftOutOf({ job }: AdoptedJob): LeftOutItems {
  const { errors, errorCount } = job
  return { errors, errorCount }
}

/** An insert that a client waits for. If it takes too long, it becomes a job. */

interface LongInsert<T> {
  readonly kb: KnowledgeBase
  readonly total: number | null
  readonly run: (insert: JobInsert, signal: AbortSignal) => Promise<T>
  /** Returns the job request from which the insert continues after a restart. */
  readonly draft: () => JobDraft
}

export interface LongInsertDeps {
  readonly chunks: Pick<DocumentStore, 'nextChunkKey'>
  readonly jobs: Pick<Jobs, 'adopt'>
  /** How long the client waits; 0 means until the end. */
  readonly waitMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

type LongInsertOutcome<T> =
  | { readonly kind: 'stored'; readonly value: T }
  | { readonly kind: 'job'; readonly job: Job }

/** A client that disconnects ends the insert. @throws errors of `run` while it waits */
export async function insertOrJob<T>(
  { kb, total, run, draft }: LongInsert<T>,
  { chunks, jobs, waitMs, now }: LongInsertDeps,
  signal: AbortSignal,
): Promise<LongInsertOutcome<T>> {
  const startedAt = timestampOfMillis(now())
  const insert = JobInsert.waitedFor({ kb, total }, chunks)
  const stopping = new AbortController()
  setCaller(stopping.signal, callerOf(signal))
  const stopListening = onAbort(signal, () => stopping.abort(leftBy(signal)))
  let isOver = false
  const ended = run(insert, stopping.signal).finally(() => {
    isOver = true
  })
  try {
    while (!(await settlesWithin(ended, waitMs === 0 ? null : waitMs))) {
      const job = await insert.becomeJob(async (onDisk) => {
        if (isOver || stopping.signal.aborted) return null
        return adopted(() => jobs.adopt(draft(), { startedAt, onDisk, stopping, ended }))
      })
      if (job === null) continue
      return { kind: 'job', job: job.job }
    }
    return { kind: 'stored', value: await ended }
  } catch (error) {
    stopping.abort(error)
    throw error
  } finally {
    stopListening()
  }
}

/** The knowledge base shows it as the error of its last insert. */
function leftBy({ reason }: AbortSignal): AppError {
  if (reason instanceof AppError) return reason
  return new AppError('cancelled', 'The client closed the connection', { cause: reason })
}

/**
 * If the insert cannot become a job, for example because the disk is full, it continues as before.
 */
async function adopted<T>(adopt: () => Promise<T>): Promise<T | null> {
  try {
    return await adopt()
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return null
    throw error
  }
}
