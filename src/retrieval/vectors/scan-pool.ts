import { AppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import { WorkerHost } from '../../core/runtime/worker-host.ts'
import { VECTOR_LIMITS } from '../kernel/memory-layout.ts'
import {
  type ResultOf,
  type ScanRunner,
  type ThreadResult,
  type ThreadTask,
  TOGETHER_MAX,
  TOGETHER_MIN,
} from './scan.ts'
import type { FromScanThread, ToScanThread } from './scan-thread.ts'
import type { VectorMemory } from './vector-memory.ts'

interface ScanPoolOptions {
  readonly workerUrl: string
  readonly queueMax: number
  readonly attemptsMax: number
}

export function scanPoolOptions(): ScanPoolOptions {
  return {
    workerUrl: new URL('../../wiring/threads/scan-entry.ts', import.meta.url).href,
    queueMax: VECTOR_LIMITS.queueMax,
    attemptsMax: VECTOR_LIMITS.attemptsMax,
  }
}

interface Job {
  readonly id: number
  readonly task: ThreadTask
  readonly settled: PromiseWithResolvers<ThreadResult>
  attempts: number
  isCancelled: boolean
}

interface Seat {
  readonly slots: readonly number[]
  readonly cancelled: Int32Array<SharedArrayBuffer>
  worker: WorkerHost | null
  batch: readonly Job[]
}

/** Waiting scans of one index go through memory together, because memory is the bottleneck. */
export class ScanPool implements ScanRunner {
  readonly #memory: VectorMemory
  readonly #options: ScanPoolOptions
  readonly #seats: readonly Seat[]
  readonly #queue: Job[] = []
  #lastId = 0
  #isClosed = false

  constructor(memory: VectorMemory, options: ScanPoolOptions = scanPoolOptions()) {
    this.#memory = memory
    this.#options = options
    this.#seats = Array.from({ length: memory.threadCount }, (_, index) => ({
      slots: slotsOf(index),
      cancelled: new Int32Array(new SharedArrayBuffer(4 * VECTOR_LIMITS.batchMax)),
      worker: null,
      batch: [],
    }))
  }

  get threadCount(): number {
    return this.#seats.length
  }

  /** The number of idle threads, or 0 if work is waiting. */
  get idleCount(): number {
    if (this.#queue.length > 0) return 0
    return this.#seats.filter((seat) => seat.batch.length === 0).length
  }

  /** An abort ends the wait at once, and the work soon after. */
  async run<T extends ThreadTask>(task: T, signal: AbortSignal | null): Promise<ResultOf<T>> {
    signal?.throwIfAborted()
    if (this.#isClosed) throw closed()
    if (this.#queue.length >= this.#options.queueMax) {
      const limit = `${this.#options.queueMax} searches are waiting`
      throw new AppError('too_busy', `Vector search is too busy: ${limit}`)
    }
    this.#lastId = (this.#lastId + 1) % 2 ** 31
    const settled = Promise.withResolvers<ThreadResult>()
    const job: Job = { id: this.#lastId, task, settled, attempts: 0, isCancelled: false }
    const stopListening = signal && onAbort(signal, () => this.#cancel(job, signal.reason))
    this.#queue.push(job)
    this.#startNext()
    try {
      // A thread answers each task with the matching kind of result.
      return (await settled.promise) as ResultOf<T>
    } finally {
      stopListening?.()
    }
  }

  /** Ends the threads. Waiting jobs fail with `shutting_down`. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const job of this.#queue.splice(0)) job.settled.reject(closed())
    const workers = this.#seats.flatMap(({ worker }) => (worker === null ? [] : [worker]))
    for (const seat of this.#seats) {
      for (const job of seat.batch) job.settled.reject(closed())
      seat.batch = []
      seat.worker = null
    }
    await Promise.all(workers.map((worker) => worker.terminate()))
  }

  #startNext(): void {
    if (this.#isClosed) return
    const idle = this.#seats.filter((seat) => seat.batch.length === 0)
    for (const [index, seat] of idle.entries()) {
      const first = this.#queue.find((job) => !this.#shallWait(job))
      if (first === undefined) return
      const share = Math.ceil(this.#queue.length / (idle.length - index))
      const isOne = this.#memory.looksTogether && this.#matesOf(first).length >= TOGETHER_MIN
      const { batchMax } = VECTOR_LIMITS
      this.#start(seat, this.#batchOf(first, isOne ? batchMax : Math.min(share, batchMax)))
    }
  }

  /** Returns the waiting jobs that could be scanned together with this one, including itself. */
  #matesOf(job: Job): readonly Job[] {
    return this.#queue.filter((other) => other === job || goTogether(job, other))
  }

  /** Under load, joining scans of the same rows saves more than a second thread would. */
  #shallWait(job: Job): boolean {
    if (!this.#memory.looksTogether || job.attempts > 0 || !scansAllRows(job)) return false
    const running = this.#seats.flatMap(({ batch }) => batch).filter((one) => isSameStart(one, job))
    const waitingCount = this.#matesOf(job).length
    if (running.length === 0 || waitingCount >= TOGETHER_MAX) return false
    return running.length + waitingCount > TOGETHER_MIN
  }

  /** Returns the job with others that read the same memory. */
  #batchOf(first: Job, countMax: number): readonly Job[] {
    const batch = this.#matesOf(first).slice(0, countMax)
    for (const job of batch) this.#queue.splice(this.#queue.indexOf(job), 1)
    return batch
  }

  #start(seat: Seat, batch: readonly Job[]): void {
    seat.batch = batch
    for (const job of batch) job.attempts += 1
    try {
      seat.worker ??= this.#startWorker(seat)
      seat.worker.setBusy(true)
      const scans = batch.map(({ id, task }) => ({ id, task }))
      post(seat.worker, { kind: 'scan', batch: scans }, batch.flatMap(takenBuffers))
    } catch (cause) {
      seat.batch = []
      for (const job of batch) job.settled.reject(threadFailed(cause))
    }
  }

  #startWorker(seat: Seat): WorkerHost {
    const worker: WorkerHost = new WorkerHost({
      url: this.#options.workerUrl,
      // The thread runs only this program's code and posts nothing else.
      onMessage: (answer) => this.#answered(seat, worker, answer as FromScanThread),
      // Two threads must never share a slot, so the next one waits until this one has ended.
      onEnd: (cause) => {
        void worker.terminate().finally(() => this.#ended(seat, worker, cause))
      },
    })
    const { memory, kernelChoice } = this.#memory
    const cancelled = seat.cancelled.buffer
    post(worker, { kind: 'open', memory, slots: seat.slots, kernel: kernelChoice, cancelled })
    return worker
  }

  #answered(seat: Seat, worker: WorkerHost, { results }: FromScanThread): void {
    if (seat.worker !== worker) return
    const { batch } = seat
    seat.batch = []
    worker.setBusy(false)
    for (const [index, job] of batch.entries()) {
      const result = results[index]
      // A cancelled job was already rejected.
      if (result) job.settled.resolve(result)
    }
    this.#startNext()
  }

  #ended(seat: Seat, worker: WorkerHost, cause: unknown): void {
    if (seat.worker !== worker) return
    const { batch } = seat
    seat.worker = null
    seat.batch = []
    for (const job of batch.toReversed()) {
      if (job.isCancelled) continue
      if (job.attempts < this.#options.attemptsMax) this.#queue.unshift(job)
      else job.settled.reject(threadFailed(cause))
    }
    this.#startNext()
  }

  #cancel(job: Job, reason: unknown): void {
    job.isCancelled = true
    job.settled.reject(reason)
    const index = this.#queue.indexOf(job)
    if (index !== -1) this.#queue.splice(index, 1)
    for (const { batch, cancelled } of this.#seats) {
      const position = batch.indexOf(job)
      if (position !== -1) Atomics.store(cancelled, position, job.id)
    }
  }
}

/** Slot 0 of the memory belongs to the calling thread. */
function slotsOf(seatIndex: number): readonly number[] {
  const { batchMax } = VECTOR_LIMITS
  return Array.from({ length: batchMax }, (_, index) => 1 + seatIndex * batchMax + index)
}

/** Full scans with the same start. A job that crashed a thread is tried alone. */
function goTogether(one: Job, other: Job): boolean {
  return one.attempts === 0 && other.attempts === 0 && isSameStart(one, other)
}

function isSameStart(one: Job, other: Job): boolean {
  return scansAllRows(one) && scansAllRows(other) && firstPart(one) === firstPart(other)
}

function scansAllRows({ task }: Job): boolean {
  return task.kind === 'scan' && task.rows === null
}

function firstPart({ task }: Job): number | undefined {
  return task.kind === 'scan' ? task.parts[0] : undefined
}

function takenBuffers({ task }: Job): readonly ArrayBuffer[] {
  const buffer = task.kind === 'store' ? task.vectors.buffer : null
  return buffer instanceof ArrayBuffer ? [buffer] : []
}

function post(worker: WorkerHost, message: ToScanThread, taken: readonly ArrayBuffer[] = []): void {
  worker.post(message, taken)
}

function closed(): AppError {
  return new AppError('shutting_down', 'Vector search is closed')
}

function threadFailed(cause: unknown): AppError {
  return new AppError('internal', 'A thread of vector search ended unexpectedly', { cause })
}
