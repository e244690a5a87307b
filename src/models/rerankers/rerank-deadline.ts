import { AppError } from '../../errors.ts'
import { withDeadline } from '../../runtime/cancellation.ts'

/**
 * Runs the calls of one reranking with a signal that ends them in time.
 * @param call `url` is what is called: for the message
 * @throws the caller's reason on abort, `provider_failed` when the time is over
 */
export function withRerankDeadline<T>(
  call: { readonly url: string; readonly timeoutMs: number; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeoutError = (ms: number) => {
    return new AppError('provider_failed', `${call.url} did not rerank within ${ms} ms`)
  }
  return withDeadline({ ...call, timeoutError }, work)
}
