import { describe, expect, test } from 'bun:test'
import { LIST_LIMITS } from '../../src/retrieval/ivf/list-limits.ts'
import { NearRows } from '../../src/retrieval/ivf/near-rows.ts'
import type { KernelChoice } from '../../src/retrieval/kernel/open-kernel.ts'
import { ExactIndex, type RowGuide } from '../../src/retrieval/vectors/exact-index.ts'
import type { ScanTask } from '../../src/retrieval/vectors/scan.ts'
import { VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'
import { clusteredUnits, exactNearest, seededRandom, wholeTable } from './sample-vectors.ts'
import { ALL_BY_THREADS, callingThread } from './scan-runners.ts'

const signal = new AbortController().signal
const ROWS = LIST_LIMITS.guidedRowsMin + 1000
const DIMENSIONS = 32

interface Guided {
  readonly index: ExactIndex
  readonly guide: NearRows
  readonly memory: VectorMemory
  readonly table: Map<bigint, Float32Array>
  readonly random: () => number
  /** A vector about one of the middles. */
  readonly next: () => Float32Array
  /** Of the searches of all rows, how far they still looked. */
  readonly farthest: number[]
}

async function guided(holdsFloats: boolean, kernel: KernelChoice = 'fastest'): Promise<Guided> {
  const memory = new VectorMemory({
    bytesMax: 64 * 1024 ** 2,
    threadCount: 1,
    kernel,
    sharing: ALL_BY_THREADS,
  })
  const random = seededRandom(3)
  const next = clusteredUnits({ dimensions: DIMENSIONS, clusterCount: 60, spread: 0.4 }, random)
  const table = new Map(Array.from({ length: ROWS }, (_, key) => [BigInt(key), next()]))
  const farthest: number[] = []
  const thread = callingThread(memory)
  const pool = {
    ...thread,
    run: (task: ScanTask, stop: AbortSignal) => {
      farthest.push(task.farthest)
      return thread.run(task, stop)
    },
  }
  const index = new ExactIndex({
    ...{ memory, pool, dimensions: DIMENSIONS },
    ...(holdsFloats ? {} : { fetchVectors: async () => table }),
  })
  let guide: NearRows | undefined
  index.guideBy((rows) => (guide = new NearRows(rows, seededRandom(4))))
  if (guide === undefined) throw new Error('the index asked for no guide')
  index.apply(wholeTable(table, 1))
  return { index, guide, memory, table, random, next, farthest }
}

describe('a search that begins near its query vector', () => {
  test.each([
    ['fastest', true],
    ['fastest', false],
    ['simd', true],
  ] as const)('finds what the plain scan finds (%s kernel, floats: %p)', async (kernel, holds) => {
    const { index, guide, memory, table, random, next, farthest } = await guided(holds, kernel)
    await index.search({ queryVector: next(), k: 1 }, signal)
    await guide.settled()
    for (let round = 0; round < 8; round++) {
      // Some go, some come with a vector that others have, some are replaced.
      const removed = [...table.keys()].filter(() => random() < 0.02)
      for (const key of removed) table.delete(key)
      const twins = [...table.values()].slice(0, 40)
      const added = new Map(twins.map((vector, at) => [BigInt(ROWS + 100 * round + at), vector]))
      for (const key of [...table.keys()].slice(100, 140)) added.set(key, next())
      for (const [key, vector] of added) table.set(key, vector)
      const removedKeys = BigInt64Array.from(removed)
      index.apply({ removedKeys, ...wholeTable(added, round + 2) })
      for (const k of [1, 10, 60, 200]) {
        const queryVector = round % 2 === 0 ? next() : (twins[round] ?? next())
        const found = await index.search({ queryVector, k }, signal)
        expect(found).toEqual([...exactNearest(table, queryVector, k)])
      }
    }
    // The first search had no guide yet; one for 200 has none as it knows too few rows, nor have others by chance.
    expect(farthest.filter((far) => far < 2).length).toBeWithin(16, 25)
    index.close()
    expect(memory.usedBytes).toBe(0)
  })

  test('looks no farther than the k-th of the rows that it begins with', async () => {
    const { index, guide, table, next, farthest } = await guided(true)
    await index.search({ queryVector: next(), k: 10 }, signal)
    await guide.settled()
    for (let count = 0; count < 20; count++) {
      const queryVector = next()
      await index.search({ queryVector, k: 10 }, signal)
      const [tenth] = exactNearest(table, queryVector, 10).slice(-1)
      const median = exactNearest(table, queryVector, ROWS)[ROWS / 2]?.distance ?? 0
      expect(farthest.at(-1)).toBeWithin(tenth?.distance ?? 2, median)
    }
    index.close()
  })

  test('takes a guide that knows nothing, or too little', async () => {
    const { index, table, next, farthest } = await guided(true)
    const known: (Int32Array | null)[] = [null, new Int32Array(), Int32Array.of(5, 3)]
    const guide: RowGuide = { rowsNear: () => known.shift() ?? null, close: () => {} }
    index.guideBy(() => guide)
    for (let count = 0; count < 3; count++) {
      const queryVector = next()
      const found = await index.search({ queryVector, k: 5 }, signal)
      expect(found).toEqual([...exactNearest(table, queryVector, 5)])
    }
    expect(farthest).toEqual([2, 2, 2].map(() => Number.POSITIVE_INFINITY))
    index.close()
  })

  test('goes on when the index is closed while its guide is made', async () => {
    const { index, guide, memory, next } = await guided(true)
    await index.search({ queryVector: next(), k: 1 }, signal)
    index.close()
    await guide.settled()
    expect(memory.usedBytes).toBe(0)
  })
})
