import type { RunLimits } from '../../domain/ports.ts'
import type { QueryDeps } from '../query-deps.ts'

export function limitsOf({ queryMs: timeoutMs, readingMs }: QueryDeps): RunLimits {
  return readingMs === undefined ? { timeoutMs } : { timeoutMs, readingMs }
}
