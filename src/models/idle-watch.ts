import { AppError } from '../errors.ts'
import { abortable, withDeadline } from '../runtime/cancellation.ts'

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
  const timeoutError = (ms: number) => {
    const message = `${watch.url} sent nothing for ${ms} ms in the middle of its answer`
    return new AppError('timeout', message)
  }
  const deadline = { timeoutMs: watch.idleMs, signal: watch.signal, timeoutError }
  return withDeadline(deadline, (signal) => abortable(next, signal))
}
