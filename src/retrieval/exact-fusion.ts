import type { NearestChunk } from '../domain/ports.ts'
import type { FusedHit } from './fusion.ts'

export interface MeasuredFusion {
  readonly key: bigint
  readonly distance: number
  readonly relevance: number
}

/**
 * The first chunks of an order by relevance, then by distance, and those that are equal to the last of them.
 * @param fused the most relevant first
 * @param how.firstCount null: all of them
 * @param how.measured gives the distances that are missing; a chunk without one is left out
 */
export async function exactFusion(
  fused: readonly FusedHit[],
  {
    firstCount,
    measured,
  }: {
    readonly firstCount: number | null
    measured(keys: readonly bigint[]): Promise<readonly NearestChunk[]>
  },
): Promise<readonly MeasuredFusion[]> {
  const least = firstCount === null ? 0 : (fused[firstCount - 1]?.relevance ?? 0)
  const first = fused.filter(({ relevance }) => relevance >= least)
  const unmeasured = first.filter(({ distance }) => distance === null).map(({ key }) => key)
  const found = unmeasured.length === 0 ? [] : await measured(unmeasured)
  const distances = new Map(found.map(({ key, distance }) => [key, distance]))
  const all: MeasuredFusion[] = []
  for (const { key, relevance, distance: known } of first) {
    const distance = known ?? distances.get(key)
    if (distance !== undefined) all.push({ key, relevance, distance })
  }
  all.sort(compareFused)
  const last = firstCount === null ? undefined : all[firstCount - 1]
  return last === undefined ? all : all.filter((one) => compareFused(one, last) <= 0)
}

function compareFused(one: MeasuredFusion, other: MeasuredFusion): number {
  return other.relevance - one.relevance || one.distance - other.distance
}
