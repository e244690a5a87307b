import { isOver, type Job } from '../../core/domain/flow/job.ts'
import { AppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import { SLICE_MS, TimeSlice } from '../../core/runtime/serial-queue.ts'

/** The minimum time between two updates for watchers; longer if there are many watchers. */
const SHOWN_EVERY_MS = 250
const MS_PER_WATCHER = 0.1

const WATCHERS_MAX = 10_000

interface Watched {
  readonly waiting: Set<() => void>
  count: number
  timer: ReturnType<typeof setTimeout> | null
  version: number
}

/** Notifies the watchers of jobs. Each gets only the newest state, a few times a second. */
export class JobWatchers {
  readonly #jobOf: (id: number) => Job
  readonly #watched = new Map<number, Watched>()
  #count = 0
  #isClosed = false

  /** @param jobOf throws for an unknown job */
  constructor(jobOf: (id: number) => Job) {
    this.#jobOf = jobOf
  }

  watch(id: number, signal: AbortSignal): AsyncIterable<Job> {
    if (this.#count >= WATCHERS_MAX) {
      const limit = `${WATCHERS_MAX} clients are already watching jobs`
      throw new AppError('too_busy', `${limit}: poll the job instead`)
    }
    return this.#changes(id, signal)
  }

  changed(id: number): void {
    const watched = this.#watched.get(id)
    if (watched === undefined || watched.timer !== null) return
    const afterMs = Math.max(SHOWN_EVERY_MS, watched.count * MS_PER_WATCHER)
    watched.timer = setTimeout(() => {
      watched.timer = null
      void this.#show(watched)
    }, afterMs)
  }

  close(): void {
    this.#isClosed = true
    for (const watched of this.#watched.values()) {
      clearTimeout(watched.timer ?? undefined)
      void this.#show(watched)
    }
  }

  /** Wakes all watchers of the job, and yields to other work in between. */
  async #show(watched: Watched): Promise<void> {
    watched.version += 1
    const waiting = [...watched.waiting]
    watched.waiting.clear()
    const slice = new TimeSlice(SLICE_MS)
    const { signal } = new AbortController()
    for (const wake of waiting) {
      wake()
      if (slice.isSpent) await slice.yieldIfSpent(signal)
    }
  }

  async *#changes(id: number, signal: AbortSignal): AsyncGenerator<Job> {
    const watched = this.#enter(id)
    try {
      while (!signal.aborted) {
        const { version } = watched
        const job = this.#known(id)
        if (job === null) return
        yield job
        if (isOver(job) || this.#isClosed) return
        if (watched.version === version) await next(watched, signal)
      }
    } finally {
      this.#leave(id, watched)
    }
  }

  #known(id: number): Job | null {
    try {
      return this.#jobOf(id)
    } catch {
      return null
    }
  }

  #enter(id: number): Watched {
    const watched = this.#watched.get(id) ?? {
      waiting: new Set(),
      count: 0,
      timer: null,
      version: 0,
    }
    watched.count += 1
    this.#count += 1
    this.#watched.set(id, watched)
    return watched
  }

  #leave(id: number, watched: Watched): void {
    watched.count -= 1
    this.#count -= 1
    if (watched.count > 0) return
    clearTimeout(watched.timer ?? undefined)
    this.#watched.delete(id)
  }
}

/** Resolves at the next change, or when the watcher stops. */
async function next(watched: Watched, signal: AbortSignal): Promise<void> {
  const changed = Promise.withResolvers<void>()
  watched.waiting.add(changed.resolve)
  const stopListening = onAbort(signal, changed.resolve)
  await changed.promise
  watched.waiting.delete(changed.resolve)
  stopListening()
}
