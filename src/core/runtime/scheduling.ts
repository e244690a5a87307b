/** Sharing the main thread: one process serves everybody, so long work gives way between its pieces. */

/** Lets everything else that waits run first. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** How long work keeps the main thread before it yields, unless its own reason says otherwise. */
export const SLICE_MS = 5

/** The share of the main thread that long work takes before it yields. */
export class TimeSlice {
  readonly #sliceMs: number
  #startedAt = performance.now()

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs
  }

  get isSpent(): boolean {
    return performance.now() - this.#startedAt >= this.#sliceMs
  }

  /** To be awaited between short pieces of work. @throws the signal's reason once that is aborted */
  async yieldIfSpent(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.isSpent) return
    await yieldToEventLoop()
    signal.throwIfAborted()
    this.#startedAt = performance.now()
  }
}
