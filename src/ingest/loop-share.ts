import { INGEST_LIMITS } from './ingest-limits.ts'

/** Long work on the main thread gives way to other requests every few milliseconds. */
export class LoopShare {
  #since = performance.now()

  get isSpent(): boolean {
    return performance.now() - this.#since > INGEST_LIMITS.loopSliceMs
  }

  /** Lets the event loop turn when the share is spent. */
  async giveWay(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.isSpent) return
    await new Promise<void>((resolve) => {
      setImmediate(resolve)
    })
    signal.throwIfAborted()
    this.#since = performance.now()
  }
}
