import { AppError } from '../errors.ts'
import { onAbort } from './cancellation.ts'

interface FairPoolOptions<Worker> {
  readonly workersMax: number
  readonly queueMax: number
  readonly tooBusyMessage: string
  /** Makes a worker. It may start its resources only with the first job. */
  readonly make: () => Worker
  /** Whether a worker could start right away, so that it is preferred. If unset, all are equal. */
  readonly isReady?: (worker: Worker) => boolean
}

interface PooledWork<Worker, Result> {
  readonly key: symbol
  readonly signal: AbortSignal
  /** The signal aborts with the job's own signal or when the pool closes. */
  work(worker: Worker, signal: AbortSignal): Promise<Result>
}

/** Shares workers fairly: each key uses one at a time, and waiting keys take turns. */
export class FairPool<Worker> {
  readonly #options: FairPoolOptions<Worker>
  readonly #idle: Worker[] = []
  readonly #busy = new Map<symbol, Worker>()
  /** In the order of their turns: the first key has waited longest. */
  readonly #waiting = new Map<symbol, Waiting<Worker>[]>()
  readonly #closing = new AbortController()
  #jobCount = 0

  constructor(options: FairPoolOptions<Worker>) {
    this.#options = options
  }

  /** @throws AppError of the work, `too_busy`; the reason of the signal or of `close` */
  async run<Result>(job: PooledWork<Worker, Result>): Promise<Result> {
    const { queueMax, tooBusyMessage } = this.#options
    if (this.#jobCount >= queueMax) throw new AppError('too_busy', tooBusyMessage)
    const ended = AbortSignal.any([job.signal, this.#closing.signal])
    this.#jobCount += 1
    try {
      const worker = await this.#worker(job.key, ended)
      try {
        return await job.work(worker, ended)
      } finally {
        this.#busy.delete(job.key)
        this.#idle.push(worker)
        this.#startNext()
      }
    } finally {
      this.#jobCount -= 1
    }
  }

  /** The worker that the next job would get now; null if all are busy. */
  next(): Worker | null {
    const index = this.#nextIndex()
    if (index !== -1) return this.#idle[index] ?? null
    if (this.#busy.size >= this.#options.workersMax) return null
    const worker = this.#options.make()
    this.#idle.push(worker)
    return worker
  }

  /** Ends all work with this reason. @returns the workers, which the caller must stop */
  close(reason: AppError): readonly Worker[] {
    this.#closing.abort(reason)
    return [...this.#idle, ...this.#busy.values()]
  }

  async #worker(key: symbol, signal: AbortSignal): Promise<Worker> {
    signal.throwIfAborted()
    const turn = Promise.withResolvers<Worker>()
    const waiting: Waiting<Worker> = { start: turn.resolve }
    this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), waiting])
    const stopListening = onAbort(signal, () => {
      // A caller that already has a worker returns it after its job.
      if (this.#leave(key, waiting)) turn.reject(signal.reason)
    })
    this.#startNext()
    try {
      return await turn.promise
    } finally {
      stopListening()
    }
  }

  #leave(key: symbol, waiting: Waiting<Worker>): boolean {
    const jobs = this.#waiting.get(key) ?? []
    const others = jobs.filter((job) => job !== waiting)
    if (others.length === 0) this.#waiting.delete(key)
    else this.#waiting.set(key, others)
    return others.length < jobs.length
  }

  #startNext(): void {
    for (const [key, [next, ...others]] of this.#waiting) {
      if (this.#busy.size >= this.#options.workersMax) return
      if (next === undefined || this.#busy.has(key)) continue
      // A key with more waiting jobs goes to the end of the queue.
      this.#waiting.delete(key)
      if (others.length > 0) this.#waiting.set(key, others)
      const [worker = this.#options.make()] = this.#idle.splice(this.#nextIndex(), 1)
      this.#busy.set(key, worker)
      next.start(worker)
    }
  }

  /** The index of the most recently used idle worker, preferring ready ones; -1 if none. */
  #nextIndex(): number {
    const { isReady } = this.#options
    const ready = isReady === undefined ? -1 : this.#idle.findLastIndex(isReady)
    return ready === -1 ? this.#idle.length - 1 : ready
  }
}

interface Waiting<Worker> {
  start(worker: Worker): void
}
