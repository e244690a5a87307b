import { AppError } from '../../errors.ts'

export interface Deadline {
  /** What is called: for the message. */
  readonly url: string
  readonly timeoutMs: number
  /** The caller's. */
  readonly signal: AbortSignal
}

/**
 * Runs `work` with a signal that ends it in time.
 * @throws the caller's reason when he aborted, `provider_failed` when the time was up
 */
export async function withinDeadline<T>(
  deadline: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  deadline.signal.throwIfAborted()
  const late = AbortSignal.timeout(deadline.timeoutMs)
  try {
    return await work(AbortSignal.any([deadline.signal, late]))
  } catch (cause) {
    deadline.signal.throwIfAborted()
    if (!late.aborted) throw cause
    const message = `${deadline.url} did not rerank within ${deadline.timeoutMs} ms`
    throw new AppError('provider_failed', message, { cause })
  }
}
