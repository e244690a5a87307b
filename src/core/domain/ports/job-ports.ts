/** What the use cases need of jobs. `jobs/` runs them, the store keeps them. */
import type {
  Job,
  JobError,
  JobKind,
  JobProgress,
  JobState,
  LeftOutItems,
  StoredJob,
} from '../flow/job.ts'

export interface JobDraft {
  readonly kind: JobKind
  readonly projectName: string
  /** Jobs of one knowledge base run one after the other, in the order in which they came. */
  readonly knowledgeBase: string | null
  readonly title: string
  /** JSON that its handler understands, also after a restart. May hold secrets: it is stored encrypted. */
  readonly request: unknown
  /** JSON values that came with the request: they lie in a file of the data folder until the job is done or deleted. */
  readonly items?: readonly unknown[]
}

/** Stored with the documents that it speaks of, in one transaction. */
export interface JobMark {
  readonly jobId: number
  readonly progress: JobProgress
  /** JSON from which its handler goes on after a crash. */
  readonly checkpoint: unknown
  /** All items that were left out until then; unset: those that were known before. */
  readonly leftOut?: LeftOutItems
}

/** Does the work of one kind of jobs. */
export interface JobHandler {
  /**
   * Runs from the start, or goes on from the last mark. It must be safe to repeat what came after that. It ends within a
   * second of the signal's abort, with its reason.
   */
  run(work: JobWork, signal: AbortSignal): Promise<void>
}

export interface JobWork {
  /** As it was when it started or went on. */
  readonly job: Job
  readonly request: unknown
  /** Of the last mark; null: it begins. */
  readonly checkpoint: unknown
  /** Those of the draft, from an index on. @throws AppError `job_items_missing` */
  items(firstIndex: number): AsyncIterable<unknown>
  /** What is on disk, where no transaction of the store carries a mark. */
  mark(mark: Omit<JobMark, 'jobId'>): Promise<void>
  /** An item that is left out. The job goes on. It is stored with the next mark, or at the end. */
  leaveOut(error: JobError): void
}

/** Work that goes on already, and is a job from now on. */
export interface OngoingWork {
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly startedAt: string
  /** What is on disk of it. Nothing more is stored until it is a job. */
  readonly onDisk: Omit<JobMark, 'jobId'>
  /** Ends it. */
  readonly stopping: AbortController
  /** Settles with it. */
  readonly ended: Promise<unknown>
}

/** How it goes on as a job. */
export type AdoptedJob = Pick<JobWork, 'job' | 'mark'>

export interface Jobs {
  /** Queues it: it is stored when this resolves. @throws AppError `too_busy` where too many wait */
  start(draft: JobDraft): Promise<Job>
  /**
   * Makes a job of work that goes on already, beside those that wait for their turn. After a restart it is one of them.
   * @returns null: too many began so, or the server is stopping
   */
  adopt(draft: JobDraft, ongoing: OngoingWork): Promise<AdoptedJob | null>
  /** The newest first. */
  list(): readonly Job[]
  /** @throws AppError `job_not_found` */
  get(id: number): Job
  /** That of its draft. @throws AppError `job_not_found` */
  requestOf(id: number): Promise<unknown>
  /** Ends it after the batch that is being stored. @throws AppError `job_not_found`, `job_state` */
  cancel(id: number): Promise<Job>
  /** From the start. @throws AppError `job_not_found`, `job_state` */
  retry(id: number): Promise<Job>
  /** From its last mark. @throws AppError `job_not_found`, `job_state` */
  resume(id: number): Promise<Job>
  /** Forgets one that is over. @throws AppError `job_not_found`, `job_state` */
  remove(id: number): Promise<void>
  /** Forgets those of them that are over. @returns how many these were */
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
  /** Nothing of it is done: progress, checkpoint and errors go. */
  readonly isReset?: boolean
}

/** Jobs on disk, and all of them in memory. */
export interface JobStore {
  /** In the order in which they were made. */
  list(): readonly StoredJob[]
  get(id: number): StoredJob | undefined
  /** @param begun it is at work already */
  add(draft: JobDraft, begun?: Pick<OngoingWork, 'startedAt' | 'onDisk'>): Promise<StoredJob>
  /** Also on a full disk. Whoever asks this process hears of it, even where it cannot be stored. */
  change(id: number, changes: JobChanges): Promise<StoredJob>
  mark(mark: JobMark): Promise<void>
  /** How often in a row it was started without getting any further, with this time. */
  countStart(id: number): Promise<number>
  workOf(id: number): Promise<{ readonly request: unknown; readonly checkpoint: unknown }>
  /** @throws AppError `job_items_missing` */
  items(id: number, firstIndex: number): AsyncIterable<unknown>
  /** With their items. */
  remove(ids: readonly number[]): Promise<void>
  /** From now on this one is told of each change after its commit, alone. */
  onChange(listener: (job: StoredJob) => void): void
}
