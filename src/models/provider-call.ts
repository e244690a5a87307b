import { AppError } from '../core/errors.ts'
import { abortable, withDeadline } from '../core/runtime/cancellation.ts'
import { statusOf } from './provider-failure.ts'
import {
  isTransientStatus,
  type RetryPolicy,
  retry,
  retryAfterMs,
  type TryResult,
  withWait,
} from './retry.ts'

/** How often and how long a provider is called for one answer. */
export interface CallLimits {
  /** Tries after the first, on 408, 409, 425, 429, 5xx and broken connections; `Retry-After` is kept to. */
  readonly retriesMax: number
  /** Before the first further try; doubled before each one after it. */
  readonly delayMs: number
  /** For one try. One that takes this long is not repeated. */
  readonly timeoutMs: number
  /** For all tries and the pauses between them. */
  readonly totalMs: number
  /** When all is over, on the clock of `performance.now()`, for a caller who makes several calls; unset: whenever. */
  readonly endMs?: number
  /** A server that wants a longer pause before the next try has failed. */
  readonly waitMsMax: number
}

/**
 * One answer through a provider's client, which must make no further tries itself: it would wait as long as a server asks
 * for, and for ever for the body of an answer.
 * @param send gets a signal that ends the whole try
 * @throws AppError, the signal's reason
 */
export async function callProvider<T>(
  send: (signal: AbortSignal) => Promise<T>,
  given: {
    readonly limits: CallLimits
    /** The error when a try takes too long. */
    readonly timeoutError: (timeoutMs: number) => AppError
    /** The caller's view of a failed try. */
    readonly failureOf: (error: unknown) => AppError
  },
  signal: AbortSignal,
): Promise<T> {
  const { limits, timeoutError, failureOf } = given
  const endMs = Math.min(performance.now() + limits.totalMs, limits.endMs ?? Infinity)
  const leftMs = () => endMs - performance.now()
  const attempt = async (): Promise<TryResult<T>> => {
    const stop = new AbortController()
    const timeoutMs = Math.max(1, Math.min(limits.timeoutMs, leftMs()))
    const either = AbortSignal.any([signal, stop.signal])
    try {
      const value = await withDeadline({ timeoutMs, signal, timeoutError }, (deadline) => {
        return abortable(send(either), deadline)
      })
      return { kind: 'done', value }
    } catch (error) {
      stop.abort()
      signal.throwIfAborted()
      return failedTry(error, failureOf(error))
    }
  }
  const { retriesMax, delayMs, waitMsMax } = limits
  const policy: RetryPolicy = { retriesMax, delayMs, waitMsMax, leftMs }
  return retry(attempt, policy, signal)
}

/** @param thrown by a provider's client, whose errors have the answer's status and headers */
function failedTry(thrown: unknown, error: AppError): TryResult<never> {
  const status = statusOf(error)
  const headers = thrown instanceof Error && 'headers' in thrown ? thrown.headers : undefined
  const isDefinite = thrown instanceof AppError || refusalWithin(thrown) !== null
  const waitMs = headers instanceof Headers ? retryAfterMs(headers, Date.now()) : null
  return {
    kind: 'failed',
    error: waitMs === null ? error : withWait(error, waitMs),
    isTransient: !isDefinite && (status === null ? isBroken(thrown) : isTransientStatus(status)),
    retryAfterMs: waitMs,
  }
}

/** The clients' name for a connection that failed or broke; an invalid answer is not one. */
function isBroken(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.constructor.name === 'APIConnectionError'
}

/** The refusal by Eider's own `fetch`, which a provider's client wraps into its error. */
export function refusalWithin(error: unknown): AppError | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; depth += 1) {
    if (cause instanceof AppError) return cause
    cause = cause.cause
  }
  return null
}
