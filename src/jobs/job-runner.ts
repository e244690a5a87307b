import {
  isOver,
  type Job,
  type JobKind,
  PendingLeftOut,
  type StoredJob,
} from '../domain/flow/job.ts'
import type {
  JobChanges,
  JobDraft,
  JobHandler,
  JobStore,
  Jobs,
  JobWork,
} from '../domain/ports/job-ports.ts'
import { timestampOfMillis } from '../domain/timestamp.ts'
import { AppError, toAppError } from '../errors.ts'
import { JobPace } from './job-pace.ts'
import { JobWatchers } from './job-watchers.ts'

/** What the log is told of a job: at its start, every ten seconds, and at its end. */
export interface JobLogEntry {
  readonly event: 'started' | 'running' | 'over'
  readonly job: Job
}

export interface JobRunnerOptions {
  readonly store: JobStore
  /** Jobs at work at the same time. */
  readonly runningMax: number
  /** Jobs that wait for their turn. */
  readonly waitingMax: number
  /** Jobs that are over and still known, the newest. */
  readonly keptMax: number
  readonly log: (entry: JobLogEntry) => void
  /** Told of what nobody expected. */
  readonly onFailure: (error: unknown) => void
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const LOG_EVERY_MS = 10_000

const KEPT_DAYS = 30

/** Starts in a row after which nothing was stored: such a job may be what ends the process. */
const STARTS_MAX = 20

interface Running {
  readonly stopping: AbortController
  readonly ended: Promise<void>
  readonly lane: string | null
}

/**
 * Runs jobs in the order in which they came: so many at once, of one knowledge base one at a time. What a job has stored is
 * marked, so that it goes on from there after a restart.
 */
export class JobRunner implements Jobs {
  readonly #options: JobRunnerOptions
  readonly #handlers = new Map<JobKind, JobHandler>()
  readonly #waiting: number[] = []
  readonly #running = new Map<number, Running>()
  /** Jobs that are being stored and then wait. */
  #comingCount = 0
  readonly #paces = new Map<number, JobPace>()
  readonly #watchers: JobWatchers
  /** The last request to change a job: those of one job come one after the other. */
  readonly #turns = new Map<number, Promise<unknown>>()
  #state: 'waiting' | 'open' | 'stopping' | 'closed' = 'waiting'

  constructor(options: JobRunnerOptions) {
    this.#options = options
    this.#watchers = new JobWatchers((id) => this.get(id))
    options.store.onChange((job) => this.#changed(job))
  }

  /** From now on this one does the work of such jobs, alone. */
  handle(kind: JobKind, handler: JobHandler): void {
    this.#handlers.set(kind, handler)
  }

  /** Begins: jobs that the last process did not finish go on. */
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
    // The first one may come before the start is complete.
    if (this.#state === 'waiting') this.open()
    else this.#enqueue(id)
    return this.get(id)
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

  cancel(id: number): Promise<Job> {
    return this.#inTurn(id, async () => {
      if (isOver(this.#stored(id))) throw wrongState(this.#stored(id), 'only one that is not over')
      const running = this.#running.get(id)
      if (running === undefined) {
        this.#dequeue(id)
        await this.#options.store.change(id, { state: 'cancelled', finishedAt: this.#timestamp() })
      } else {
        running.stopping.abort(new AppError('cancelled', 'The job was cancelled'))
        await running.ended
        // It was faster.
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

  watch(id: number, signal: AbortSignal): AsyncIterable<Job> {
    this.#stored(id)
    return this.#watchers.watch(id, signal)
  }

  /**
   * Lets each running job get to its next mark, for `graceMs`, then aborts it. All of them go on at the next start. Resolves
   * when they have ended.
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

  /** One after the other, so that two requests never do half of each. */
  #inTurn<T>(id: number, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(id) ?? Promise.resolve()
    const turn = before.then(work)
    const settled = turn
      .catch(() => {})
      .then(() => {
        if (this.#turns.get(id) === settled) this.#turns.delete(id)
      })
    this.#turns.set(id, settled)
    return turn
  }

  #stored(id: number): StoredJob {
    const job = this.#options.store.get(id)
    if (job === undefined) throw new AppError('job_not_found', `There is no job ${id}`)
    return job
  }

  #shown(job: StoredJob): Job {
    const pace = job.state === 'running' ? this.#paces.get(job.id) : undefined
    return { ...job, ...(pace?.of(job.progress, this.#options.now()) ?? UNKNOWN_PACE) }
  }

  #refuseTooMany(): void {
    const { waitingMax } = this.#options
    if (this.#state === 'stopping' || this.#state === 'closed') throw stopped()
    if (this.#waiting.length + this.#comingCount < waitingMax + this.#freePlaces()) return
    const limit = `${waitingMax} jobs wait already`
    throw new AppError('too_busy', `${limit}: try again when some are over`)
  }

  /** Places in which a job could begin at once. */
  #freePlaces(): number {
    return Math.max(0, this.#options.runningMax - this.#running.size)
  }

  #enqueue(id: number): void {
    this.#waiting.push(id)
    this.#startNext()
  }

  #dequeue(id: number): void {
    const index = this.#waiting.indexOf(id)
    if (index !== -1) this.#waiting.splice(index, 1)
  }

  /** The first that wait and whose knowledge base has no other job at work. */
  #startNext(): void {
    if (this.#state !== 'open') return
    const busy = new Set([...this.#running.values()].map(({ lane }) => lane))
    busy.delete(null)
    for (const id of [...this.#waiting]) {
      if (this.#running.size >= this.#options.runningMax) return
      const job = this.#options.store.get(id)
      const lane = job === undefined ? null : laneOf(job)
      if (lane !== null && busy.has(lane)) continue
      this.#dequeue(id)
      if (job === undefined) continue
      busy.add(lane)
      this.#begin(job, lane)
    }
  }

  #begin({ id }: StoredJob, lane: string | null): void {
    const stopping = new AbortController()
    const ended = this.#run(id, stopping.signal)
      .catch((error) => this.#options.onFailure(error))
      .finally(() => {
        this.#running.delete(id)
        this.#paces.delete(id)
        this.#startNext()
        void this.#forgetOld().catch((error) => this.#options.onFailure(error))
      })
    this.#running.set(id, { stopping, ended, lane })
  }

  async #run(id: number, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#options
    const leftOut = new PendingLeftOut()
    let timer: ReturnType<typeof setInterval> | undefined
    try {
      const { startedAt } = this.#stored(id)
      const begun = { startedAt: startedAt ?? this.#timestamp(), finishedAt: null, error: null }
      await store.change(id, { state: 'running', ...begun })
      this.#paces.set(id, new JobPace(this.#stored(id).progress, this.#options.now()))
      log({ event: 'started', job: this.get(id) })
      timer = setInterval(() => log({ event: 'running', job: this.get(id) }), LOG_EVERY_MS)
      await this.#refuseDeadly(id)
      signal.throwIfAborted()
      await this.#handlerOf(id).run(await this.#workOf(id, leftOut), signal)
      await this.#end(id, { state: 'done', ...leftOut.taken(this.#stored(id)) })
    } catch (error) {
      await this.#failed(id, error, signal, leftOut)
    } finally {
      clearInterval(timer)
    }
  }

  async #failed(
    id: number,
    error: unknown,
    signal: AbortSignal,
    leftOut: PendingLeftOut,
  ): Promise<void> {
    if (signal.aborted && codeOf(signal.reason) === 'shutting_down') {
      // It goes on at the next start, which is not one after a crash.
      await this.#options.store.change(id, { state: 'queued' })
      return
    }
    const failure = toAppError(error)
    if (failure.code === 'internal') this.#options.onFailure(failure.cause ?? failure)
    const outcome: JobChanges = signal.aborted
      ? { state: 'cancelled' }
      : { state: 'failed', error: failure.message }
    await this.#end(id, { ...outcome, ...leftOut.taken(this.#stored(id)) })
  }

  async #end(id: number, changes: JobChanges): Promise<void> {
    await this.#options.store.change(id, { ...changes, finishedAt: this.#timestamp() })
    this.#options.log({ event: 'over', job: this.get(id) })
  }

  #handlerOf(id: number): JobHandler {
    const { kind } = this.#stored(id)
    const handler = this.#handlers.get(kind)
    if (handler === undefined) throw new Error(`nobody does jobs of the kind ${kind}`)
    return handler
  }

  /** @throws AppError `job_state` for a job during which the server ended again and again */
  async #refuseDeadly(id: number): Promise<void> {
    const count = await this.#options.store.countStart(id)
    if (count <= STARTS_MAX) return
    const how = 'resume it to try once more'
    throw new AppError(
      'job_state',
      `The server ended ${STARTS_MAX} times while this job ran and stored nothing: ${how}`,
    )
  }

  async #workOf(id: number, leftOut: PendingLeftOut): Promise<JobWork> {
    const { store } = this.#options
    return {
      job: this.get(id),
      ...(await store.workOf(id)),
      items: (firstIndex) => store.items(id, firstIndex),
      mark: async (mark) => {
        const own = leftOut.taken(this.#stored(id))
        await store.mark({ ...own, ...mark, jobId: id })
      },
      leaveOut: (error) => leftOut.add(error),
    }
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
    const oldest = timestampOfMillis(now() - KEPT_DAYS * 86_400_000)
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

function codeOf(error: unknown): string | null {
  return error instanceof AppError ? error.code : null
}

function wrongState({ id, state }: StoredJob, what: string): AppError {
  return new AppError('job_state', `Job ${id} is ${state}; ${what} can be changed so`)
}

function stopped(): AppError {
  return new AppError('shutting_down', 'The server is shutting down')
}
