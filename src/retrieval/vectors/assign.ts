import type { Kernel } from '../kernel/kernel.ts'
import { PART_WORDS, ROW_LIST_MAX, type RowShape } from '../kernel/memory-layout.ts'
import { VECTOR_LIMITS } from '../kernel/vector-limits.ts'

/** Rows that a thread shall compare with the centroids of all lists. Memory is only read. */
export interface AssignTask {
  readonly kind: 'assign'
  readonly shape: RowShape
  /** `address, capacity, from, to` of each extent; [from, to) are indexes into `rows`. */
  readonly parts: Float64Array
  /** Rows within their extents. */
  readonly rows: Int32Array
  readonly centroids: CentroidCodes
  readonly listCount: number
}

/** Where those of all lists are, and their codes one after the other. */
export interface CentroidCodes {
  readonly boundsAt: number
  readonly codesAt: number
}

/** The number of the nearest list for each row, in the order of the task. */
export interface AssignResult {
  readonly kind: 'assigned'
  readonly lists: Int32Array
}

/** One task, slice by slice: each step is short, and between two of them it can be left. */
export function* assignSteps(kernel: Kernel, task: AssignTask): Generator<undefined, AssignResult> {
  const { parts, rows, shape, centroids, listCount } = task
  const sliceMax = sliceRows(task, VECTOR_LIMITS.sliceProducts)
  const lists = new Int32Array(rows.length)
  kernel.openIndex(shape.stride, shape.holdsFloats ? 1 : 0)
  for (let part = 0; part < parts.length; part += PART_WORDS) {
    const [address = 0, capacity = 0, from = 0, to = 0] = parts.subarray(part)
    kernel.openExtent(address, capacity)
    kernel.openCentroids(centroids.boundsAt, centroids.codesAt, listCount)
    for (let at = from; at < to; at += sliceMax) {
      const slice = rows.subarray(at, Math.min(to, at + sliceMax))
      kernel.rowList.set(slice)
      kernel.assignRows(slice.length)
      lists.set(kernel.rowList.subarray(0, slice.length), at)
      yield
    }
  }
  return { kind: 'assigned', lists }
}

/** How many rows of a task make this many products of two codes; no more than a kernel takes at once. */
export function sliceRows(
  { shape, listCount }: Pick<AssignTask, 'shape' | 'listCount'>,
  products: number,
): number {
  return Math.min(ROW_LIST_MAX, Math.max(4, Math.ceil(products / (shape.stride * listCount))))
}
