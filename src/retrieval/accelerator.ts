import { INDEXED_VECTORS_MIN } from '../domain/index-definition.ts'
import type { IndexReport } from '../store/hnsw/index-states.ts'
import type { VectorChange } from './vectors/exact-index.ts'
import type { Neighbour } from './vectors/neighbours.ts'

/** An index that an owner asked for, beside the copy of the vectors, which answers while it cannot. */
export interface Accelerator {
  /** The nearest `k`, seldom without a nearer one. null: all vectors are to be compared. */
  search(
    search: { readonly queryVector: Float32Array; readonly k: number },
    signal: AbortSignal,
  ): Promise<readonly Neighbour[] | null>
  /** Told of each commit after the copy. */
  apply(change: VectorChange): void
  report(): IndexReport
  /** Resolves when nothing is being built. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** The report of an index of few vectors, for which none is built. */
export function fewVectors(count: number): IndexReport {
  const detail = `all vectors are compared while there are fewer than ${INDEXED_VECTORS_MIN}`
  return { state: 'exact', vectorCount: count, detail }
}
