/** Indexes of clustered vectors, and how well their lists find them. */
import { expect } from 'bun:test'
import type { ListOptions } from '../../src/retrieval/ivf/ivf-index.ts'
import type { KernelChoice } from '../../src/retrieval/kernel/open-kernel.ts'
import { VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'
import { ListedIndex } from './listed-index.ts'
import {
  clusteredUnits,
  exactNearest,
  seededRandom,
  type Table,
  wholeTable,
} from './sample-vectors.ts'
import { callingThread } from './scan-runners.ts'

export const DIMENSIONS = 32
const signal = new AbortController().signal
export interface Setting {
  readonly kernel?: KernelChoice
  readonly isCodesOnly?: boolean
  readonly onTask?: () => void
  readonly bytesMax?: number
}

export function newIndex(table: Table, { kernel, isCodesOnly, onTask, bytesMax }: Setting = {}) {
  const memory = new VectorMemory({
    bytesMax: bytesMax ?? 64 * 1024 ** 2,
    threadCount: 1,
    kernel: kernel ?? 'fastest',
  })
  const pool = callingThread(memory, onTask)
  const index = new ListedIndex({
    ...{ memory, pool, dimensions: DIMENSIONS },
    ...(isCodesOnly ? { fetchVectors: async () => table } : {}),
  })
  index.apply(wholeTable(table, 1))
  return { memory, index }
}

export function clusteredTable(count: number, seed = 1): Map<bigint, Float32Array> {
  const random = seededRandom(seed)
  const units = clusteredUnits({ dimensions: DIMENSIONS, clusterCount: 40, spread: 0.4 }, random)
  return new Map(Array.from({ length: count }, (_, key) => [BigInt(key), units()]))
}

export function training(seed = 5, listCount?: number): ListOptions {
  return { random: seededRandom(seed), ...(listCount === undefined ? {} : { listCount }) }
}

/**
 * Returns the share of the `k` nearest that a search of the lists finds, averaged over vectors of
 * the table.
 */
export async function recallOf(index: ListedIndex, table: Table, k: number): Promise<number> {
  const queryVectors = [...table.values()].filter((_, at) => at % 37 === 0).slice(0, 50)
  let found = 0
  for (const queryVector of queryVectors) {
    const near = await index.search({ queryVector, k, effort: 'lists' }, signal)
    const exact = new Map(exactNearest(table, queryVector, k).map((one) => [one.key, one.distance]))
    expect(near).toHaveLength(Math.min(k, table.size))
    // Exact distances of all found vectors are computed and sorted.
    for (const { key, distance } of near) {
      if (exact.has(key)) expect(distance).toBe(exact.get(key) ?? Number.NaN)
    }
    expect(near).toEqual(near.toSorted((a, b) => a.distance - b.distance))
    found += near.filter(({ key }) => exact.has(key)).length
  }
  return found / (queryVectors.length * Math.min(k, table.size))
}
