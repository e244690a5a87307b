import { AppError } from '../core/errors.ts'
import { sleep } from '../core/runtime/cancellation.ts'
import { MINUTE_MS } from '../core/time.ts'

export interface RetryPolicy {
  /** Tries after the first. */
  readonly retriesMax: number
  /** Before the first further try; doubled before each one after it. */
  readonly delayMs: number
  /** No single pause is longer; a server that asks for a longer one is not tried again. */
  readonly waitMsMax: number
  /** The time left until the caller's deadline: a longer pause is not waited for either. */
  leftMs(): number
}

export type TryResult<T> = { readonly kind: 'done'; readonly value: T } | FailedTry

export interface FailedTry {
  readonly kind: 'failed'
  readonly error: AppError
  /** Whether another try may go better: a busy server, a broken connection. */
  readonly isTransient: boolean
  /** The server's requested pause. */
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

/** With a long wait, it retries at least once a minute. */
const UNASKED_MS_MAX = MINUTE_MS

/** Up to a quarter shorter than it would be, so that many callers do not come back at once. */
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

/** The client learns when the server wants the next attempt. */
export function withWait({ code, message, cause }: AppError, waitMs: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new AppError(code, message, { cause, retryAfterSeconds })
}

const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429])

/** What another try may change; every other status from 300 to 499 is a definite refusal. null: no answer came. */
export function isTransientStatus(status: number | null): boolean {
  return status === null || TRANSIENT_STATUSES.has(status) || status >= 500
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
