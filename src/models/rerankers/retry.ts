import type { AppError } from '../../errors.ts'
import { sleep } from '../../runtime/cancellation.ts'

export interface RetryPolicy {
  /** Tries after the first. */
  readonly retriesMax: number
  /** Before the first further try; doubled before each one after it. */
  readonly delayMs: number
  /** No single pause is longer; a server that asks for a longer one is not tried again. */
  readonly waitMsMax: number
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
    const waitMs = waitMsOf(result, policy, retryIndex)
    const isLast = retryIndex >= policy.retriesMax
    if (!result.isTransient || isLast || waitMs > policy.waitMsMax) throw result.error
    await sleep(waitMs, signal)
  }
}

/** Up to a quarter shorter than asked, so that many callers do not come back at once. */
function waitMsOf(failed: FailedTry, policy: RetryPolicy, retryIndex: number): number {
  if (failed.retryAfterMs !== null) return failed.retryAfterMs
  const doubled = Math.min(policy.delayMs * 2 ** retryIndex, policy.waitMsMax)
  return doubled * (1 - Math.random() / 4)
}

/** 429 and whatever is the server's own fault; null: no answer came. */
export function isTransientStatus(status: number | null): boolean {
  return status === null || status === 429 || status >= 500
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
