import { afterAll, describe, expect, test } from 'bun:test'
import { ScanPool, scanPoolOptions } from '../../src/retrieval/vectors/scan-pool.ts'
import { VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'
import { ListedIndex } from './listed-index.ts'
import { exactNearest, randomUnit, seededRandom, wholeTable } from './sample-vectors.ts'
import { ALL_BY_THREADS } from './scan-runners.ts'

/** Enough codes for threads to scan them: 700 × 4096. */
const DIMENSIONS = 4096
const random = seededRandom(7)
const table = new Map(
  Array.from({ length: 700 }, (_, key) => [BigInt(key), randomUnit(DIMENSIONS, random)]),
)
const queryVectors = Array.from({ length: 12 }, () => randomUnit(DIMENSIONS, random))
const [queryVector = new Float32Array()] = queryVectors
const signal = new AbortController().signal

const memory = new VectorMemory({
  ...{ bytesMax: 128 * 1024 ** 2, threadCount: 2 },
  sharing: ALL_BY_THREADS,
})
const pools: ScanPool[] = []

function newIndex(options: { workerUrl?: string; queueMax?: number } = {}) {
  const pool = new ScanPool(memory, { ...scanPoolOptions(), ...options })
  pools.push(pool)
  const index = new ListedIndex({ memory, pool, dimensions: DIMENSIONS })
  index.apply(wholeTable(table, 1))
  return { pool, index }
}

function worker(kind: 'frail' | 'doomed' | 'missing'): string {
  return new URL(`./${kind}-scan-worker.ts`, import.meta.url).href
}

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()))
})

describe('threads that scan', () => {
  test('find in parts what one scan finds', async () => {
    const { pool, index } = newIndex()
    expect(pool.idleCount).toBe(2)
    const search = index.search({ queryVector, k: 20 }, signal)
    expect(pool.idleCount).toBe(0)
    expect(await search).toEqual([...exactNearest(table, queryVector, 20)])
    expect(pool.idleCount).toBe(2)
    index.close()
  })

  test('answer many searches at once, filtered or not, each with its own', async () => {
    const { index } = newIndex()
    const allowed = [...table.keys()].filter((key) => key % 2n === 0n)
    const some = new Map([...table].filter(([key]) => key % 2n === 0n))
    const all = queryVectors.map(async (vector, at) => {
      const filter = at % 3 === 0 ? { allowedKeys: BigInt64Array.from(allowed) } : {}
      const found = await index.search({ queryVector: vector, k: 5 + at, ...filter }, signal)
      expect(found).toEqual([...exactNearest(at % 3 === 0 ? some : table, vector, 5 + at)])
    })
    await Promise.all(all)
    index.close()
  })

  test('see memory that has grown since they started', async () => {
    const { index } = newIndex()
    await index.search({ queryVector, k: 1 }, signal)
    const before = memory.memory.buffer.byteLength
    const added = new Map([...table].map(([key, vector]) => [key + 10_000n, vector]))
    index.apply(wholeTable(added, 2))
    expect(memory.memory.buffer.byteLength).toBeGreaterThan(before)
    const found = await index.search({ queryVector, k: 10 }, signal)
    expect(found).toEqual([...exactNearest(new Map([...table, ...added]), queryVector, 10)])
    index.close()
  })

  test('store vectors as the caller does', async () => {
    const { pool, index } = newIndex()
    const filled = new ListedIndex({ memory, pool, dimensions: DIMENSIONS })
    const halves = [0n, 1n].map((half) => {
      return wholeTable(new Map([...table].filter(([key]) => key % 2n === half)), 1)
    })
    await Promise.all(halves.map((half) => filled.applyInThread(half)))
    expect(filled.count).toBe(table.size)
    for (const vector of queryVectors) {
      const search = { queryVector: vector, k: 20 }
      expect(await filled.search(search, signal)).toEqual(await index.search(search, signal))
    }
    filled.close()
    index.close()
  })

  test('store none of the vectors if one is not of unit length', async () => {
    const { index } = newIndex()
    const wrong = new Map([
      [9_000n, randomUnit(DIMENSIONS, random)],
      [9_001n, new Float32Array(DIMENSIONS)],
    ])
    const storing = index.applyInThread(wholeTable(wrong, 2))
    await expect(storing).rejects.toMatchObject({ code: 'internal' })
    const found = await index.search({ queryVector, k: table.size + 2 }, signal)
    expect(found).toHaveLength(table.size)
    index.close()
  })

  test('fail to store when they end', async () => {
    const { index } = newIndex({ workerUrl: worker('doomed') })
    const more = new Map([[9_000n, randomUnit(DIMENSIONS, random)]])
    const storing = index.applyInThread(wholeTable(more, 2))
    await expect(storing).rejects.toMatchObject({ code: 'internal' })
    index.close()
  })

  test('are replaced when they end, and their scans tried again', async () => {
    const { index } = newIndex({ workerUrl: worker('frail') })
    const searches = queryVectors.map((vector) =>
      index.search({ queryVector: vector, k: 3 }, signal),
    )
    const found = await Promise.all(searches)
    expect(found).toEqual(queryVectors.map((vector) => [...exactNearest(table, vector, 3)]))
    index.close()
  })

  test('fail a search when they keep crashing', async () => {
    const { index } = newIndex({ workerUrl: worker('doomed') })
    for (let round = 0; round < 2; round++) {
      const search = index.search({ queryVector, k: 3 }, signal)
      await expect(search).rejects.toMatchObject({ code: 'internal' })
    }
    index.close()
  })

  test('compare vectors with lists again when they end', async () => {
    const { index } = newIndex({ workerUrl: worker('frail') })
    const report = await index.trainLists({ listCount: 4, random }, signal)
    expect(report).toMatchObject({ listCount: 4, vectorCount: 700 })
    index.close()
  })

  test('fail a training when they keep crashing, and leave nothing behind', async () => {
    const { index } = newIndex({ workerUrl: worker('doomed') })
    const usedBytes = memory.usedBytes
    const training = index.trainLists({ listCount: 4, random }, signal)
    await expect(training).rejects.toMatchObject({ code: 'internal' })
    expect(memory.usedBytes).toBe(usedBytes)
    expect(index.listsReport).toBeNull()
    index.close()
  })

  test('fail a search when there is no such thread', async () => {
    const { index } = newIndex({ workerUrl: worker('missing') })
    const search = index.search({ queryVector, k: 3 }, signal)
    await expect(search).rejects.toMatchObject({ code: 'internal' })
    index.close()
  })

  test('end searches whose caller has left, waiting or running', async () => {
    const { pool, index } = newIndex()
    const leaving = new AbortController()
    const reason = new Error('left')
    const left = queryVectors.map((vector) => {
      return index.search({ queryVector: vector, k: 3 }, leaving.signal)
    })
    const stays = index.search({ queryVector, k: 3 }, signal)
    leaving.abort(reason)
    const ends = await Promise.allSettled(left)
    expect(ends.map((end) => end.status === 'rejected' && end.reason)).toEqual(
      queryVectors.map(() => reason),
    )
    expect(await stays).toEqual([...exactNearest(table, queryVector, 3)])
    expect(pool.idleCount).toBeGreaterThan(0)
    index.close()
  })

  test('let no more searches wait than the limit says', async () => {
    const { index } = newIndex({ queueMax: 3 })
    const searches = queryVectors.map((vector) =>
      index.search({ queryVector: vector, k: 3 }, signal),
    )
    const ends = await Promise.allSettled(searches)
    const codes = ends.map((end) => (end.status === 'rejected' ? end.reason.code : 'found'))
    // The first scan has both threads, and three scans wait.
    expect(codes).toEqual([...Array(4).fill('found'), ...Array(8).fill('too_busy')])
    index.close()
  })

  test('end with the pool, and all searches with them', async () => {
    const { pool, index } = newIndex()
    const searches = queryVectors.map((vector) =>
      index.search({ queryVector: vector, k: 3 }, signal),
    )
    const ending = Promise.allSettled(searches)
    await pool.close()
    const ends = await ending
    const codes = ends.map((end) => end.status === 'rejected' && end.reason.code)
    expect(codes).toEqual(queryVectors.map(() => 'shutting_down'))
    const late = index.search({ queryVector, k: 3 }, signal)
    await expect(late).rejects.toMatchObject({ code: 'shutting_down' })
    index.close()
  })
})
