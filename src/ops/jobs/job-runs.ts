import {
  type Job,
  type JobKind,
  type JobProgress,
  PendingLeftOut,
} from '../../core/domain/flow/job.ts'
import type {
  JobChanges,
  JobHandler,
  JobStore,
  JobWork,
} from '../../core/domain/ports/job-ports.ts'
import { AppError, hasCode, toAppError } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'

/** Writes log lines about a job: at its start, every ten seconds, and at its end. */
export interface JobLogEntry {
  readonly event: 'started' | 'running' | 'over'
  readonly job: Job
}

export interface JobRunsOptions {
  readonly store: JobStore
  readonly handlers: ReadonlyMap<JobKind, JobHandler>
  readonly paces: Map<number, JobPace>
  readonly shown: (id: number) => Job
  readonly noteEmbedded: (id: number, chunkCount: number) => void
  readonly log: (entry: JobLogEntry) => void
  readonly onFailure: (error: unknown) => void
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const LOG_EVERY_MS = 10_000

/** A job started this often without progress is suspected of crashing the process. */
const STARTS_MAX = 20

/** Runs a job from start to end, and stores its progress. */
export class JobRuns {
  readonly #options: JobRunsOptions

  constructor(options: JobRunsOptions) {
    this.#options = options
  }

  /** @param ongoing the work, if it is already running and stored as such */
  async run(id: number, signal: AbortSignal, ongoing?: Promise<unknown>): Promise<void> {
    const { log, shown, paces, now } = this.#options
    const leftOut = new PendingLeftOut()
    let timer: ReturnType<typeof setInterval> | undefined
    try {
      if (ongoing === undefined) await this.#noteStart(id)
      paces.set(id, new JobPace(shown(id).progress, now()))
      log({ event: 'started', job: shown(id) })
      timer = setInterval(() => log({ event: 'running', job: shown(id) }), LOG_EVERY_MS)
      await (ongoing ?? this.#handle(id, leftOut, signal))
      await this.#end(id, { state: 'done', ...leftOut.taken(shown(id)) })
    } catch (error) {
      await this.#failed(id, error, signal, leftOut)
    } finally {
      clearInterval(timer)
    }
  }

  async #noteStart(id: number): Promise<void> {
    const { store, shown } = this.#options
    const { startedAt } = shown(id)
    const begun = { startedAt: startedAt ?? this.#timestamp(), finishedAt: null, error: null }
    await store.change(id, { state: 'running', ...begun })
  }

  async #handle(id: number, leftOut: PendingLeftOut, signal: AbortSignal): Promise<void> {
    await this.#refuseDeadly(id)
    signal.throwIfAborted()
    await this.#handlerOf(id).run(await this.#workOf(id, leftOut), signal)
  }

  async #failed(
    id: number,
    error: unknown,
    signal: AbortSignal,
    leftOut: PendingLeftOut,
  ): Promise<void> {
    const { store, shown, onFailure } = this.#options
    if (signal.aborted && hasCode(signal.reason, 'shutting_down')) {
      // The next start continues the job, and does not count as one after a crash.
      await store.change(id, { state: 'queued' })
      return
    }
    const failure = toAppError(error)
    if (failure.code === 'internal') onFailure(failure.cause ?? failure)
    const outcome: JobChanges = signal.aborted
      ? { state: 'cancelled' }
      : { state: 'failed', error: failure.message }
    await this.#end(id, { ...outcome, ...leftOut.taken(shown(id)) })
  }

  async #end(id: number, changes: JobChanges): Promise<void> {
    const { store, log, shown } = this.#options
    await store.change(id, { ...changes, finishedAt: this.#timestamp() })
    log({ event: 'over', job: shown(id) })
  }

  #handlerOf(id: number): JobHandler {
    const { handlers, shown } = this.#options
    const { kind } = shown(id)
    const handler = handlers.get(kind)
    if (handler === undefined) throw new Error(`no handler for jobs of the kind ${kind}`)
    return handler
  }

  /** @throws AppError `job_state` for a job during which the server crashed repeatedly */
  async #refuseDeadly(id: number): Promise<void> {
    const count = await this.#options.store.countStart(id)
    if (count <= STARTS_MAX) return
    const how = 'resume it to try again'
    throw new AppError(
      'job_state',
      `The server ended ${STARTS_MAX} times while this job ran and stored nothing: ${how}`,
    )
  }

  async #workOf(id: number, leftOut: PendingLeftOut): Promise<JobWork> {
    const { store, shown, noteEmbedded } = this.#options
    return {
      job: shown(id),
      ...(await store.workOf(id)),
      items: (firstIndex) => store.items(id, firstIndex),
      mark: async (mark) => {
        const own = leftOut.taken(shown(id))
        await store.mark({ ...own, ...mark, jobId: id })
      },
      leaveOut: (error) => leftOut.add(error),
      noteEmbedded: (chunkCount) => noteEmbedded(id, chunkCount),
    }
  }

  #timestamp(): string {
    return timestampOfMillis(this.#options.now())
  }
}

const WINDOW_MS = 30_000
/** No rate is shown before this much time has passed. */
const SHORTEST_MS = 500

interface Sample {
  readonly atMs: number
  rows: number
}

export class JobPace {
  readonly #samples: Sample[]
  embeddedChunks: number | null = null

  constructor({ rows }: JobProgress, nowMs: number) {
    this.#samples = [{ rows, atMs: nowMs }]
  }

  note({ rows }: JobProgress, nowMs: number): void {
    const last = this.#samples.at(-1)
    // A few samples per second are enough.
    if (last !== undefined && this.#samples.length > 1 && nowMs - last.atMs < SHORTEST_MS) {
      last.rows = rows
      return
    }
    this.#samples.push({ rows, atMs: nowMs })
    // Keeps one sample before the window as its start.
    while ((this.#samples[1]?.atMs ?? nowMs) < nowMs - WINDOW_MS) this.#samples.shift()
  }

  of({ rows, total }: JobProgress, nowMs: number): Pick<Job, 'rate' | 'remainingSeconds'> {
    const first = this.#samples[0]
    if (first === undefined || nowMs - first.atMs < SHORTEST_MS || rows <= first.rows) {
      return { rate: null, remainingSeconds: null }
    }
    const rate = ((rows - first.rows) * 1000) / (nowMs - first.atMs)
    const remainingSeconds = total === null ? null : Math.ceil(Math.max(0, total - rows) / rate)
    return { rate: Math.round(rate * 10) / 10, remainingSeconds }
  }
}
