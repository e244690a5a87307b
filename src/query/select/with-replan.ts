import { AppError } from '../../errors.ts'
import type { QueryDeps } from '../query-deps.ts'

const ATTEMPTS_MAX = 3

/**
 * Plans and runs a statement; once more where what it names was dropped or replaced in between. A name that is gone then
 * fails as one that was never there.
 */
export async function withReplan<T>(
  { catalog }: Pick<QueryDeps, 'catalog'>,
  planAndRun: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const { version } = catalog.snapshot()
    try {
      return await planAndRun()
    } catch (error) {
      const isUnknownName = error instanceof AppError && error.code === 'sql_unknown_name'
      const isStale = isUnknownName && catalog.snapshot().version !== version
      if (!isStale || attempt === ATTEMPTS_MAX) throw error
    }
  }
}
