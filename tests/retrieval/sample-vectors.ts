/** Vectors, and the simple scan with which every index must agree. */
import type { NearestChunk } from '../../src/core/domain/ports/search-ports.ts'

export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

export function unit(vector: readonly number[]): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, part) => sum + part * part, 0))
  return Float32Array.from(vector, (part) => part / length)
}

export function randomUnit(dimensions: number, random: () => number): Float32Array {
  return unit(Array.from({ length: dimensions }, () => random() + random() - 1 || 1))
}

export type Table = ReadonlyMap<bigint, Float32Array>

/** Computed in float64 with four sums; the nearest come first, and equally near ones by key. */
export function exactNearest(
  table: Table,
  queryVector: Float32Array,
  k: number,
): readonly NearestChunk[] {
  const all = Array.from(table, ([key, vector]) => ({
    key,
    distance: exactDistance(queryVector, vector),
  }))
  all.sort((a, b) => a.distance - b.distance || (a.key < b.key ? -1 : 1))
  return all.slice(0, k)
}

function exactDistance(one: Float32Array, other: Float32Array): number {
  const sums = [0, 0, 0, 0]
  for (let index = 0; index < one.length; index++) {
    const product = (one[index] ?? Number.NaN) * (other[index] ?? Number.NaN)
    sums[index % 4] = (sums[index % 4] ?? 0) + product
  }
  const [a = 0, b = 0, c = 0, d = 0] = sums
  return Math.min(2, Math.max(0, 1 - (a + c + (b + d))))
}

export function joined(vectors: readonly Float32Array[]): Float32Array {
  const dimensions = vectors[0]?.length ?? 0
  const all = new Float32Array(vectors.length * dimensions)
  for (const [index, vector] of vectors.entries()) all.set(vector, index * dimensions)
  return all
}

/** Returns a change that puts the whole table into an index. */
export function wholeTable(table: Table, revision: number) {
  const keys = BigInt64Array.from(table.keys())
  return { keys, vectors: joined([...table.values()]), revision }
}

export interface Clusters {
  readonly dimensions: number
  readonly clusterCount: number
  /**
   * The deviation of a vector's numbers from its cluster's centre, relative to those of the centre.
   */
  readonly spread: number
}

/** Returns a generator of unit vectors around a few centres. */
export function clusteredUnits(clusters: Clusters, random: () => number): () => Float32Array {
  const { dimensions, clusterCount, spread } = clusters
  // The centres do not depend on the values that follow.
  const fixed = seededRandom(12)
  const middles = Array.from({ length: clusterCount }, () => randomUnit(dimensions, fixed))
  return () => {
    const middle = middles[Math.floor(random() * clusterCount)] ?? new Float32Array()
    const noise = randomUnit(dimensions, random)
    return unit(Array.from(middle, (part, index) => part + spread * (noise[index] ?? 0)))
  }
}
