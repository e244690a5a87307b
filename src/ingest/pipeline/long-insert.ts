/** An insert that somebody waits for, until it takes too long: then it is a job, and goes on as it is. */
import type { Job } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { JobDraft, Jobs } from '../../core/domain/ports/job-ports.ts'
import type { DocumentStore } from '../../core/domain/ports/store-ports.ts'
import { timestampOfMillis } from '../../core/domain/timestamp.ts'
import { AppError } from '../../core/errors.ts'
import { callerOf, onAbort, setCaller, settlesWithin } from '../../core/runtime/cancellation.ts'
import { JobInsert } from './job-insert.ts'

export interface LongInsert<T> {
  readonly kb: KnowledgeBase
  /** Rows of all sources; null: nobody knows. */
  readonly total: number | null
  readonly run: (insert: JobInsert, signal: AbortSignal) => Promise<T>
  /** From which it goes on after a restart. */
  readonly draft: () => JobDraft
}

export interface LongInsertDeps {
  readonly chunks: Pick<DocumentStore, 'nextChunkKey'>
  readonly jobs: Pick<Jobs, 'adopt'>
  /** How long somebody waits; 0: until its end. */
  readonly waitMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export type LongInsertOutcome<T> =
  | { readonly kind: 'stored'; readonly value: T }
  | { readonly kind: 'job'; readonly job: Job }

/**
 * Who leaves ends it, until it is a job. Where none more may begin so, it is waited for on and on.
 * @throws what `run` throws while somebody waits
 */
export async function insertOrJob<T>(
  { kb, total, run, draft }: LongInsert<T>,
  { chunks, jobs, waitMs, now }: LongInsertDeps,
  signal: AbortSignal,
): Promise<LongInsertOutcome<T>> {
  const startedAt = timestampOfMillis(now())
  const insert = JobInsert.waitedFor({ kb, total }, chunks)
  const stopping = new AbortController()
  setCaller(stopping.signal, callerOf(signal))
  const stopListening = onAbort(signal, () => stopping.abort(signal.reason))
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

/** What keeps it from being a job, such as a full disk, is no reason to end it. */
async function adopted<T>(adopt: () => Promise<T>): Promise<T | null> {
  try {
    return await adopt()
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return null
    throw error
  }
}
