import type { RowShape } from './memory-layout.ts'
import type { Neighbour } from './neighbours.ts'
import type { RowCodes } from './row-codes.ts'
import type { RowTable } from './row-table.ts'
import type { ScanRunner } from './scan.ts'
import type { VectorMemory } from './vector-memory.ts'

/** An index, as its inverted lists see it. */
export interface ListBase {
  readonly memory: VectorMemory
  readonly pool: ScanRunner
  readonly shape: RowShape
  readonly dimensions: number
  readonly rows: RowTable
  readonly codes: RowCodes
  /** Vectors that are there. */
  count(): number
  rowOf(key: bigint): number | undefined
  /** The nearest `k` of all, exactly. */
  nearest(queryVector: Float32Array, k: number, signal: AbortSignal): Promise<readonly Neighbour[]>
}
