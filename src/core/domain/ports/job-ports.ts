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

export interface JobDraft {
  readonly kind: JobKind
  readonly projectName: string
  /** Jobs of one knowledge base run one at a time, in the order they were queued. */
  readonly knowledgeBase: string | null
  readonly title: string
  /**
   * JSON for the job's handler, also after a restart. Stored encrypted, because it may contain
   * secrets.
   */
  readonly request: unknown
  /** JSON values from the request, kept in a file until the job is done or deleted. */
  readonly items?: readonly unknown[]
}

/** A job's progress, stored in one transaction with the documents it covers. */
export interface JobMark {
  readonly jobId: number
  readonly progress: JobProgress
  /** JSON from which the handler continues after a crash. */
  readonly checkpoint: unknown
  /** All items skipped so far; if unset, unchanged since the last mark. */
  readonly leftOut?: LeftOutItems
}

export interface JobHandler {
  /**
   * Runs from the start, or continues from the last mark. Work done after that mark may be
   * repeated. When the signal aborts, the run ends within a second with the signal's reason.
   */
  run(work: JobWork, signal: AbortSignal): Promise<void>
}

export interface JobWork {
  /** The job's state when it started or continued. */
  readonly job: Job
  readonly request: unknown
  /** From the last mark; null at the start. */
  readonly checkpoint: unknown
  /** The draft's items, from this index on. @throws AppError `job_items_missing` */
  items(firstIndex: number): AsyncIterable<unknown>
  /** Stores progress separately, for work whose transactions do not carry a mark. */
  mark(mark: Omit<JobMark, 'jobId'>): Promise<void>
  /** Skips an item and continues. Stored with the next mark, or at the end. */
  leaveOut(error: JobError): void
  /** Shows progress while a large document is being embedded. Not stored. */
  readonly noteEmbedded: (chunkCount: number) => void
}

/** Work of a running request that becomes a job. */
export interface OngoingWork {
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly startedAt: string
  /** Its progress on disk. Nothing more is stored until the work is a job. */
  readonly onDisk: Omit<JobMark, 'jobId'>
  /** Abort it to stop the work. */
  readonly stopping: AbortController
  /** Settles when the work ends. */
  readonly ended: Promise<unknown>
}

/** What the work uses once it is a job. */
export type AdoptedJob = Pick<JobWork, 'job' | 'mark' | 'noteEmbedded'>

export interface Jobs {
  /**
   * Queues a job and resolves once it is stored. @throws AppError `too_busy` if the queue is full
   */
  start(draft: JobDraft): Promise<Job>
  /**
   * Turns running work into a job that runs next to the queued ones. After a restart it is queued
   * like any other.
   * @returns null if there are too many such jobs, or the server is stopping
   */
  adopt(draft: JobDraft, ongoing: OngoingWork): Promise<AdoptedJob | null>
  /** Newest first. */
  list(): readonly Job[]
  /** @throws AppError `job_not_found` */
  get(id: number): Job
  /** The `request` of the job's draft. @throws AppError `job_not_found` */
  requestOf(id: number): Promise<unknown>
  /**
   * Stops the job after the current batch is stored. @throws AppError `job_not_found`, `job_state`
   */
  cancel(id: number): Promise<Job>
  /** Runs the job again from the start. @throws AppError `job_not_found`, `job_state` */
  retry(id: number): Promise<Job>
  /** Continues the job from its last mark. @throws AppError `job_not_found`, `job_state` */
  resume(id: number): Promise<Job>
  /** Removes a finished job. @throws AppError `job_not_found`, `job_state` */
  remove(id: number): Promise<void>
  /** Removes those of these jobs that are finished. @returns how many */
  removeOver(ids: readonly number[]): Promise<number>
  /**
   * Yields the job now and after each change until it ends, at most a few times a second.
   * @throws AppError `job_not_found`, or `too_busy` if there are too many watchers
   */
  watch(id: number, signal: AbortSignal): AsyncIterable<Job>
}

/** Changes to a job that are not part of a document transaction. */
export interface JobChanges {
  readonly state: JobState
  readonly startedAt?: string | null
  readonly finishedAt?: string | null
  readonly error?: string | null
  readonly leftOut?: LeftOutItems
  /** Whether to clear progress, checkpoint and errors. */
  readonly isReset?: boolean
}

/** Jobs on disk, all of them also held in memory. */
export interface JobStore {
  /** In creation order. */
  list(): readonly StoredJob[]
  get(id: number): StoredJob | undefined
  /** @param begun set if the work is already running */
  add(draft: JobDraft, begun?: Pick<OngoingWork, 'startedAt' | 'onDisk'>): Promise<StoredJob>
  /** Works even on a full disk: this process reports the change although it cannot be stored. */
  change(id: number, changes: JobChanges): Promise<StoredJob>
  mark(mark: JobMark): Promise<void>
  /** Counts how many times in a row the job was started without making progress, including now. */
  countStart(id: number): Promise<number>
  workOf(id: number): Promise<{ readonly request: unknown; readonly checkpoint: unknown }>
  /** @throws AppError `job_items_missing` */
  items(id: number, firstIndex: number): AsyncIterable<unknown>
  /** Also removes their items. */
  remove(ids: readonly number[]): Promise<void>
  /** Sets the only listener. It is called after each committed change. */
  onChange(listener: (job: StoredJob) => void): void
}

/** Schedules on disk, all of them also held in memory. */
export interface ScheduleStore {
  list(): readonly StoredSchedule[]
  get(id: number): StoredSchedule | undefined
  /** @throws AppError `schedule_exists`, `too_many_schedules`, `project_not_found` */
  create(draft: ScheduleDraft, nextRunAt: string | null): Promise<StoredSchedule>
  /** Also drops its history. @throws AppError `schedule_not_found` */
  drop(schedule: Pick<Schedule, 'id' | 'name'>): Promise<void>
  /** Starts or continues the due run. @returns false if another job has claimed it */
  claim(id: number, run: ClaimedRun): Promise<boolean>
  /** Stores the new value of LAST. */
  setMark(id: number, place: string, mark: LastMark): Promise<void>
  /** Records the end of a run, and removes the oldest runs from the schedule's history. */
  addRun(run: Omit<ScheduleRun, 'id'>): Promise<void>
  /** Runs of one schedule or of all, newest first. */
  runs(scheduleId?: number): Promise<readonly ScheduleRun[]>
}

export interface ClaimedRun {
  readonly jobId: number
  readonly dueAt: string
  readonly startedAt: string
  readonly nextRunAt: string | null
}

export interface ScheduleTimes {
  /** @throws AppError `invalid_schedule` if the period is invalid or too short */
  check(every: string): void
  /** The next run after `afterMs`, in milliseconds since 1970; null if there is none. */
  next(schedule: Pick<Schedule, 'startAt' | 'endAt' | 'every'>, afterMs: number): number | null
}

/** What SQL statements and HTTP requests can do with schedules. */
export interface Schedules {
  readonly store: Pick<ScheduleStore, 'list' | 'runs'>
  /** @throws AppError `invalid_schedule`, `schedule_exists`, `too_many_schedules` */
  create(definition: ScheduleDefinition): Promise<StoredSchedule>
  /** Also stops the current run. @throws AppError `schedule_not_found` */
  drop(schedule: StoredSchedule): Promise<void>
}

export interface ScheduleDefinition extends Pick<Schedule, 'name' | 'query' | 'ifQuery' | 'every'> {
  readonly project: Project
  /** As written. A null start means now; a null end means never. */
  readonly start: string | null
  readonly end: string | null
}

/**
 * The sources of knowledge bases, what is remembered about their items, and the history of their
 * runs.
 */
export interface SyncStore {
  /** All sources as of the last committed change. */
  sources(): readonly SyncSource[]
  /** The newest run; null if there was none. */
  lastRun(source: Pick<SyncSource, 'id'>): SyncRun | null
  /** @throws AppError `source_exists`, `knowledge_base_not_found` */
  create(draft: SyncSourceDraft): Promise<SyncSource>
  /**
   * If the parameters change, every item is read again. @throws AppError `source_exists`,
   * `source_not_found`
   */
  change(source: SyncSource, changes: SyncSourceChanges): Promise<SyncSource>
  /** Also drops its history; its documents stay. @throws AppError `source_not_found` */
  drop(source: SyncSource): Promise<void>
  beginRun(source: SyncSource, trigger: RunTrigger, jobId: number | null): Promise<SyncRun>
  /** Does nothing if the source no longer exists. */
  saveRun(run: SyncRun): Promise<void>
  /** Newest first. */
  runs(source: Pick<SyncSource, 'id'>, limit: number): Promise<readonly SyncRun[]>
  /** Items by their names. */
  items(source: Pick<SyncSource, 'id'>): Promise<Map<string, SyncItem>>
  /** Replaces what is remembered about these items. */
  remember(source: Pick<SyncSource, 'id'>, items: readonly SyncItem[]): Promise<void>
  /** Stores the run's counts in the same transaction. */
  forget(run: SyncRun, items: readonly string[]): Promise<void>
  /** Gives these documents up to another source of the knowledge base, which reads them again. */
  release(source: SyncSource, documentIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Remembered items whose document has been deleted since. */
  itemsWithout(source: Pick<SyncSource, 'id'>, kb: KnowledgeBase): Promise<ReadonlySet<string>>
}

/** Reads tables of an uploaded file without storing them. */
export interface TableRows {
  /** Takes ownership of the table's Parquet file. */
  rowsOfTable(table: ReadTable, signal: AbortSignal): AsyncIterable<Row>
}

/** Syncs knowledge bases from their sources: on request, on schedule, or on changes. */
export interface SourceKeeping {
  list(kb: Pick<KnowledgeBase, 'id'>): readonly SyncSource[]
  /** @throws AppError `source_exists`, `folder_refused`, `folder_unreadable` */
  create(draft: SyncSourceDraft): Promise<SyncSource>
  /** @throws AppError like `create`, and `source_not_found` */
  change(source: SyncSource, changes: SyncSourceChanges): Promise<SyncSource>
  /** Cancels the current run; the documents stay. @throws AppError `source_not_found` */
  drop(source: SyncSource): Promise<void>
  /**
   * Returns the waiting or running job, or a new one if there is none. @throws AppError `too_busy`
   */
  run(source: SyncSource, options?: { readonly isFull?: boolean }): Promise<Job>
  runs(source: SyncSource, limit: number): Promise<readonly SyncRun[]>
  stateOf(source: SyncSource): SourceState
}

export interface SourceState {
  readonly lastRun: SyncRun | null
  /** The waiting or running job; null if there is none. */
  readonly jobId: number | null
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC; null if not scheduled. */
  readonly nextRunAt: string | null
  /** How changes in the folder are detected; null if they are not. */
  readonly watching: 'events' | 'polling' | null
  /** Why the folder is polled; null if there is nothing to report. */
  readonly watchNote: string | null
}
