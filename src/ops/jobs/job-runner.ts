import { isOver, type Job, type JobKind, type StoredJob } from '../../core/domain/flow/job.ts'
import type {
  AdoptedJob,
  JobChanges,
  JobDraft,
  JobHandler,
  JobStore,
  Jobs,
  OngoingWork,
} from '../../core/domain/ports/job-ports.ts'
import { AppError } from '../../core/errors.ts'
import { settlesWithin } from '../../core/runtime/cancellation.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { DAY_MS, timestampOfMillis } from '../../core/time.ts'
import { type JobLogEntry, type JobPace, JobRuns } from './job-runs.ts'
import { JobWatchers } from './job-watchers.ts'

export interface JobRunnerOptions {
  readonly store: JobStore
  /** Jobs that run at the same time. */
  readonly runningMax: number
  /** Waiting jobs. */
  readonly waitingMax: number
  /** Finished jobs that are remembered, the newest ones. */
  readonly keptMax: number
  readonly log: (entry: JobLogEntry) => void
  /** Called with unexpected failures. */
  readonly onFailure: (error: unknown) => void
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** How long cancelling a job waits for it to end; unset: ten seconds. */
  readonly endMs?: number
}

const KEPT_DAYS = 30

const END_MS = 10_000

const OVERDUE = 'It was told to end and has not ended yet'

/** Extra jobs that started as waited-for requests. */
const BESIDE_MAX = 100

interface Running {
  readonly stopping: AbortController
  readonly ended: Promise<void>
  readonly lane: string | null
  /** It takes no job slot: it started as a waited-for request. */
  readonly isBeside: boolean
  /** Cancelled, but still running. */
  isOverdue: boolean
}

/**
 * Runs jobs in order of arrival: several at once, but one at a time per knowledge base. Progress is marked, so that a job
 * continues from there after a restart.
 */
export class JobRunner implements Jobs {
  readonly #options: JobRunnerOptions
  readonly #handlers = new Map<JobKind, JobHandler>()
  readonly #waiting: number[] = []
  readonly #running = new Map<number, Running>()
  /** Jobs that are being stored before they wait. */
  #comingCount = 0
  readonly #paces = new Map<number, JobPace>()
  readonly #watchers: JobWatchers
  readonly #runs: JobRuns
  /** Work that is becoming a job. */
  readonly #adoptions = new Set<Promise<unknown>>()
  /** The last request to change a job: requests for one job run in order. */
  readonly #turns = new Map<number, SerialQueue>()
  #state: 'waiting' | 'open' | 'stopping' | 'closed' = 'waiting'

  constructor(options: JobRunnerOptions) {
    this.#options = options
    this.#watchers = new JobWatchers((id) => this.get(id))
    const { store, log, onFailure, now } = options
    const [handlers, paces] = [this.#handlers, this.#paces]
    const shown = (id: number) => this.get(id)
    this.#runs = new JobRuns({ store, log, onFailure, now, handlers, paces, shown })
    options.store.onChange((job) => this.#changed(job))
  }

  /** From now on, only this handler does the work of such jobs. */
  handle(kind: JobKind, handler: JobHandler): void {
    this.#handlers.set(kind, handler)
  }

  /** Starts: unfinished jobs of the last process continue. */
  open(): void {
    if (this.#state !== 'waiting') return
    this.#state = 'open'
    for (const { id, state } of this.#options.store.list()) {
      if (state === 'queued' || state === 'running') this.#waiting.push(id)
    }
    this.#startNext()
  }

  async start(draft: JobDraft): Promise<Job> {
    this.#refuseTooMany()
    this.#comingCount += 1
    const { id } = await this.#options.store.add(draft).finally(() => {
      this.#comingCount -= 1
    })
    // The job may come before the start is complete.
    if (this.#state === 'waiting') this.open()
    else this.#enqueue(id)
    return this.get(id)
  }

  async adopt(draft: JobDraft, ongoing: OngoingWork): Promise<AdoptedJob | null> {
    // The job may come before the start is complete.
    if (this.#state === 'waiting') this.open()
    if (this.#state !== 'open') return null
    const besideCount = [...this.#running.values()].filter(({ isBeside }) => isBeside).length
    if (besideCount + this.#adoptions.size >= BESIDE_MAX) return null
    const { store } = this.#options
    const adopted = store.add(draft, ongoing)
    this.#adoptions.add(adopted)
    try {
      const job = await adopted
      const { id } = job
      this.#begin(job, laneOf(job), ongoing)
      return { job: this.get(id), mark: (mark) => store.mark({ ...mark, jobId: id }) }
    } finally {
      this.#adoptions.delete(adopted)
    }
  }

  list(): readonly Job[] {
    return this.#options.store
      .list()
      .map((job) => this.#shown(job))
      .toReversed()
  }

  get(id: number): Job {
    return this.#shown(this.#stored(id))
  }

  async requestOf(id: number): Promise<unknown> {
    this.#stored(id)
    return (await this.#options.store.workOf(id)).request
  }

  cancel(id: number): Promise<Job> {
    return this.#inTurn(id, async () => {
      if (isOver(this.#stored(id))) throw wrongState(this.#stored(id), 'only one that is not over')
      const running = this.#running.get(id)
      if (running === undefined) {
        this.#dequeue(id)
        await this.#options.store.change(id, { state: 'cancelled', finishedAt: this.#timestamp() })
      } else {
        running.stopping.abort(new AppError('cancelled', 'The job was cancelled'))
        if (!(await settlesWithin(running.ended, this.#options.endMs ?? END_MS))) {
          running.isOverdue = true
          return this.get(id)
        }
        // The job ended first.
        const job = this.#stored(id)
        if (job.state !== 'cancelled') throw wrongState(job, 'only one that is not over')
      }
      return this.get(id)
    })
  }

  retry(id: number): Promise<Job> {
    return this.#again(id, { isReset: true, startedAt: null })
  }

  resume(id: number): Promise<Job> {
    return this.#again(id, {})
  }

  remove(id: number): Promise<void> {
    return this.#inTurn(id, async () => {
      const job = this.#stored(id)
      if (!isOver(job)) throw wrongState(job, 'cancel it first: only one that is over')
      await this.#options.store.remove([id])
      this.#watchers.changed(id)
    })
  }

  async removeOver(ids: readonly number[]): Promise<number> {
    const { store } = this.#options
    const over = ids.filter((id) => {
      const job = store.get(id)
      return job !== undefined && isOver(job) && !this.#turns.has(id)
    })
    await store.remove(over)
    for (const id of over) this.#watchers.changed(id)
    return over.length
  }

  watch(id: number, signal: AbortSignal): AsyncIterable<Job> {
    this.#stored(id)
    return this.#watchers.watch(id, signal)
  }

  /**
   * Lets each running job reach its next mark, for `graceMs`, then aborts it. All of them continue at the next start.
   * Resolves when they have ended.
   */
  async close(graceMs = 0): Promise<void> {
    if (this.#state === 'closed') return
    this.#state = 'stopping'
    this.#watchers.close()
    const abortAll = () => {
      for (const { stopping } of this.#running.values()) stopping.abort(stopped())
    }
    const timer = graceMs > 0 ? setTimeout(abortAll, graceMs) : undefined
    if (timer === undefined) abortAll()
    await Promise.allSettled(this.#adoptions)
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
    clearTimeout(timer)
    this.#state = 'closed'
  }

  async #again(id: number, changes: Partial<JobChanges>): Promise<Job> {
    return this.#inTurn(id, async () => {
      const job = this.#stored(id)
      if (job.state !== 'failed' && job.state !== 'cancelled') {
        throw wrongState(job, 'only one that failed or was cancelled')
      }
      this.#refuseTooMany()
      const fresh = { state: 'queued', finishedAt: null, error: null } as const
      await this.#options.store.change(id, { ...fresh, ...changes })
      this.#paces.delete(id)
      this.#enqueue(id)
      return this.get(id)
    })
  }

  /** In order, so that two requests never do half of each. */
  async #inTurn<T>(id: number, work: () => Promise<T>): Promise<T> {
    const queue = this.#turns.get(id) ?? new SerialQueue()
    this.#turns.set(id, queue)
    try {
      return await queue.run(work)
    } finally {
      if (queue.isIdle) this.#turns.delete(id)
    }
  }

  #stored(id: number): StoredJob {
    const job = this.#options.store.get(id)
    if (job === undefined) throw new AppError('job_not_found', `There is no job ${id}`)
    return job
  }

  #shown(job: StoredJob): Job {
    const isRunning = job.state === 'running'
    const pace = isRunning ? this.#paces.get(job.id) : undefined
    const isOverdue = isRunning && this.#running.get(job.id)?.isOverdue === true
    return {
      ...job,
      ...(isOverdue ? { error: OVERDUE } : {}),
      ...(pace?.of(job.progress, this.#options.now()) ?? UNKNOWN_PACE),
    }
  }

  #refuseTooMany(): void {
    const { waitingMax } = this.#options
    if (this.#state === 'stopping' || this.#state === 'closed') throw stopped()
    if (this.#waiting.length + this.#comingCount < waitingMax + this.#freePlaces()) return
    const limit = `${waitingMax} jobs wait already`
    throw new AppError('too_busy', `${limit}: try again when some are over`)
  }

  /** Slots in which a job could start now. */
  #freePlaces(): number {
    const taken = [...this.#running.values()].filter(({ isBeside }) => !isBeside).length
    return Math.max(0, this.#options.runningMax - taken)
  }

  #enqueue(id: number): void {
    this.#waiting.push(id)
    this.#startNext()
  }

  #dequeue(id: number): void {
    const index = this.#waiting.indexOf(id)
    if (index !== -1) this.#waiting.splice(index, 1)
  }

  /** The first waiting jobs whose knowledge base has no other running job. */
  #startNext(): void {
    if (this.#state !== 'open') return
    const busy = new Set([...this.#running.values()].map(({ lane }) => lane))
    busy.delete(null)
    for (const id of [...this.#waiting]) {
      if (this.#freePlaces() === 0) return
      const job = this.#options.store.get(id)
      const lane = job === undefined ? null : laneOf(job)
      if (lane !== null && busy.has(lane)) continue
      this.#dequeue(id)
      if (job === undefined) continue
      busy.add(lane)
      this.#begin(job, lane)
    }
  }

  /** @param ongoing it is at work already */
  #begin({ id }: StoredJob, lane: string | null, ongoing: OngoingWork | null = null): void {
    const stopping = ongoing?.stopping ?? new AbortController()
    const ended = this.#runs
      .run(id, stopping.signal, ongoing?.ended)
      .catch((error) => this.#options.onFailure(error))
      .finally(() => {
        this.#running.delete(id)
        this.#paces.delete(id)
        this.#startNext()
        void this.#forgetOld().catch((error) => this.#options.onFailure(error))
      })
    this.#running.set(id, { stopping, ended, lane, isBeside: ongoing !== null, isOverdue: false })
    if (this.#state === 'stopping') stopping.abort(stopped())
  }

  /** After a commit. */
  #changed(job: StoredJob): void {
    if (job.state === 'running') this.#paces.get(job.id)?.note(job.progress, this.#options.now())
    this.#watchers.changed(job.id)
    if (this.#state === 'stopping' && job.state === 'running') {
      this.#running.get(job.id)?.stopping.abort(stopped())
    }
  }

  async #forgetOld(): Promise<void> {
    const { store, keptMax, now } = this.#options
    const over = store.list().filter((job) => isOver(job) && !this.#turns.has(job.id))
    const oldest = timestampOfMillis(now() - KEPT_DAYS * DAY_MS)
    const tooMany = over.slice(0, Math.max(0, over.length - keptMax))
    const tooOld = over.filter(({ finishedAt }) => (finishedAt ?? oldest) < oldest)
    await store.remove([...new Set([...tooMany, ...tooOld].map(({ id }) => id))])
  }

  #timestamp(): string {
    return timestampOfMillis(this.#options.now())
  }
}

const UNKNOWN_PACE = { rate: null, remainingSeconds: null }

function laneOf({ projectName, knowledgeBase }: StoredJob): string | null {
  if (knowledgeBase === null) return null
  return JSON.stringify([projectName.toLowerCase(), knowledgeBase.toLowerCase()])
}

function wrongState({ id, state }: StoredJob, what: string): AppError {
  return new AppError('job_state', `Job ${id} is ${state}; ${what} can be changed so`)
}

function stopped(): AppError {
  return new AppError('shutting_down', 'The server is shutting down')
}
