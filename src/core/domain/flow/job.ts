import { shortened } from '../../short-text.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'

/** Background work that survives a restart and can be watched. */
export interface Job {
  readonly id: number
  readonly kind: JobKind
  readonly state: JobState
  readonly projectName: string
  /** The knowledge base it writes to, or null. */
  readonly knowledgeBase: string | null
  /** A description for people: one line, without values. */
  readonly title: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC; null: not yet. */
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly progress: JobProgress
  /** Recent rows per second; null: unknown, or finished. */
  readonly rate: number | null
  /** null: unknown. */
  readonly remainingSeconds: number | null
  /** Why it failed; null: it did not. */
  readonly error: string | null
  /** The first items left out; `errorCount` counts all. */
  readonly errors: readonly JobError[]
  readonly errorCount: number
}

/** A stored job. */
export type StoredJob = Omit<Job, 'rate' | 'remainingSeconds'>

/**
 * insert: rows into a knowledge base; sync: a run of a source; schedule: scheduled statements; import: an export file;
 * evaluation: questions to an agent; rechunk: new chunks for stored documents.
 */
export const JOB_KINDS = ['insert', 'sync', 'schedule', 'import', 'evaluation', 'rechunk'] as const

export type JobKind = (typeof JOB_KINDS)[number]

export const JOB_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const

export type JobState = (typeof JOB_STATES)[number]

/** The state on disk, exact at any moment. */
export interface JobProgress {
  /** Read from the source. */
  readonly rows: number
  readonly documents: number
  readonly chunks: number
  /** Rows among `rows` not stored because their content is empty; missing: none. */
  readonly skipped?: number
  /** Total rows; null: unknown. */
  readonly total: number | null
}

export const NO_PROGRESS: JobProgress = { rows: 0, documents: 0, chunks: 0, total: null }

export interface JobError {
  /** An id, a row's number, a path or an address. */
  readonly item: string
  readonly message: string
}

/** Items left out: the first of them, and their number. */
export interface LeftOutItems {
  readonly errors: readonly JobError[]
  readonly errorCount: number
}

export const NOTHING_LEFT_OUT: LeftOutItems = { errors: [], errorCount: 0 }

const ERRORS_MAX = 100
const ERROR_CHARS_MAX = 1000

export function withLeftOut(
  { errors, errorCount }: LeftOutItems,
  { item, message }: JobError,
): LeftOutItems {
  if (errors.length >= ERRORS_MAX) return { errors, errorCount: errorCount + 1 }
  const shown = {
    item: shortened(item, ERROR_CHARS_MAX),
    message: shortened(message, ERROR_CHARS_MAX),
  }
  return { errors: [...errors, shown], errorCount: errorCount + 1 }
}

export function joinedLeftOut(all: LeftOutItems, next: LeftOutItems): LeftOutItems {
  const { errors } = next.errors.reduce(withLeftOut, all)
  return { errors, errorCount: all.errorCount + next.errorCount }
}

/** Items left out and not stored yet. */
export class PendingLeftOut {
  #items: LeftOutItems = NOTHING_LEFT_OUT

  add(error: JobError): void {
    this.#items = withLeftOut(this.#items, error)
  }

  /** Everything the job has left out, to be stored now. */
  taken({ errors, errorCount }: LeftOutItems): { readonly leftOut?: LeftOutItems } {
    const items = this.#items
    if (items.errorCount === 0) return {}
    this.#items = NOTHING_LEFT_OUT
    return { leftOut: joinedLeftOut({ errors, errorCount }, items) }
  }
}

export function isOver({ state }: Pick<Job, 'state'>): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

/** The last insert into a knowledge base, or the one at work. */
export interface InsertState {
  readonly knowledgeBaseId: number
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC; null: still running. */
  readonly startedAt: string | null
  readonly finishedAt: string | null
  /** Stored rows. */
  readonly processedRows: number
  /** Rows skipped because their content is empty. */
  readonly skippedRows: number
  readonly error: string | null
  /** The id of its job; null: a request waits for it. */
  readonly jobId: number | null
}

/** The work running at this moment. */
export interface Activity {
  /** Grows with every change. */
  readonly version: number
  readonly inserts: readonly InsertState[]
  /** In creation order. */
  readonly jobs: readonly StoredJob[]
}

export const NO_ACTIVITY: Activity = { version: 0, inserts: [], jobs: [] }

/** null: no insert is known. After a restart only jobs are known. */
export function lastInsertInto(kb: KnowledgeBase, { inserts, jobs }: Activity): InsertState | null {
  const known = inserts.findLast(({ knowledgeBaseId }) => knowledgeBaseId === kb.id)
  if (known !== undefined) return known
  const job = jobs.findLast((one) => {
    const isOfIt = one.projectName === kb.projectName && one.knowledgeBase === kb.name
    return isOfIt && one.kind === 'insert' && one.createdAt >= kb.createdAt
  })
  return job === undefined ? null : insertOfJob(kb, job)
}

/** Rows stored by an insert, without those left out or skipped. */
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
