import { shortened } from '../../short-text.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'

/** Background work that survives a restart and reports progress. */
export interface Job {
  readonly id: number
  readonly kind: JobKind
  readonly state: JobState
  readonly projectName: string
  /** The knowledge base the job writes to, if any. */
  readonly knowledgeBase: string | null
  /** A one-line description for people, without data values. */
  readonly title: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. The other times are null until they are reached. */
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly progress: JobProgress
  /** Recent rows per second; null if unknown or finished. */
  readonly rate: number | null
  /** null if unknown. */
  readonly remainingSeconds: number | null
  /** Chunks embedded since the job started or continued, stored or not; null if none or finished. */
  readonly embeddedChunks: number | null
  /** Why the job failed; null if it did not. */
  readonly error: string | null
  /** The first skipped items; `errorCount` counts all of them. */
  readonly errors: readonly JobError[]
  readonly errorCount: number
}

export type StoredJob = Omit<Job, 'rate' | 'remainingSeconds' | 'embeddedChunks'>

/** sync: one run of a source; evaluation: test questions; move: to another storage. */
export const JOB_KINDS = [
  'insert',
  'sync',
  'schedule',
  'import',
  'evaluation',
  'rechunk',
  'move',
] as const

export type JobKind = (typeof JOB_KINDS)[number]

export const JOB_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const

export type JobState = (typeof JOB_STATES)[number]

/** Progress as stored on disk, exact at any moment. */
export interface JobProgress {
  /** Rows read from the source. */
  readonly rows: number
  readonly documents: number
  readonly chunks: number
  /** Rows counted in `rows` but not stored because their content is empty; missing if none. */
  readonly skipped?: number
  /** Total rows; null if unknown. */
  readonly total: number | null
}

export const NO_PROGRESS: JobProgress = { rows: 0, documents: 0, chunks: 0, total: null }

export interface JobError {
  /** An id, a row number, a path or an address. */
  readonly item: string
  readonly message: string
}

/** Skipped items: the first few, and how many there are. */
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

/** Skipped items that are not yet stored. */
export class PendingLeftOut {
  #items: LeftOutItems = NOTHING_LEFT_OUT

  add(error: JobError): void {
    this.#items = withLeftOut(this.#items, error)
  }

  /** Everything the job has skipped, to be stored now. */
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

/** The running or most recent insert into a knowledge base. */
export interface InsertState {
  readonly knowledgeBaseId: number
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. The end is null while it runs. */
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly processedRows: number
  /** Rows skipped because their content is empty. */
  readonly skippedRows: number
  /** Chunks embedded so far, including those not stored yet. */
  readonly embeddedChunks: number
  readonly error: string | null
  /** The id of the insert's job; null if a request is waiting for it instead. */
  readonly jobId: number | null
}

export interface Activity {
  /** Increases with every change. */
  readonly version: number
  readonly inserts: readonly InsertState[]
  readonly jobs: readonly StoredJob[]
}

export const NO_ACTIVITY: Activity = { version: 0, inserts: [], jobs: [] }

/** Returns null if no insert is known. After a restart, only jobs are known. */
export function lastInsertInto(kb: KnowledgeBase, { inserts, jobs }: Activity): InsertState | null {
  const known = inserts.findLast(({ knowledgeBaseId }) => knowledgeBaseId === kb.id)
  if (known !== undefined) return known
  const job = jobs.findLast((one) => {
    const isOfIt = one.projectName === kb.projectName && one.knowledgeBase === kb.name
    return isOfIt && one.kind === 'insert' && one.createdAt >= kb.createdAt
  })
  return job === undefined ? null : insertOfJob(kb, job)
}

/** The number of rows an insert stored, without skipped ones. */
export function storedRowsOf({ progress, errorCount }: Pick<StoredJob, 'progress' | 'errorCount'>) {
  return Math.max(progress.rows - errorCount, 0)
}

export function insertOfJob({ id }: Pick<KnowledgeBase, 'id'>, job: StoredJob): InsertState {
  const { startedAt, finishedAt, error, progress } = job
  const { skipped: skippedRows = 0 } = progress
  const processedRows = storedRowsOf(job)
  const rows = { processedRows, skippedRows, embeddedChunks: progress.chunks }
  return { knowledgeBaseId: id, startedAt, finishedAt, ...rows, error, jobId: job.id }
}
