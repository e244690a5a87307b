import type { KnowledgeBase } from '../knowledge-base.ts'
import type { StoredJob } from './job.ts'

/** The last insert into a knowledge base, or the one at work. */
export interface InsertState {
  readonly knowledgeBaseId: number
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC; null: it goes on. */
  readonly startedAt: string | null
  readonly finishedAt: string | null
  /** Rows that are stored or left out. */
  readonly processedRows: number
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

export function insertOfJob({ id }: Pick<KnowledgeBase, 'id'>, job: StoredJob): InsertState {
  const { startedAt, finishedAt, error, progress } = job
  const processedRows = progress.rows
  return { knowledgeBaseId: id, startedAt, finishedAt, processedRows, error, jobId: job.id }
}
