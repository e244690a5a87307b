/** Work that goes on without a request, survives a restart, and can be watched. */
export interface Job {
  readonly id: number
  readonly kind: JobKind
  readonly state: JobState
  readonly projectName: string
  /** What it fills; null: nothing of that kind. */
  readonly knowledgeBase: string | null
  /** Of what it does, for people: one line, without values. */
  readonly title: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC; null: not yet. */
  readonly createdAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly progress: JobProgress
  /** Why it failed; null: it did not. */
  readonly error: string | null
  /** Items that were left out, the first of them; `errorCount` counts all. */
  readonly errors: readonly JobError[]
  readonly errorCount: number
}

/** insert: rows into a knowledge base; sync: a source brought into step; schedule: statements at their time; import: a file of an export. */
export type JobKind = 'insert' | 'sync' | 'schedule' | 'import'

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

/** Of what is on disk: exact at any moment. */
export interface JobProgress {
  /** Read from the source. */
  readonly rows: number
  readonly documents: number
  readonly chunks: number
  /** Rows that there will be; null: nobody knows. */
  readonly total: number | null
}

export interface JobError {
  /** An id, a row's number, a path or an address. */
  readonly item: string
  readonly message: string
}
