import { describe, expect, test } from 'bun:test'
import {
  clusteredTable,
  DIMENSIONS,
  newIndex,
  recallOf,
  training,
} from '../../retrieval/list-fixture.ts'
import {
  exactNearest,
  randomUnit,
  seededRandom,
  wholeTable,
} from '../../retrieval/sample-vectors.ts'

const signal = new AbortController().signal
/** More than the number of vectors that may wait for a list. */
const MANY = 1100

describe.each([
  { kernel: 'fastest', isCodesOnly: false },
  { kernel: 'fastest', isCodesOnly: true },
  { kernel: 'simd', isCodesOnly: false },
  { kernel: 'simd', isCodesOnly: true },
] as const)('lists ($kernel kernel, codes only: $isCodesOnly)', (setting) => {
  test('find in clusters as many as they say, in a small part of the base', async () => {
    const table = clusteredTable(3000)
    const { index } = newIndex(table, setting)
    const report = await index.trainLists(training(), signal)
    expect(report).toMatchObject({ isWorthwhile: true, listCount: 110, vectorCount: 3000 })
    expect(report.recallAt10).toBeGreaterThanOrEqual(0.97)
    expect(report.scannedShare).toBeLessThan(0.0625)
    expect(index.listsReport).toBe(report)
    expect(await recallOf(index, table, 10)).toBeGreaterThanOrEqual(0.95)
    expect(await recallOf(index, table, 1)).toBeGreaterThanOrEqual(0.95)
    index.close()
  })
})

describe('the kernels', () => {
  test('give each vector the same list', async () => {
    const table = clusteredTable(700)
    const found = []
    for (const kernel of ['fastest', 'simd'] as const) {
      const { index } = newIndex(table, { kernel })
      await index.trainLists(training(3, 23), signal)
      const searches = [...table.values()].slice(0, 40).map((queryVector) => {
        return index.search({ queryVector, k: 10, effort: 'lists' }, signal)
      })
      found.push(await Promise.all(searches))
      index.close()
    }
    expect(found[0]).toEqual(found[1] ?? [])
  })
})

describe('once there are lists', () => {
  test('as many as are asked for are found, however few a list holds', async () => {
    const table = clusteredTable(3000)
    const { index } = newIndex(table)
    await index.trainLists(training(5, 600), signal)
    for (const k of [1, 50, 100, 101, 4000]) {
      expect(await recallOf(index, table, k)).toBeGreaterThanOrEqual(k > 100 ? 1 : 0.95)
    }
    const queryVector = randomUnit(DIMENSIONS, seededRandom(2))
    expect(await index.search({ queryVector, k: 0, effort: 'lists' }, signal)).toEqual([])
    for (const k of [-1, 1.5, Number.NaN]) {
      const refused = index.search({ queryVector, k, effort: 'lists' }, signal)
      await expect(refused).rejects.toMatchObject({ code: 'sql_invalid_search' })
    }
    index.close()
  })

  test('a search among some is exact, and so is one that asks for it', async () => {
    const table = clusteredTable(3000)
    const { index } = newIndex(table)
    await index.trainLists(training(), signal)
    const keys = [...table.keys()].filter((key) => key % 7n === 0n)
    const some = new Map([...table].filter(([key]) => key % 7n === 0n))
    for (let seed = 0; seed < 20; seed++) {
      const queryVector = randomUnit(DIMENSIONS, seededRandom(seed))
      const filter = { queryVector, k: 10, allowedKeys: BigInt64Array.from(keys) }
      const filtered = await index.search({ ...filter, effort: 'lists' }, signal)
      expect(filtered).toEqual([...exactNearest(some, queryVector, 10)])
      const exact = await index.search({ queryVector, k: 10, effort: 'exact' }, signal)
      expect(exact).toEqual([...exactNearest(table, queryVector, 10)])
    }
    index.close()
  })

  test('new vectors are found at once, first waiting and then in lists', async () => {
    const table = clusteredTable(3000)
    const { index } = newIndex(table)
    await index.trainLists(training(), signal)
    const random = seededRandom(31)
    const add = (from: number, count: number) => {
      const fresh = Array.from({ length: count }, (_, at) => [BigInt(from + at), far()] as const)
      for (const [key, vector] of fresh) table.set(key, vector)
      index.apply(wholeTable(new Map(fresh), from))
    }
    // Vectors far away from the clusters, so that most other searches do not read their lists.
    const far = () => randomUnit(DIMENSIONS, random)
    add(10_000, 100)
    expect(index.waitingCount).toBe(100)
    for (let key = 10_000n; key < 10_100n; key++) {
      const queryVector = table.get(key) ?? new Float32Array()
      const [nearest] = await index.search({ queryVector, k: 1, effort: 'lists' }, signal)
      expect(nearest?.key).toBe(key)
    }
    add(20_000, MANY)
    await index.listsSettled()
    expect(index.waitingCount).toBe(0)
    for (let key = 20_000n; key < 20_050n; key++) {
      const queryVector = table.get(key) ?? new Float32Array()
      const [nearest] = await index.search({ queryVector, k: 1, effort: 'lists' }, signal)
      expect(nearest?.key).toBe(key)
    }
    index.close()
  })

  test('vectors that change while they are given a list are found as they are now', async () => {
    const table = clusteredTable(3000)
    const state: { change: (() => void) | null } = { change: null }
    const { index } = newIndex(table, { onTask: () => state.change?.() })
    await index.trainLists(training(), signal)
    const others = clusteredTable(MANY, 6)
    const renamed = (from: bigint, seed: number) => {
      return new Map([...clusteredTable(MANY, seed)].map(([key, one]) => [key + from, one]))
    }
    const first = renamed(10_000n, 6)
    const second = renamed(10_000n, 7)
    expect(others.size).toBe(MANY)
    state.change = () => {
      state.change = null
      index.apply({ removedKeys: BigInt64Array.from(first.keys()), revision: 3 })
      index.apply(wholeTable(second, 4))
    }
    index.apply(wholeTable(first, 2))
    await index.listsSettled()
    expect(state.change).toBeNull()
    for (const [key, vector] of second) table.set(key, vector)
    expect(await recallOf(index, table, 10)).toBeGreaterThanOrEqual(0.95)
    expect(index.count).toBe(table.size)
    index.close()
  })

  test('vectors that go are found no more, all of them in the end', async () => {
    const table = clusteredTable(3000)
    const { index } = newIndex(table)
    await index.trainLists(training(), signal)
    const keys = [...table.keys()]
    for (let from = 0; from < keys.length; from += 500) {
      const removedKeys = BigInt64Array.from(keys.slice(from, from + 500))
      for (const key of removedKeys) table.delete(key)
      index.apply({ removedKeys, revision: from + 2 })
      const queryVector = randomUnit(DIMENSIONS, seededRandom(from))
      const found = await index.search({ queryVector, k: 10, effort: 'lists' }, signal)
      expect(found).toHaveLength(Math.min(10, table.size))
      for (const { key } of found) expect(table.has(key)).toBe(true)
    }
    index.close()
  })

  test('they are old when half as many vectors have come', async () => {
    const { index } = newIndex(clusteredTable(2000))
    expect(index.needsTraining).toBe(false)
    await index.trainLists(training(), signal)
    expect(index.needsTraining).toBe(false)
    const more = new Map([...clusteredTable(1001, 9)].map(([key, one]) => [key + 5000n, one]))
    index.apply(wholeTable(more, 2))
    expect(index.needsTraining).toBe(true)
    await index.trainLists(training(), signal)
    expect(index.needsTraining).toBe(false)
    index.close()
  })

  test('they can be let go, with their memory', async () => {
    const table = clusteredTable(2000)
    const { memory, index } = newIndex(table)
    const bytes = index.bytes
    await index.trainLists(training(), signal)
    expect(index.bytes).toBeGreaterThan(bytes)
    expect(memory.usedBytes).toBe(index.bytes)
    index.dropLists()
    expect(index.bytes).toBe(bytes)
    expect(memory.usedBytes).toBe(bytes)
    expect(index.listsReport).toBeNull()
    expect(await recallOf(index, table, 10)).toBe(1)
    index.close()
  })
})
