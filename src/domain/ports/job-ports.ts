/** What the use cases need of jobs. `jobs/` runs them, the store keeps them. */
import type { Job, JobError, JobKind, JobProgress } from '../flow/job.ts'

export interface JobDraft {
  readonly kind: JobKind
  readonly projectName: string
  readonly knowledgeBase: string | null
  readonly title: string
  /** JSON that its handler understands, also after a restart. May hold secrets: it is stored encrypted. */
  readonly request: unknown
}

/** Stored with the documents that it speaks of, in one transaction. */
export interface JobMark {
  readonly jobId: number
  readonly progress: JobProgress
  /** JSON from which its handler goes on after a crash. */
  readonly checkpoint: unknown
}

/** Does the work of one kind of jobs. */
export interface JobHandler {
  /** Runs from the start, or goes on from the last mark. It must be safe to repeat what came after that. */
  run(work: JobWork, signal: AbortSignal): Promise<void>
}

export interface JobWork {
  readonly job: Job
  readonly request: unknown
  /** Of the last mark; null: it begins. */
  readonly checkpoint: unknown
  /** What is on disk, where no transaction of the store carries a mark. */
  mark(mark: Omit<JobMark, 'jobId'>): Promise<void>
  /** An item that is left out. The job goes on. */
  leaveOut(error: JobError): void
}

export interface Jobs {
  /** Queues it: it is stored when this resolves. @throws AppError `too_busy` where too many wait */
  start(draft: JobDraft): Promise<Job>
  list(): readonly Job[]
  /** @throws AppError `job_not_found` */
  get(id: number): Job
  /** Ends it after the batch that is being stored. @throws AppError `job_not_found`, `job_state` */
  cancel(id: number): Promise<Job>
  /** From the start. @throws AppError `job_not_found`, `job_state` */
  retry(id: number): Promise<Job>
  /** From its last mark. @throws AppError `job_not_found`, `job_state` */
  resume(id: number): Promise<Job>
  /** The job now, and after each change until it is over. */
  watch(id: number, signal: AbortSignal): AsyncIterable<Job>
}
