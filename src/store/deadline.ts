import { AppError } from '../errors.ts'

/**
 * A signal that aborts with the caller's reason, or with `timeout` when the time is over. `end()`
 * lets go of both.
 */
export interface Deadline {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  end(): void
}

export function deadlineOf(timeoutMs: number, caller: AbortSignal): Deadline {
  const controller = new AbortController()
  const onAbort = () => controller.abort(caller.reason)
  if (caller.aborted) onAbort()
  else caller.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => {
    const message = `The statement took longer than its limit of ${timeoutMs} ms`
    controller.abort(new AppError('timeout', message))
  }, timeoutMs)
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    end: () => {
      clearTimeout(timer)
      caller.removeEventListener('abort', onAbort)
    },
  }
}
