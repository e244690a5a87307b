import type { ProjectObject } from '../names.ts'
import type { JobError } from './job.ts'

export const SOURCE_KINDS = ['folder', 'url', 'sitemap', 'site', 'query', 'table'] as const

export type SourceKind = (typeof SOURCE_KINDS)[number]

export interface SyncSource {
  readonly id: number
  readonly knowledgeBaseId: number
  readonly name: string
  readonly kind: SourceKind
  /** By their API names. Secrets are in plain text here; answers show them as `******`. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** A cron expression (UTC) or `every 15 minutes`; null if it runs only on request. */
  readonly schedule: string | null
  /** Folders only: whether changes start a run. */
  readonly isWatched: boolean
  /** Whether documents are deleted once they are gone from the source. */
  readonly removesVanished: boolean
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

export type SyncSourceDraft = Omit<SyncSource, 'id' | 'createdAt' | 'updatedAt'>

export type SyncSourceChanges = Partial<
  Pick<SyncSource, 'name' | 'parameters' | 'schedule' | 'isWatched' | 'removesVanished'>
>

/** What started a run. */
export type RunTrigger = 'request' | 'schedule' | 'change'

export interface SyncRun {
  readonly id: number
  readonly sourceId: number
  readonly trigger: RunTrigger
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  readonly jobId: number | null
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly counts: SyncCounts
  readonly error: string | null
  /** The first items that could not be read or stored. */
  readonly errors: readonly JobError[]
}

/** How many items (files, pages or rows) were read, stored and so on. */
export interface SyncCounts {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  readonly removed: number
  readonly failed: number
  /** Total size of the files and pages read. */
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

export interface SyncItem {
  /** The item's path, address or id. */
  readonly item: string
  readonly documentIds: readonly string[]
  /** Empty: read the item again. null: storing was interrupted, or it was never readable. */
  readonly hash: string | null
  /** Tells whether the item changed without reading it; null if it must be read. */
  readonly stamp: string | null
  /** Why the item could not be read, so that nothing is stored for it; null if it could. */
  readonly failure: string | null
  /** And how it counted it: after a crash, the run counts it the same way again. */
  readonly runId: number
  readonly outcome: SyncOutcome
}

export type SyncOutcome = 'added' | 'changed'

/** Scheduled statements (`CREATE JOB`). Each run is a job of kind `schedule`. */
export interface Schedule extends ProjectObject {
  /** As written. May contain secrets: answers show it through `withoutSecrets`. */
  readonly query: string
  /** Runs only if the last of these statements returns a row; null if it always runs. */
  readonly ifQuery: string | null
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly startAt: string
  readonly endAt: string | null
  /** `2 hours`, or a cron expression; null if it runs once. */
  readonly every: string | null
}

export type ScheduleDraft = Omit<Schedule, 'id' | 'projectName' | 'createdAt'>

export interface ScheduleState {
  /** null if the schedule will not run again. */
  readonly nextRunAt: string | null
  /** The time the last run was due; null if there was none yet. */
  readonly lastDueAt: string | null
  /** The running or most recent job. */
  readonly lastJobId: number | null
  readonly lastStartedAt: string | null
  readonly previousStartedAt: string | null
  /** The current value of LAST for each statement, by the statement's position. */
  readonly marks: Readonly<Record<string, LastMark>>
}

/** The highest value of a column read so far. */
export interface LastMark {
  readonly value: string
  /** The DuckDB name of its type. */
  readonly type: string
}

export interface StoredSchedule extends Schedule, ScheduleState {}

export interface ScheduleRun {
  readonly id: number
  readonly scheduleId: number
  readonly jobId: number
  readonly startedAt: string
  readonly endedAt: string
  readonly state: 'done' | 'skipped' | 'failed' | 'cancelled'
  readonly error: string | null
}
