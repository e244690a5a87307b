import type { RunLimits } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import { type Deadline, startDeadline } from '../../runtime/cancellation.ts'

/** One statement's time: for waiting, running and reading its rows. */
export function statementDeadline({ timeoutMs }: RunLimits, signal: AbortSignal): Deadline {
  const timeoutError = (ms: number) => {
    return new AppError('timeout', `The statement took longer than its limit of ${ms} ms`)
  }
  return startDeadline({ timeoutMs, signals: [signal], timeoutError })
}
