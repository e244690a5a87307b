import { callerOf, setCaller } from './cancellation.ts'

/** Runs work one piece after the other, in order of arrival. A failure does not stop the next. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()
  #pending = 0

  /** Nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#pending === 0
  }

  /** @returns what the work gives; its failure is the caller's to handle */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#pending += 1
    const turn = this.#last.then(work)
    const settle = () => {
      this.#pending -= 1
    }
    this.#last = turn.then(settle, settle)
    return turn
  }

  /** Resolves once everything queued so far has settled. */
  async idle(): Promise<void> {
    await this.#last
  }
}

/** Work that several callers want at once is done by the first and shared with the others. */
export class SingleFlight {
  readonly #running = new Map<string, Promise<unknown>>()

  /** The running work of that name: it settles when the work is over, in any way. */
  of(name: string): Promise<unknown> | undefined {
    return this.#running.get(name)
  }

  /** Lets others wait for this work. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running.set(name, promise)
    try {
      return await work()
    } finally {
      if (this.#running.get(name) === promise) this.#running.delete(name)
      resolve()
    }
  }
}

/**
 * The results of `work` on each item, in item order, with at most `concurrencyMax` running at once. The first failure stops
 * the others and is thrown when all have ended.
 */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  bounds: { readonly concurrencyMax: number; readonly signal: AbortSignal },
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = new Map<number, Result>()
  const remaining = items.entries()
  const stop = new AbortController()
  const signal = AbortSignal.any([bounds.signal, stop.signal])
  setCaller(signal, callerOf(bounds.signal))
  // The lanes share one iterator: each takes the next item.
  const lane = async (): Promise<void> => {
    for (const [index, item] of remaining) {
      signal.throwIfAborted()
      results.set(index, await work(item, signal))
    }
  }
  const lanes = Array.from({ length: Math.min(bounds.concurrencyMax, items.length) }, lane)
  try {
    await Promise.all(lanes)
  } catch (error) {
    stop.abort(error)
    await Promise.allSettled(lanes)
    throw error
  }
  return [...results].toSorted(([first], [second]) => first - second).map(([, result]) => result)
}

/** Sharing the main thread: all requests run on it, so long work yields between its pieces. */

/** Lets everything else that waits run first. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** How long work may hold the main thread before it yields, unless it says otherwise. */
export const SLICE_MS = 5

/** Makes long work yield the main thread regularly. */
export class TimeSlice {
  readonly #sliceMs: number
  #startedAt = performance.now()

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs
  }

  get isSpent(): boolean {
    return performance.now() - this.#startedAt >= this.#sliceMs
  }

  /** Await it between short pieces of work. @throws the signal's reason once aborted */
  async yieldIfSpent(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.isSpent) return
    await yieldToEventLoop()
    signal.throwIfAborted()
    this.#startedAt = performance.now()
  }
}
