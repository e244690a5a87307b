import type { JobError } from './job.ts'

/** The sources that a knowledge base syncs with, and their runs. */

export const SOURCE_KINDS = ['folder', 'url', 'sitemap', 'site', 'query', 'table'] as const

export type SourceKind = (typeof SOURCE_KINDS)[number]

export interface SyncSource {
  readonly id: number
  readonly knowledgeBaseId: number
  readonly name: string
  readonly kind: SourceKind
  /** By their names in the API. Contains plaintext secrets: answers show `******`. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** A cron expression (UTC) or `every 15 minutes`; null: it runs only on request. */
  readonly schedule: string | null
  /** Folders only: changes start a run. */
  readonly isWatched: boolean
  /** Its documents go when the source does not have them any more. */
  readonly removesVanished: boolean
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

export type SyncSourceDraft = Omit<SyncSource, 'id' | 'createdAt' | 'updatedAt'>

export type SyncSourceChanges = Partial<
  Pick<SyncSource, 'name' | 'parameters' | 'schedule' | 'isWatched' | 'removesVanished'>
>

/** The cause of a run. */
export type RunTrigger = 'request' | 'schedule' | 'change'

export interface SyncRun {
  readonly id: number
  readonly sourceId: number
  readonly trigger: RunTrigger
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  /** The job that does it. */
  readonly jobId: number | null
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly counts: SyncCounts
  /** Why it failed; null: it did not. */
  readonly error: string | null
  /** The first items that could not be read or stored. */
  readonly errors: readonly JobError[]
}

/** Counts of items: files, pages, or rows. */
export interface SyncCounts {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  readonly removed: number
  readonly failed: number
  /** The size of files and pages read. */
  readonly bytes: number
  /** Pages and files requested over HTTP. */
  readonly pages: number
}

export const NO_COUNTS: SyncCounts = {
  added: 0,
  changed: 0,
  unchanged: 0,
  removed: 0,
  failed: 0,
  bytes: 0,
  pages: 0,
}

/** The remembered state of one file, page or row of a source. */
export interface SyncItem {
  /** Its path, address or id. */
  readonly item: string
  readonly documentIds: readonly string[]
  /**
   * Hash of the stored content. Empty: read it again. null: storing was interrupted, or it was never readable.
   */
  readonly hash: string | null
  /** Shows without reading that it is unchanged; null: must be read. */
  readonly stamp: string | null
  /** Why the current content could not be read, so that none is stored; null: it could. */
  readonly failure: string | null
  /** The run that stored it and how it counted it: after a crash, the run counts it the same way again. */
  readonly runId: number
  readonly outcome: SyncOutcome
}

export type SyncOutcome = 'added' | 'changed'

/** Scheduled statements: `CREATE JOB`. Each run is a job of the kind `schedule`. */
export interface Schedule {
  readonly id: number
  readonly name: string
  readonly projectId: number
  readonly projectName: string
  /** Statements separated by semicolons, as they were written. May hold secrets: answers show it by `withoutSecrets`. */
  readonly query: string
  /** Runs only if the last of these returns a row; null: always. */
  readonly ifQuery: string | null
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly startAt: string
  readonly endAt: string | null
  /** `2 hours`, or a cron expression; null: it runs once. */
  readonly every: string | null
  readonly createdAt: string
}

export type ScheduleDraft = Omit<Schedule, 'id' | 'projectName' | 'createdAt'>

/** Progress. */
export interface ScheduleState {
  /** null: it does not run any more. */
  readonly nextRunAt: string | null
  /** Time for which the last run was due; null: none yet. */
  readonly lastDueAt: string | null
  /** Its current or last job. */
  readonly lastJobId: number | null
  readonly lastStartedAt: string | null
  /** Of the run before that. */
  readonly previousStartedAt: string | null
  /** The value of LAST, by the position of its statement. */
  readonly marks: Readonly<Record<string, LastMark>>
}

/** The highest value read so far of a column. */
export interface LastMark {
  readonly value: string
  /** DuckDB's name of its type. */
  readonly type: string
}

export interface StoredSchedule extends Schedule, ScheduleState {}

/** What became of one run. */
export interface ScheduleRun {
  readonly id: number
  readonly scheduleId: number
  readonly jobId: number
  readonly startedAt: string
  readonly endedAt: string
  readonly state: 'done' | 'skipped' | 'failed' | 'cancelled'
  readonly error: string | null
}
