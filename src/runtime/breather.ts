import { setImmediate } from 'node:timers/promises'

/** Of the main thread, in one piece: who waits for it waits little longer. */
const BUSY_MS_MAX = 4

/**
 * For long work on the main thread: what it returns is awaited between short pieces, and lets others
 * go first when their turn has come. It throws the signal's reason once that is aborted.
 */
export function breather(signal: AbortSignal): () => Promise<void> {
  let startedAt = performance.now()
  return async () => {
    if (performance.now() - startedAt < BUSY_MS_MAX) return
    await setImmediate()
    signal.throwIfAborted()
    startedAt = performance.now()
  }
}
