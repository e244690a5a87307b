import { AppError } from '../core/errors.ts'
import { abortable, sleep, withDeadline } from '../core/runtime/cancellation.ts'
import { MINUTE_MS } from '../core/time.ts'
import { isTransientStatus, statusOf } from './provider-failure.ts'

export interface CallLimits {
  /** Retries after 408, 409, 425, 429, 5xx and broken connections. They respect `Retry-After`. */
  readonly retriesMax: number
  /** The pause before the first retry; it doubles with each further one. */
  readonly delayMs: number
  /** The time limit for one attempt. An attempt that reaches it is not repeated. */
  readonly timeoutMs: number
  /** The time limit for all attempts and the pauses between them. */
  readonly totalMs: number
  /** In the time of `performance.now()`, for a caller that makes several calls. */
  readonly endMs?: number
  /** A server that asks for a longer pause counts as failed. */
  readonly waitMsMax: number
}

/**
 * Makes one call through a provider's client library, with retries. The library itself must not
 * retry, because it would wait as long as a server asks, and without limit for an answer's body.
 * @param send gets a signal that ends the attempt
 * @throws AppError, or the signal's reason
 */
export async function callProvider<T>(
  send: (signal: AbortSignal) => Promise<T>,
  given: {
    readonly limits: CallLimits
    /** Makes the error for an attempt that takes too long. */
    readonly timeoutError: (timeoutMs: number) => AppError
    /** Converts the error of a failed attempt for the caller. */
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

/** @param thrown an error of the client library, with the answer's status and headers */
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

/** By the libraries' names for it. Invalid answers do not count. */
function isBroken(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.constructor.name === 'APIConnectionError'
}

/** The error of Eider's own `fetch`, if the client library has wrapped one. */
export function refusalWithin(error: unknown): AppError | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; depth += 1) {
    if (cause instanceof AppError) return cause
    cause = cause.cause
  }
  return null
}

export interface RetryPolicy {
  readonly retriesMax: number
  readonly delayMs: number
  readonly waitMsMax: number
  /** The time until the caller's deadline. A longer pause means no retry. */
  leftMs(): number
}

export type TryResult<T> = { readonly kind: 'done'; readonly value: T } | FailedTry

export interface FailedTry {
  readonly kind: 'failed'
  readonly error: AppError
  /** Whether another attempt may succeed, as with a busy server or a broken connection. */
  readonly isTransient: boolean
  /** The pause the server asked for; null if none. */
  readonly retryAfterMs: number | null
}

/** The value of the first successful attempt. @throws the last error, or the signal's reason */
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

/** During a long wait, there is an attempt at least once a minute. */
const UNASKED_MS_MAX = MINUTE_MS

/** Shortened randomly by up to a quarter, so that callers do not all retry at the same time. */
function waitMsOf(failed: FailedTry, policy: RetryPolicy, retryIndex: number): number {
  if (failed.retryAfterMs !== null) return failed.retryAfterMs
  const doubled = Math.min(policy.delayMs * 2 ** retryIndex, policy.waitMsMax, UNASKED_MS_MAX)
  return doubled * (1 - Math.random() / 4)
}

function tooLong({ error, retryAfterMs }: FailedTry, waitMsMax: number): AppError {
  if (retryAfterMs === null) return error
  const [asked, most] = [retryAfterMs, Math.max(0, waitMsMax)].map((ms) => Math.ceil(ms / 1000))
  const why = `it asks to wait ${asked} s before another attempt, but there is only time for ${most} s`
  const told = new AppError(error.code, `${error.message} (${why})`, { cause: error.cause })
  return withWait(told, retryAfterMs)
}

/** Adds the time until the server accepts the next request. */
function withWait({ code, message, cause }: AppError, waitMs: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new AppError(code, message, { cause, retryAfterSeconds })
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110, 10.2.3). */
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

/** Those of a model's options that are set and have one of these names. */
export function givenOptions(names: readonly string[], options: Readonly<Record<string, unknown>>) {
  const given = names.filter((name) => options[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, options[name]]))
}
