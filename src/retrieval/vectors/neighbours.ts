import type { ScanResult } from './scan.ts'

/** A chunk near a query vector. */
export interface Neighbour {
  readonly key: bigint
  /** Cosine distance in [0, 2]: 1 - the inner product, in float64. */
  readonly distance: number
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
export function nearestOf(results: readonly ScanResult[], k: number): readonly Neighbour[] {
  const measured = results.flatMap((result) => (result.kind === 'found' ? pairsOf(result) : []))
  if (results.length > 1) measured.sort(compareMeasured)
  return measured.slice(0, k).map(({ key, distance }) => ({ key: BigInt(key), distance }))
}

function pairsOf({ keys, distances }: ScanResult & { kind: 'found' }): readonly Measured[] {
  return Array.from(keys, (key, index) => ({ key, distance: distances[index] ?? Number.NaN }))
}
