import { AppError } from '../core/errors.ts'
import { abortable, sleep, withDeadline } from '../core/runtime/cancellation.ts'
import { MINUTE_MS } from '../core/time.ts'
import { isTransientStatus, statusOf } from './provider-failure.ts'

/** How often and how long a provider is called for one answer. */
export interface CallLimits {
  /** Retries on 408, 409, 425, 429, 5xx and broken connections; they respect `Retry-After`. */
  readonly retriesMax: number
  /** Before the first retry; doubled before each further one. */
  readonly delayMs: number
  /** Of one attempt. One that takes this long is not repeated. */
  readonly timeoutMs: number
  /** Of all attempts and the pauses between them. */
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
    /** The error if an attempt takes too long. */
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

export interface RetryPolicy {
  /** Tries after the first. */
  readonly retriesMax: number
  /** Before the first retry; doubled before each further one. */
  readonly delayMs: number
  /** No single pause is longer; a server that asks for a longer one is not tried again. */
  readonly waitMsMax: number
  /** Time until the caller's own deadline: no retry if a server asks for a longer pause. */
  leftMs(): number
}

export type TryResult<T> = { readonly kind: 'done'; readonly value: T } | FailedTry

export interface FailedTry {
  readonly kind: 'failed'
  readonly error: AppError
  /** Whether another try may go better: a busy server, a broken connection. */
  readonly isTransient: boolean
  /** What the server asked for. */
  readonly retryAfterMs: number | null
}

/** The value of the first try that succeeds. @throws the last try's error, or the signal's reason */
export async function retry<T>(
  attempt: () => Promise<TryResult<T>>,
  policy: RetryPolicy,
  signal: AbortSignal,
): Promise<T> {
  for (let retryIndex = 0; ; retryIndex += 1) {
    signal.throwIfAborted()
    const result = await attempt()
    if (result.kind === 'done') return result.value
    signal.throwIfAborted()
    if (!result.isTransient || retryIndex >= policy.retriesMax) throw result.error
    const waitMs = waitMsOf(result, policy, retryIndex)
    const waitMsMax = Math.min(policy.waitMsMax, policy.leftMs())
    if (waitMs > waitMsMax) throw tooLong(result, waitMsMax)
    await sleep(waitMs, signal)
  }
}

/** A long wait still looks at least once a minute. */
const UNASKED_MS_MAX = MINUTE_MS

/** Up to a quarter shorter, so that many callers do not return at once. */
function waitMsOf(failed: FailedTry, policy: RetryPolicy, retryIndex: number): number {
  if (failed.retryAfterMs !== null) return failed.retryAfterMs
  const doubled = Math.min(policy.delayMs * 2 ** retryIndex, policy.waitMsMax, UNASKED_MS_MAX)
  return doubled * (1 - Math.random() / 4)
}

function tooLong({ error, retryAfterMs }: FailedTry, waitMsMax: number): AppError {
  if (retryAfterMs === null) return error
  const [asked, most] = [retryAfterMs, Math.max(0, waitMsMax)].map((ms) => Math.ceil(ms / 1000))
  const why = `it asks to wait ${asked} s before another try, and there is time for ${most} s`
  const told = new AppError(error.code, `${error.message} (${why})`, { cause: error.cause })
  return withWait(told, retryAfterMs)
}

/** Adds when the server wants the next request. */
export function withWait({ code, message, cause }: AppError, waitMs: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new AppError(code, message, { cause, retryAfterSeconds })
}

/** `retry-after-ms` as OpenAI sends it, else `retry-after` in seconds or as a date (RFC 9110, 10.2.3). */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const millis = numberIn(headers.get('retry-after-ms'))
  if (millis !== null) return Math.max(0, millis)
  const text = headers.get('retry-after')
  const seconds = numberIn(text)
  if (seconds !== null) return Math.max(0, seconds * 1000)
  const date = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs)
}

function numberIn(text: string | null): number | null {
  const value = text === null || text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : null
}
