import type { NearestChunk } from '../../core/domain/ports/search-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { Candidate } from '../kernel/kernel.ts'
import { VECTOR_LIMITS } from '../kernel/vector-limits.ts'
import type { ScanResult } from './scan.ts'

/** Vectors by key, as they are stored: of unit length. A key that is gone is left out. */
export type FetchVectors = (
  keys: readonly bigint[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<bigint, Float32Array>>

export interface CandidateSearch {
  /** Of unit length. */
  readonly queryVector: Float32Array
  readonly k: number
  readonly fetchVectors: FetchVectors
}

/**
 * The nearest `k` where memory holds codes only: candidates are measured, the most promising first,
 * until no other can be nearer.
 * @throws AppError `internal` when a candidate's vector is gone: the index is behind its table
 */
export async function rescored(
  candidates: readonly Candidate[],
  search: CandidateSearch,
  signal: AbortSignal,
): Promise<readonly NearestChunk[]> {
  const open = possible(candidates, search.k).toSorted((a, b) => b.upper - a.upper)
  let nearest: readonly Measured[] = []
  for (let from = 0; from < open.length; from += VECTOR_LIMITS.fetchRows) {
    signal.throwIfAborted()
    const farthest = nearest[search.k - 1]
    const batch = open.slice(from, from + VECTOR_LIMITS.fetchRows)
    const [best] = batch
    // Equally near is not out yet: the key decides. At 2 everything is equally far.
    const isDecided = farthest !== undefined && farthest.distance < 2
    if (isDecided && best !== undefined && 1 - best.upper > farthest.distance) break
    const measured = await measure(batch, search, signal)
    nearest = [...nearest, ...measured].sort(compareMeasured).slice(0, search.k)
  }
  return nearest.map(({ key, distance }) => ({ key: BigInt(key), distance }))
}

/** Without those that are farther than `k` others in any case. */
function possible(candidates: readonly Candidate[], k: number): readonly Candidate[] {
  const lowers = Float64Array.from(candidates, ({ lower }) => lower).sort()
  const threshold = lowers[lowers.length - k] ?? Number.NEGATIVE_INFINITY
  return candidates.filter(({ upper }) => threshold <= -1 || upper >= Math.min(threshold, 1))
}

async function measure(
  candidates: readonly Candidate[],
  { queryVector, fetchVectors }: CandidateSearch,
  signal: AbortSignal,
): Promise<readonly Measured[]> {
  const keys = candidates.map(({ key }) => BigInt(key))
  const vectors = await fetchVectors(keys, signal)
  return keys.map((key) => {
    const vector = vectors.get(key)
    if (vector?.length !== queryVector.length) {
      throw new AppError('internal', 'The vector index is behind its table')
    }
    return { key: Number(key), distance: exactDistance(queryVector, vector) }
  })
}

/** In the kernel's order of additions, so that it gives the kernel's distances to the last bit. */
function exactDistance(one: Float32Array, other: Float32Array): number {
  const sums = new Float64Array(4)
  for (let index = 0; index < one.length; index++) {
    const lane = index & 3
    sums[lane] = (sums[lane] ?? 0) + (one[index] ?? 0) * (other[index] ?? 0)
  }
  const [a = 0, b = 0, c = 0, d = 0] = sums
  return Math.min(2, Math.max(0, 1 - (a + c + (b + d))))
}

export interface Measured {
  readonly key: number
  readonly distance: number
}

/** The nearest first; of equally near ones the smaller key. */
export function compareMeasured(one: Measured, other: Measured): number {
  return one.distance - other.distance || one.key - other.key
}

/** The nearest `k` of what several threads have found. */
export function nearestOf(results: readonly ScanResult[], k: number): readonly NearestChunk[] {
  const measured = results.flatMap((result) => (result.kind === 'found' ? pairsOf(result) : []))
  if (results.length > 1) measured.sort(compareMeasured)
  return measured.slice(0, k).map(({ key, distance }) => ({ key: BigInt(key), distance }))
}

function pairsOf({ keys, distances }: ScanResult & { kind: 'found' }): readonly Measured[] {
  return Array.from(keys, (key, index) => ({ key, distance: distances[index] ?? Number.NaN }))
}
