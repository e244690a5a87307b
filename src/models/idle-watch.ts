import { AppError } from '../errors.ts'

/**
 * Hands on what a stream yields; `timeout` when nothing comes for too long, the signal's reason
 * when it is aborted. A provider's stream ends without a word on abort, which must not look like
 * the end of an answer.
 */
export async function* watched<T>(
  source: AsyncIterable<T>,
  watch: { readonly url: string; readonly idleMs: number; readonly signal: AbortSignal },
): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await withinIdleTime(iterator.next(), watch)
      watch.signal.throwIfAborted()
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Not awaited: a stream that hangs may hang in its own end too. Its failure has nobody left to
    // hear it.
    iterator.return?.().catch(() => undefined)
  }
}

async function withinIdleTime<T>(
  next: Promise<T>,
  watch: { readonly url: string; readonly idleMs: number; readonly signal: AbortSignal },
): Promise<T> {
  const stop = Promise.withResolvers<never>()
  const abort = () => stop.reject(watch.signal.reason)
  const timer = setTimeout(() => {
    const message = `${watch.url} sent nothing for ${watch.idleMs} ms in the middle of its answer`
    stop.reject(new AppError('timeout', message))
  }, watch.idleMs)
  watch.signal.addEventListener('abort', abort, { once: true })
  try {
    watch.signal.throwIfAborted()
    return await Promise.race([next, stop.promise])
  } finally {
    clearTimeout(timer)
    watch.signal.removeEventListener('abort', abort)
  }
}
