import type { Row } from '../document.ts'
import type {
  Job,
  JobError,
  JobKind,
  JobProgress,
  JobState,
  LeftOutItems,
  StoredJob,
} from '../flow/job.ts'
import type {
  LastMark,
  RunTrigger,
  Schedule,
  ScheduleDraft,
  ScheduleRun,
  StoredSchedule,
  SyncItem,
  SyncRun,
  SyncSource,
  SyncSourceChanges,
  SyncSourceDraft,
} from '../flow/sync-source.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import type { Project } from '../names.ts'
import type { ReadTable } from './reading-ports.ts'

/** The use cases' requirements on jobs. `jobs/` runs them, the store keeps them. */

export interface JobDraft {
  readonly kind: JobKind
  readonly projectName: string
  /** Jobs of one knowledge base run one after the other, in order of arrival. */
  readonly knowledgeBase: string | null
  readonly title: string
  /** JSON that its handler understands, also after a restart. May hold secrets: it is stored encrypted. */
  readonly request: unknown
  /** JSON values from the request: kept in a file of the data folder until the job is done or deleted. */
  readonly items?: readonly unknown[]
}

/** Stored in one transaction with the documents it covers. */
export interface JobMark {
  readonly jobId: number
  readonly progress: JobProgress
  /** JSON from which its handler continues after a crash. */
  readonly checkpoint: unknown
  /** All items left out until then; unset: the same as before. */
  readonly leftOut?: LeftOutItems
}

/** Does the work of one kind of jobs. */
export interface JobHandler {
  /**
   * Runs from the start, or continues after the last mark. Repeating later work must be safe. Ends within a second of the
   * signal's abort, with its reason.
   */
  run(work: JobWork, signal: AbortSignal): Promise<void>
}

export interface JobWork {
  /** Its state when it started or continued. */
  readonly job: Job
  readonly request: unknown
  /** From the last mark; null: at the start. */
  readonly checkpoint: unknown
  /** The items of the draft, from an index on. @throws AppError `job_items_missing` */
  items(firstIndex: number): AsyncIterable<unknown>
  /** The state on disk, for work whose transactions carry no mark. */
  mark(mark: Omit<JobMark, 'jobId'>): Promise<void>
  /** Leaves an item out; the job continues. Stored with the next mark, or at the end. */
  leaveOut(error: JobError): void
}

/** Running work that becomes a job. */
export interface OngoingWork {
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly startedAt: string
  /** Its state on disk. Nothing more is stored until it is a job. */
  readonly onDisk: Omit<JobMark, 'jobId'>
  /** Ends it. */
  readonly stopping: AbortController
  /** Settles with it. */
  readonly ended: Promise<unknown>
}

/** Its continuation as a job. */
export type AdoptedJob = Pick<JobWork, 'job' | 'mark'>

export interface Jobs {
  /** Queues it: it is stored when this resolves. @throws AppError `too_busy` where too many wait */
  start(draft: JobDraft): Promise<Job>
  /**
   * Makes running work a job, next to the queued ones. After a restart it is queued like them.
   * @returns null: too many such jobs, or the server is stopping
   */
  adopt(draft: JobDraft, ongoing: OngoingWork): Promise<AdoptedJob | null>
  /** The newest first. */
  list(): readonly Job[]
  /** @throws AppError `job_not_found` */
  get(id: number): Job
  /** The request of its draft. @throws AppError `job_not_found` */
  requestOf(id: number): Promise<unknown>
  /** Ends it after the batch being stored. @throws AppError `job_not_found`, `job_state` */
  cancel(id: number): Promise<Job>
  /** From the start. @throws AppError `job_not_found`, `job_state` */
  retry(id: number): Promise<Job>
  /** From its last mark. @throws AppError `job_not_found`, `job_state` */
  resume(id: number): Promise<Job>
  /** Removes a finished one. @throws AppError `job_not_found`, `job_state` */
  remove(id: number): Promise<void>
  /** Removes the finished ones among them. @returns how many */
  removeOver(ids: readonly number[]): Promise<number>
  /**
   * The job now, and after its changes until it is over, at most some times a second.
   * @throws AppError `job_not_found`, `too_busy` where too many watch
   */
  watch(id: number, signal: AbortSignal): AsyncIterable<Job>
}

/** What changes about a job without documents. */
export interface JobChanges {
  readonly state: JobState
  readonly startedAt?: string | null
  readonly finishedAt?: string | null
  readonly error?: string | null
  readonly leftOut?: LeftOutItems
  /** Clears progress, checkpoint and errors. */
  readonly isReset?: boolean
}

/** Jobs on disk, all kept in memory, too. */
export interface JobStore {
  /** In creation order. */
  list(): readonly StoredJob[]
  get(id: number): StoredJob | undefined
  /** @param begun it is already running */
  add(draft: JobDraft, begun?: Pick<OngoingWork, 'startedAt' | 'onDisk'>): Promise<StoredJob>
  /** Also on a full disk: this process reports it even if it cannot be stored. */
  change(id: number, changes: JobChanges): Promise<StoredJob>
  mark(mark: JobMark): Promise<void>
  /** How often in a row it was started without getting any further, with this time. */
  countStart(id: number): Promise<number>
  workOf(id: number): Promise<{ readonly request: unknown; readonly checkpoint: unknown }>
  /** @throws AppError `job_items_missing` */
  items(id: number, firstIndex: number): AsyncIterable<unknown>
  /** Including their items. */
  remove(ids: readonly number[]): Promise<void>
  /** Sets the only listener, called after each committed change. */
  onChange(listener: (job: StoredJob) => void): void
}

/** The use cases' requirements on schedules. The store keeps them, `jobs/` knows when they are due. */

/** Schedules on disk, all kept in memory, too. */
export interface ScheduleStore {
  list(): readonly StoredSchedule[]
  get(id: number): StoredSchedule | undefined
  /** @throws AppError `schedule_exists`, `too_many_schedules`, `project_not_found` */
  create(draft: ScheduleDraft, nextRunAt: string | null): Promise<StoredSchedule>
  /** Including its history. @throws AppError `schedule_not_found` */
  drop(schedule: Pick<Schedule, 'id' | 'name'>): Promise<void>
  /**
   * A job starts the due run, or continues it.
   * @returns false where another job had this run
   */
  claim(id: number, run: ClaimedRun): Promise<boolean>
  /** The new value of LAST. */
  setMark(id: number, place: string, mark: LastMark): Promise<void>
  /** Ends a run. The oldest of the schedule's history go. */
  addRun(run: Omit<ScheduleRun, 'id'>): Promise<void>
  /** For one schedule or all, newest first. */
  runs(scheduleId?: number): Promise<readonly ScheduleRun[]>
}

export interface ClaimedRun {
  readonly jobId: number
  readonly dueAt: string
  readonly startedAt: string
  readonly nextRunAt: string | null
}

/** When schedules run. */
export interface ScheduleTimes {
  /** @throws AppError `invalid_schedule` for an invalid or too short period */
  check(every: string): void
  /** The first time after `afterMs`, in milliseconds since 1970; null: there is none. */
  next(schedule: Pick<Schedule, 'startAt' | 'endAt' | 'every'>, afterMs: number): number | null
}

/** What statements and requests do with schedules. */
export interface Schedules {
  readonly store: Pick<ScheduleStore, 'list' | 'runs'>
  /** @throws AppError `invalid_schedule`, `schedule_exists`, `too_many_schedules` */
  create(definition: ScheduleDefinition): Promise<StoredSchedule>
  /** What runs is ended. @throws AppError `schedule_not_found` */
  drop(schedule: StoredSchedule): Promise<void>
}

export interface ScheduleDefinition {
  readonly project: Project
  readonly name: string
  readonly query: string
  readonly ifQuery: string | null
  /** As written; null: now, and never. */
  readonly start: string | null
  readonly end: string | null
  readonly every: string | null
}

/** What syncing knowledge bases needs from the store. */

/** Sources of knowledge bases, what is remembered of their items, and the history of their runs. */
export interface SyncStore {
  /** For all existing knowledge bases, as of the last committed change. */
  sources(): readonly SyncSource[]
  /** The newest one; null: it never ran. */
  lastRun(source: Pick<SyncSource, 'id'>): SyncRun | null
  /** @throws AppError `source_exists`, `knowledge_base_not_found` */
  create(draft: SyncSourceDraft): Promise<SyncSource>
  /** With other parameters, each item is read again. @throws AppError `source_exists`, `source_not_found` */
  change(source: SyncSource, changes: SyncSourceChanges): Promise<SyncSource>
  /** Including its history; its documents stay. @throws AppError `source_not_found` */
  drop(source: SyncSource): Promise<void>
  beginRun(source: SyncSource, trigger: RunTrigger, jobId: number | null): Promise<SyncRun>
  /** Does nothing if the source is gone. */
  saveRun(run: SyncRun): Promise<void>
  /** The newest first. */
  runs(source: Pick<SyncSource, 'id'>, limit: number): Promise<readonly SyncRun[]>
  /** By name. */
  items(source: Pick<SyncSource, 'id'>): Promise<Map<string, SyncItem>>
  /** Replaces what is remembered about these items. */
  remember(source: Pick<SyncSource, 'id'>, items: readonly SyncItem[]): Promise<void>
  /** In one transaction with the run's counts. */
  forget(run: SyncRun, items: readonly string[]): Promise<void>
  /** Leaves these documents to another source of the knowledge base, which will read them again. */
  release(source: SyncSource, documentIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Items whose document has since been deleted. */
  itemsWithout(source: Pick<SyncSource, 'id'>, kb: KnowledgeBase): Promise<ReadonlySet<string>>
}

/** Tables read by another process, not stored. */
export interface TableRows {
  /** Moves its Parquet file away. */
  rowsOfTable(table: ReadTable, signal: AbortSignal): AsyncIterable<Row>
}

/** Syncs knowledge bases from their sources: on request, on schedule, or when a folder changes. */
export interface SourceKeeping {
  list(kb: Pick<KnowledgeBase, 'id'>): readonly SyncSource[]
  /** @throws AppError `source_exists`, `folder_refused`, `folder_unreadable` */
  create(draft: SyncSourceDraft): Promise<SyncSource>
  /** @throws AppError as `create`, and `source_not_found` */
  change(source: SyncSource, changes: SyncSourceChanges): Promise<SyncSource>
  /** Its documents stay; its current run is cancelled. @throws AppError `source_not_found` */
  drop(source: SyncSource): Promise<void>
  /** The job: a waiting or running one, if there is one. @throws AppError `too_busy` */
  run(source: SyncSource, options?: { readonly isFull?: boolean }): Promise<Job>
  runs(source: SyncSource, limit: number): Promise<readonly SyncRun[]>
  stateOf(source: SyncSource): SourceState
}

export interface SourceState {
  readonly lastRun: SyncRun | null
  /** The waiting or running job; null: none. */
  readonly jobId: number | null
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC; null: not scheduled. */
  readonly nextRunAt: string | null
  /** How a folder's changes are noticed; null: they are not. */
  readonly watching: 'events' | 'polling' | null
  /** Why by polling; null: there is nothing to say. */
  readonly watchNote: string | null
}
