import { callerOf, setCaller } from './cancellation.ts'

/** Runs one piece of work at a time, in order. A failure does not stop the next one. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()
  #pending = 0

  get isIdle(): boolean {
    return this.#pending === 0
  }

  /** @returns the result of the work; the caller handles a failure */
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

/** Runs work only once for all callers that want it at the same time; they share the result. */
export class SingleFlight {
  readonly #running = new Map<string, Promise<unknown>>()

  /** The running work of that name. It settles when the work ends, even if the work fails. */
  of(name: string): Promise<unknown> | undefined {
    return this.#running.get(name)
  }

  /** Runs the work and lets other callers wait for it through `of`. */
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

/** Results in order. The first failure stops further items, thrown once all ended. */
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
  // All lanes share one iterator, and each takes the next item.
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

/** Lets long work yield between its steps, because all requests share the main thread. */

/** A request needs several turns of the event loop, which are short unless one step is this long. */
const LONG_STEP_MS = 20

/** Lets other waiting work run first: after a long step, for as long as the step took. */
export function yieldToEventLoop(stepMs = 0): Promise<void> {
  if (stepMs > LONG_STEP_MS) return Bun.sleep(stepMs)
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** The default time that work may block the main thread before it yields. */
export const SLICE_MS = 5

/** Makes long work yield to the event loop regularly. */
export class TimeSlice {
  readonly #sliceMs: number
  #startedAt = performance.now()

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs
  }

  get spentMs(): number {
    return performance.now() - this.#startedAt
  }

  get isSpent(): boolean {
    return this.spentMs >= this.#sliceMs
  }

  /** Await this between short steps of the work. @throws the signal's reason once aborted */
  async yieldIfSpent(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.isSpent) return
    await yieldToEventLoop()
    signal.throwIfAborted()
    this.#startedAt = performance.now()
  }
}

/** Reads a generator to its end. @returns what the generator returns */
export async function returned<T>(events: AsyncGenerator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = await events.next()
    if (done) return value
  }
}
