import { expect, test } from 'bun:test'
import { ExactIndex } from '../../../src/retrieval/vectors/exact-index.ts'
import { ScanPool } from '../../../src/retrieval/vectors/scan-pool.ts'
import { VectorMemory } from '../../../src/retrieval/vectors/vector-memory.ts'
import {
  exactNearest,
  randomUnit,
  seededRandom,
  type Table,
  wholeTable,
} from '../../retrieval/sample-vectors.ts'
import { ALL_BY_THREADS } from '../../retrieval/scan-runners.ts'

const DIMENSIONS = 96
const ROWS = 16_000
const CHANGED_ROWS = 600
const ROUNDS = 20
const SEARCHES = 6
const TIMEOUT_MS = 60_000

test(
  'searches in threads see the rows of their moment while rows come, go and return',
  async () => {
    const random = seededRandom(11)
    const memory = new VectorMemory({
      bytesMax: 128 * 1024 ** 2,
      threadCount: 2,
      sharing: ALL_BY_THREADS,
    })
    const pool = new ScanPool(memory)
    const index = new ExactIndex({ memory, pool, dimensions: DIMENSIONS })
    const signal = new AbortController().signal
    const vectors = Array.from({ length: 4000 }, () => randomUnit(DIMENSIONS, random))
    const some = () => vectors[Math.floor(random() * vectors.length)] ?? new Float32Array()
    const table = new Map(Array.from({ length: ROWS }, (_, key) => [BigInt(key), some()]))
    index.apply(wholeTable(table, 0))
    try {
      for (let round = 1; round <= ROUNDS; round++) {
        const before = new Map(table)
        const queryVectors = Array.from({ length: SEARCHES }, some)
        const searches = queryVectors.map((queryVector) => {
          return index.search({ queryVector, k: 10 }, signal)
        })
        // Meanwhile, the nearest vectors are removed, and equal ones are added in their places and
        // in others.
        const [queryVector = some()] = queryVectors
        for (let step = 0; step < 4; step++) {
          change(index, table, { random, queryVector, revision: round * 4 + step })
          await Bun.sleep(0)
        }
        const found = await Promise.all(searches)
        const expected = queryVectors.map((vector) => [...exactNearest(before, vector, 10)])
        expect(found).toEqual(expected)
      }
      expect(index.count).toBe(table.size)
      // Slots are reused: removed rows take no more slots than two rounds hold back.
      expect(index.emptyRowCount).toBeLessThan(CHANGED_ROWS * 4 * 3)
    } finally {
      index.close()
      await pool.close()
    }
  },
  TIMEOUT_MS,
)

interface Moment {
  readonly random: () => number
  readonly queryVector: Float32Array
  readonly revision: number
}

/** Makes the same change in the table and in the index. */
function change(index: ExactIndex, table: Map<bigint, Float32Array>, moment: Moment): void {
  const keys = [...table.keys()]
  const removed = Array.from({ length: CHANGED_ROWS }, () => {
    return keys[Math.floor(moment.random() * keys.length)] ?? 0n
  })
  for (const key of removed) table.delete(key)
  const added: Table = new Map(
    Array.from({ length: ROWS - table.size }, (_, at) => {
      return [BigInt(ROWS + moment.revision * CHANGED_ROWS + at), moment.queryVector]
    }),
  )
  for (const [key, vector] of added) table.set(key, vector)
  const removedKeys = BigInt64Array.from(removed)
  index.apply({ removedKeys, ...wholeTable(added, moment.revision) })
}
