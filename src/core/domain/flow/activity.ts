import type { KnowledgeBase } from '../knowledge-base.ts'
import type { StoredJob } from './job.ts'

/** The last insert into a knowledge base, or the one at work. */
export interface InsertState {
  readonly knowledgeBaseId: number
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC; null: it goes on. */
  readonly startedAt: string | null
  readonly finishedAt: string | null
  /** Rows that are stored. */
  readonly processedRows: number
  /** Rows that were not, because their content is empty. */
  readonly skippedRows: number
  readonly error: string | null
  /** Of the job that does it; null: a request waits for it. */
  readonly jobId: number | null
}

/** What goes on at this moment. */
export interface Activity {
  /** Grows with every change. */
  readonly version: number
  readonly inserts: readonly InsertState[]
  /** In the order in which they were made. */
  readonly jobs: readonly StoredJob[]
}

export const NO_ACTIVITY: Activity = { version: 0, inserts: [], jobs: [] }

/** null: nothing was inserted that is known of. After a restart only jobs are. */
export function lastInsertInto(kb: KnowledgeBase, { inserts, jobs }: Activity): InsertState | null {
  const known = inserts.findLast(({ knowledgeBaseId }) => knowledgeBaseId === kb.id)
  if (known !== undefined) return known
  const job = jobs.findLast((one) => {
    const isOfIt = one.projectName === kb.projectName && one.knowledgeBase === kb.name
    return isOfIt && one.kind === 'insert' && one.createdAt >= kb.createdAt
  })
  return job === undefined ? null : insertOfJob(kb, job)
}

/** The rows of an insert without those that were left out or skipped. */
export function storedRowsOf({ progress, errorCount }: Pick<StoredJob, 'progress' | 'errorCount'>) {
  return Math.max(progress.rows - errorCount, 0)
}

export function insertOfJob({ id }: Pick<KnowledgeBase, 'id'>, job: StoredJob): InsertState {
  const { startedAt, finishedAt, error, progress } = job
  const { skipped: skippedRows = 0 } = progress
  const processedRows = storedRowsOf(job)
  const rows = { processedRows, skippedRows }
  return { knowledgeBaseId: id, startedAt, finishedAt, ...rows, error, jobId: job.id }
}
