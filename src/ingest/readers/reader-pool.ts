import { AppError, type ErrorCode } from '../../core/errors.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { FairPool } from '../../core/runtime/fair-pool.ts'
import { WorkerHost } from '../../core/runtime/worker-host.ts'
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
  readonly #threads: FairPool<ReaderThread>

  constructor({ workerUrl, threadsMax, queueMax }: ReaderPoolOptions) {
    this.#threads = new FairPool({
      workersMax: threadsMax,
      queueMax,
      tooBusyMessage: `More than ${queueMax} documents are waiting to be read; try again later`,
      make: () => new ReaderThread(workerUrl),
    })
  }

  /** @throws AppError that of the job, `too_busy`, `shutting_down`; the signal's reason */
  run({ job, terms, key }: PooledJob, signal: AbortSignal): Promise<ReaderAnswer> {
    return this.#threads.run({
      key,
      signal,
      work: (thread, ended) => thread.run(job, terms, ended),
    })
  }

  async close(): Promise<void> {
    const reason = new AppError('shutting_down', 'The document reader is closed')
    await Promise.all(this.#threads.close(reason).map((thread) => thread.stop()))
  }
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
