import { sliceRows } from './assign.ts'
import type { Centroids } from './centroids.ts'
import type { ListBase } from './list-base.ts'
import { LIST_LIMITS } from './list-limits.ts'

export interface RowAssignment {
  readonly rows: Int32Array
  readonly centroids: Centroids
  /** Is told of a few rows at a time, from index `from` on, and of the nearest list of each. */
  take(lists: Int32Array, from: number): void
}

/**
 * Finds the nearest list of each row, in the threads that scan: in tasks so short that searches get
 * their turn in between.
 * @throws AppError as `ScanRunner.assign`; the signal's reason
 */
export async function assignRows(
  base: ListBase,
  { rows, centroids, take }: RowAssignment,
  signal: AbortSignal,
): Promise<void> {
  const { shape, pool } = base
  const { codes, count: listCount } = centroids
  const task = { kind: 'assign', shape, centroids: codes, listCount } as const
  const taskRows = sliceRows(task, LIST_LIMITS.taskProducts)
  const failed = new AbortController()
  const stopped = AbortSignal.any([signal, failed.signal])
  let next = 0
  const lane = async () => {
    while (next < rows.length) {
      const from = next
      next += taskRows
      const some = base.rows.listParts(rows.subarray(from, next))
      take((await pool.assign({ ...task, ...some }, stopped)).lists, from)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.max(1, pool.threadCount) }, lane))
  } catch (error) {
    // What the other lanes would still find is of no use.
    failed.abort(error)
    throw error
  }
}
