import { expect, test } from 'bun:test'
import { ScanPool } from '../../../src/retrieval/vectors/scan-pool.ts'
import { VectorMemory } from '../../../src/retrieval/vectors/vector-memory.ts'
import { ListedIndex } from '../../retrieval/listed-index.ts'
import {
  clusteredUnits,
  exactNearest,
  seededRandom,
  type Table,
  wholeTable,
} from '../../retrieval/sample-vectors.ts'
import { ALL_BY_THREADS } from '../../retrieval/scan-runners.ts'

const DIMENSIONS = 64
/** More vectors than the calling thread scans itself. */
const ROWS = 20_000
const QUESTIONS = 60
const SEARCHES_MAX = 1000
const TIMEOUT_MS = 60_000
const signal = new AbortController().signal

test(
  'lists are made in threads while others search exactly, and then find most of the nearest',
  async () => {
    const memory = new VectorMemory({
      bytesMax: 128 * 1024 ** 2,
      threadCount: 2,
      sharing: ALL_BY_THREADS,
    })
    const pool = new ScanPool(memory)
    const index = new ListedIndex({ memory, pool, dimensions: DIMENSIONS })
    const clusters = { dimensions: DIMENSIONS, clusterCount: 200, spread: 0.5 }
    const units = clusteredUnits(clusters, seededRandom(3))
    const table = new Map(Array.from({ length: ROWS }, (_, key) => [BigInt(key), units()]))
    try {
      index.apply(wholeTable(table, 1))
      const training = index.trainLists({ random: seededRandom(4) }, signal)
      const state = { isTrained: false }
      void training.finally(() => {
        state.isTrained = true
      })
      let beside = 0
      for (; !state.isTrained && beside < SEARCHES_MAX; beside++) {
        const queryVector = units()
        const found = await index.search({ queryVector, k: 10 }, signal)
        // The simple scan takes long.
        if (beside % 8 === 0) expect(found).toEqual([...exactNearest(table, queryVector, 10)])
      }
      expect(beside).toBeGreaterThan(1)
      const report = await training
      expect(report.isWorthwhile).toBe(true)
      expect(report.recallAt10).toBeGreaterThanOrEqual(0.97)
      expect(await recallOf(index, table, units)).toBeGreaterThanOrEqual(0.95)
      // A large insert is found at once, and still found when it is in the lists.
      const more = new Map(Array.from({ length: 5000 }, (_, at) => [BigInt(ROWS + at), units()]))
      for (const [key, vector] of more) table.set(key, vector)
      index.apply(wholeTable(more, 2))
      expect(await recallOf(index, table, units)).toBeGreaterThanOrEqual(0.95)
      await index.listsSettled()
      expect(index.waitingCount).toBeLessThan(1024)
      expect(await recallOf(index, table, units)).toBeGreaterThanOrEqual(0.95)
    } finally {
      index.close()
      await pool.close()
    }
    expect(memory.usedBytes).toBe(0)
  },
  TIMEOUT_MS,
)

async function recallOf(
  index: ListedIndex,
  table: Table,
  units: () => Float32Array,
): Promise<number> {
  const queryVectors = Array.from({ length: QUESTIONS }, units)
  // All searches start at once, so that more work exists than threads.
  const searches = queryVectors.map((queryVector) => {
    return index.search({ queryVector, k: 10, effort: 'lists' }, signal)
  })
  let found = 0
  for (const [at, near] of (await Promise.all(searches)).entries()) {
    const exact = exactNearest(table, queryVectors[at] ?? new Float32Array(), 10)
    const keys = new Set(exact.map(({ key }) => key))
    expect(near).toHaveLength(10)
    found += near.filter(({ key }) => keys.has(key)).length
  }
  return found / (QUESTIONS * 10)
}
