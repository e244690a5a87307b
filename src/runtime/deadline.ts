import { AppError } from '../errors.ts'

/**
 * A signal that aborts with the caller's reason, or with `timeout` when the time is over. `end()`
 * lets go of both.
 */
export interface Deadline {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** From now on it is this long, counted from now. */
  restart(timeoutMs: number): void
  end(): void
}

export function deadlineOf(timeoutMs: number, caller: AbortSignal): Deadline {
  const controller = new AbortController()
  const onAbort = () => controller.abort(caller.reason)
  if (caller.aborted) onAbort()
  else caller.addEventListener('abort', onAbort, { once: true })
  const timerOf = (ms: number) => {
    return setTimeout(() => {
      const message = `The statement took longer than its limit of ${ms} ms`
      controller.abort(new AppError('timeout', message))
    }, ms)
  }
  let timer = timerOf(timeoutMs)
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    restart: (ms) => {
      clearTimeout(timer)
      timer = timerOf(ms)
    },
    end: () => {
      clearTimeout(timer)
      caller.removeEventListener('abort', onAbort)
    },
  }
}
