import { isOver, type Job, type JobKind, type StoredJob } from '../../core/domain/flow/job.ts'
import type {
  AdoptedJob,
  JobChanges,
  JobDraft,
  JobHandler,
  Jobs,
  OngoingWork,
} from '../../core/domain/ports/job-ports.ts'
import { AppError, shuttingDown } from '../../core/errors.ts'
import { settlesWithin } from '../../core/runtime/cancellation.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { DAY_MS, timestampOfMillis } from '../../core/time.ts'
import { type JobPace, JobRuns, type JobRunsOptions } from './job-runs.ts'
import { JobWatchers } from './job-watchers.ts'

interface JobRunnerOptions extends Pick<JobRunsOptions, 'store' | 'log' | 'onFailure' | 'now'> {
  readonly runningMax: number
  readonly waitingMax: number
  /** How many finished jobs are kept; the oldest are removed first. */
  readonly keptMax: number
  /** How long cancelling waits for the job to end; ten seconds by default. */
  readonly endMs?: number
}

const KEPT_DAYS = 30

const END_MS = 10_000

const OVERDUE = 'It was cancelled but has not ended yet'

/** The limit for extra jobs, which began as requests that a client was waiting for. */
const BESIDE_MAX = 100

interface Running {
  readonly stopping: AbortController
  readonly ended: Promise<void>
  readonly lane: string | null
  /** Whether the job takes no slot, because it began as a request that a client was waiting for. */
  readonly isBeside: boolean
  /** Whether the job was cancelled but is still running. */
  isOverdue: boolean
}

/** Runs jobs in order, one at a time per knowledge base. After a restart they continue. */
export class JobRunner implements Jobs {
  readonly #options: JobRunnerOptions
  readonly #handlers = new Map<JobKind, JobHandler>()
  readonly #waiting: number[] = []
  readonly #running = new Map<number, Running>()
  /** How many new jobs are being stored and are not queued yet. */
  #comingCount = 0
  readonly #paces = new Map<number, JobPace>()
  readonly #watchers: JobWatchers
  readonly #runs: JobRuns
  /** Requests that are being turned into jobs. */
  readonly #adoptions = new Set<Promise<unknown>>()
  /** One queue per job, because changes to a job run in order. */
  readonly #turns = new Map<number, SerialQueue>()
  #state: 'waiting' | 'open' | 'stopping' | 'closed' = 'waiting'

  constructor(options: JobRunnerOptions) {
    this.#options = options
    this.#watchers = new JobWatchers((id) => this.get(id))
    const { store, log, onFailure, now } = options
    const [handlers, paces] = [this.#handlers, this.#paces]
    const shown = (id: number) => this.get(id)
    const noteEmbedded = this.#noteEmbedded.bind(this)
    this.#runs = new JobRuns({ store, log, onFailure, now, handlers, paces, shown, noteEmbedded })
    options.store.onChange((job) => this.#changed(job))
  }

  handle(kind: JobKind, handler: JobHandler): void {
    this.#handlers.set(kind, handler)
  }

  /** Starts the runner and continues the jobs that the last process left unfinished. */
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
    // A job may arrive before the start is complete.
    if (this.#state === 'waiting') this.open()
    else this.#enqueue(id)
    return this.get(id)
  }

  async adopt(draft: JobDraft, ongoing: OngoingWork): Promise<AdoptedJob | null> {
    // A job may arrive before the start is complete.
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
      return {
        job: this.get(id),
        mark: (mark) => store.mark({ ...mark, jobId: id }),
        noteEmbedded: (chunkCount) => this.#noteEmbedded(id, chunkCount),
      }
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
      if (isOver(this.#stored(id)))
        throw wrongState(this.#stored(id), 'only a job that has not finished')
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
        // The job ended before it could be cancelled.
        const job = this.#stored(id)
        if (job.state !== 'cancelled') throw wrongState(job, 'only a job that has not finished')
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
      if (!isOver(job)) throw wrongState(job, 'cancel it first: only a finished job')
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
   * Gives running jobs up to `graceMs` to reach a checkpoint, then aborts them. They resume later.
   */
  async close(graceMs = 0): Promise<void> {
    if (this.#state === 'closed') return
    this.#state = 'stopping'
    this.#watchers.close()
    const abortAll = () => {
      for (const { stopping } of this.#running.values()) stopping.abort(shuttingDown())
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
        throw wrongState(job, 'only a failed or cancelled job')
      }
      this.#refuseTooMany()
      const fresh = { state: 'queued', finishedAt: null, error: null } as const
      await this.#options.store.change(id, { ...fresh, ...changes })
      this.#paces.delete(id)
      this.#enqueue(id)
      return this.get(id)
    })
  }

  /** Runs changes to one job in order, so that two never overlap. */
  async #inTurn<T>(id: number, work: () => Promise<T>): Promise<T> {
    const queue = this.#turns.get(id) ?? new SerialQueue()
    this.#turns.set(id, queue)
    try {
      return await queue.run(work)
    } finally {
      if (queue.isIdle) this.#turns.delete(id)
    }
  }

  #noteEmbedded(id: number, chunkCount: number): void {
    const pace = this.#paces.get(id)
    if (pace === undefined) return
    pace.embeddedChunks = (pace.embeddedChunks ?? 0) + chunkCount
    this.#watchers.changed(id)
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
      embeddedChunks: pace?.embeddedChunks ?? null,
    }
  }

  #refuseTooMany(): void {
    const { waitingMax } = this.#options
    if (this.#state === 'stopping' || this.#state === 'closed') throw shuttingDown()
    if (this.#waiting.length + this.#comingCount < waitingMax + this.#freePlaces()) return
    const limit = `${waitingMax} jobs are already waiting`
    throw new AppError('too_busy', `${limit}: try again when some have finished`)
  }

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

  /** Starts waiting jobs, skipping those whose knowledge base already has a running job. */
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

  /** @param ongoing the work, if it is already running */
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
    if (this.#state === 'stopping') stopping.abort(shuttingDown())
  }

  #changed(job: StoredJob): void {
    if (job.state === 'running') this.#paces.get(job.id)?.note(job.progress, this.#options.now())
    this.#watchers.changed(job.id)
    if (this.#state === 'stopping' && job.state === 'running') {
      this.#running.get(job.id)?.stopping.abort(shuttingDown())
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
  return new AppError('job_state', `Job ${id} is ${state}; ${what} can be changed like this`)
}
