import type { RowShape } from '../kernel/memory-layout.ts'
import type { Neighbour } from '../vectors/neighbours.ts'
import type { QuantizedRows } from '../vectors/quantized-rows.ts'
import type { RowTable } from '../vectors/row-table.ts'
import type { ScanRunner } from '../vectors/scan.ts'
import type { VectorMemory } from '../vectors/vector-memory.ts'

/** An index, as its inverted lists see it. */
export interface ListBase {
  readonly memory: VectorMemory
  readonly pool: ScanRunner
  readonly shape: RowShape
  readonly dimensions: number
  readonly rows: RowTable
  readonly codes: QuantizedRows
  /** Vectors that are there. */
  count(): number
  rowOf(key: bigint): number | undefined
  /** The nearest `k` of all, exactly. */
  nearest(queryVector: Float32Array, k: number, signal: AbortSignal): Promise<readonly Neighbour[]>
}
