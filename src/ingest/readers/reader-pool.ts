import { AppError, type ErrorCode } from '../../errors.ts'
import { abortable, onAbort } from '../../runtime/cancellation.ts'
import { WorkerHost } from '../../runtime/worker-host.ts'
import type { ReaderAnswer, ReaderJob } from './reader-job.ts'

export interface ReaderPoolOptions {
  /** Entry of the threads. */
  readonly workerUrl: string
  readonly threadsMax: number
  /** Jobs that run and that wait. */
  readonly queueMax: number
}

/** One job's deadline, and what a caller hears when it is missed or the thread breaks. */
export interface JobTerms {
  readonly deadlineMs: number
  readonly code: ErrorCode
  readonly what: string
}

interface PooledJob {
  readonly job: ReaderJob
  readonly terms: JobTerms
  /** Jobs of one key run one after the other; keys take turns. */
  readonly key: symbol
}

/** Threads that are shared fairly: each key has one at a time, and the keys that wait take turns. */
export class ReaderPool {
  readonly #options: ReaderPoolOptions
  readonly #idle: ReaderThread[] = []
  readonly #busy = new Map<symbol, ReaderThread>()
  /** The first key has waited longest for a turn. */
  readonly #waiting = new Map<symbol, Waiting[]>()
  readonly #closing = new AbortController()
  #jobCount = 0

  constructor(options: ReaderPoolOptions) {
    this.#options = options
  }

  /** @throws AppError that of the job, `too_busy`, `shutting_down`; the signal's reason */
  async run({ job, terms, key }: PooledJob, signal: AbortSignal): Promise<ReaderAnswer> {
    const { queueMax } = this.#options
    if (this.#jobCount >= queueMax) {
      throw new AppError(
        'too_busy',
        `More than ${queueMax} documents are waiting to be read; try again later`,
      )
    }
    const ended = AbortSignal.any([signal, this.#closing.signal])
    this.#jobCount += 1
    try {
      const thread = await this.#thread(key, ended)
      try {
        return await thread.run(job, terms, ended)
      } finally {
        this.#busy.delete(key)
        this.#idle.push(thread)
        this.#startNext()
      }
    } finally {
      this.#jobCount -= 1
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new AppError('shutting_down', 'The document reader is closed'))
    await Promise.all([...this.#idle, ...this.#busy.values()].map((thread) => thread.stop()))
  }

  async #thread(key: symbol, signal: AbortSignal): Promise<ReaderThread> {
    signal.throwIfAborted()
    const turn = Promise.withResolvers<ReaderThread>()
    const waiting: Waiting = { start: turn.resolve }
    this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), waiting])
    const stopListening = onAbort(signal, () => {
      // Whoever has a thread already gives it back after its job.
      if (this.#leave(key, waiting)) turn.reject(signal.reason)
    })
    this.#startNext()
    try {
      return await turn.promise
    } finally {
      stopListening()
    }
  }

  #leave(key: symbol, waiting: Waiting): boolean {
    const jobs = this.#waiting.get(key) ?? []
    const others = jobs.filter((job) => job !== waiting)
    if (others.length === 0) this.#waiting.delete(key)
    else this.#waiting.set(key, others)
    return others.length < jobs.length
  }

  #startNext(): void {
    for (const [key, [next, ...others]] of this.#waiting) {
      if (this.#busy.size >= this.#options.threadsMax) return
      if (next === undefined || this.#busy.has(key)) continue
      // A key that has more to do goes to the end.
      this.#waiting.delete(key)
      if (others.length > 0) this.#waiting.set(key, others)
      const thread = this.#idle.pop() ?? new ReaderThread(this.#options.workerUrl)
      this.#busy.set(key, thread)
      next.start(thread)
    }
  }
}

interface Waiting {
  start(thread: ReaderThread): void
}

/**
 * A thread that starts with its first job and does one at a time. What takes too long, or ends the thread, costs that
 * thread only: the next job gets another one.
 */
class ReaderThread {
  readonly #workerUrl: string
  #host: WorkerHost | null = null
  #answer: PromiseWithResolvers<ReaderAnswer> = Promise.withResolvers()

  constructor(workerUrl: string) {
    this.#workerUrl = workerUrl
  }

  /** @throws AppError that of the job; the signal's reason */
  async run(job: ReaderJob, terms: JobTerms, signal: AbortSignal): Promise<ReaderAnswer> {
    signal.throwIfAborted()
    const timeout = AbortSignal.timeout(terms.deadlineMs)
    try {
      const answer = await abortable(this.#answered(job), AbortSignal.any([signal, timeout]))
      this.#host?.setBusy(false)
      if (answer.kind !== 'failed') return answer
      throw new AppError(answer.code, answer.message)
    } catch (error) {
      // A thread that answered is idle; any other may be busy for ever.
      if (error instanceof AppError && error !== signal.reason) throw error
      await this.stop()
      if (signal.aborted) throw signal.reason
      const limit = `took longer than ${terms.deadlineMs} ms`
      const why = timeout.aborted ? limit : 'failed: its thread ended'
      throw new AppError(terms.code, `${terms.what} ${why}`, { cause: error })
    }
  }

  #answered(job: ReaderJob): Promise<ReaderAnswer> {
    this.#answer = Promise.withResolvers()
    const host = this.#host === null || this.#host.hasEnded ? this.#start() : this.#host
    host.setBusy(true)
    host.post(job)
    return this.#answer.promise
  }

  #start(): WorkerHost {
    this.#host = new WorkerHost({
      url: this.#workerUrl,
      // The reader thread posts nothing else.
      onMessage: (data) => this.#answer.resolve(data as ReaderAnswer),
      onEnd: (cause) => this.#answer.reject(new Error('the reader thread ended', { cause })),
    })
    return this.#host
  }

  async stop(): Promise<void> {
    const host = this.#host
    this.#host = null
    await host?.terminate()
  }
}
