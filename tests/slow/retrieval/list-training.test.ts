import { describe, expect, test } from 'bun:test'
import {
  clusteredTable,
  DIMENSIONS,
  newIndex,
  recallOf,
  training,
} from '../../retrieval/list-fixture.ts'
import { ListedIndex } from '../../retrieval/listed-index.ts'
import {
  exactNearest,
  randomUnit,
  seededRandom,
  wholeTable,
} from '../../retrieval/sample-vectors.ts'
import { callingThread } from '../../retrieval/scan-runners.ts'

const signal = new AbortController().signal

describe('a training', () => {
  test('says that lists do not help where vectors have no neighbourhood', async () => {
    const random = seededRandom(8)
    const some = Array.from({ length: 2000 }, () => randomUnit(DIMENSIONS, random))
    const table = new Map(some.map((vector, key) => [BigInt(key), vector]))
    const { memory, index } = newIndex(table)
    const usedBytes = memory.usedBytes
    const report = await index.trainLists(training(), signal)
    expect(report.isWorthwhile).toBe(false)
    expect(report.scannedShare).toBeGreaterThan(0.0625)
    expect(memory.usedBytes).toBe(usedBytes)
    // The result is then exact.
    expect(await recallOf(index, table, 10)).toBe(1)
    index.close()
  })

  test.each([0, 1, 2, 5, 30])('of %p vectors leaves each to be found', async (count) => {
    const table = clusteredTable(count)
    const { index } = newIndex(table)
    const report = await index.trainLists(training(), signal)
    expect(report.vectorCount).toBe(count)
    const [queryVector = randomUnit(DIMENSIONS, seededRandom(1))] = table.values()
    const found = await index.search({ queryVector, k: 100, effort: 'lists' }, signal)
    expect(found).toEqual([...exactNearest(table, queryVector, 100)])
    index.close()
  })

  test('of vectors that are all the same ends, and all are found', async () => {
    const vector = randomUnit(DIMENSIONS, seededRandom(4))
    const table = new Map(Array.from({ length: 1500 }, (_, key) => [BigInt(key), vector]))
    const { index } = newIndex(table)
    await index.trainLists(training(), signal)
    const found = await index.search({ queryVector: vector, k: 20, effort: 'lists' }, signal)
    expect(found).toHaveLength(20)
    index.close()
  })

  test('takes what comes, goes and returns meanwhile', async () => {
    const table = clusteredTable(2500)
    const random = seededRandom(77)
    const any = () => BigInt(Math.floor(random() * 3500))
    const state: { index?: ListedIndex; revision: number } = { revision: 1 }
    const change = () => {
      const removed = Array.from({ length: 9 }, any)
      const fresh = clusteredTable(7, 1000 + state.revision)
      const added = new Map([...fresh.values()].map((vector) => [any(), vector]))
      for (const key of removed) table.delete(key)
      for (const [key, vector] of added) table.set(key, vector)
      state.revision += 1
      const removedKeys = BigInt64Array.from(removed)
      state.index?.apply({ removedKeys, ...wholeTable(added, state.revision) })
    }
    const { index } = newIndex(table, { onTask: change })
    state.index = index
    const report = await index.trainLists(training(), signal)
    expect(state.revision).toBeGreaterThan(5)
    expect(report.isWorthwhile).toBe(true)
    for (let round = 0; round < 20; round++) change()
    expect(index.count).toBe(table.size)
    expect(await recallOf(index, table, 10)).toBeGreaterThanOrEqual(0.95)
    // All lists together contain each vector once, so a search that reads all of them finds each.
    const [queryVector = new Float32Array()] = table.values()
    const found = await index.search({ queryVector, k: 4000, effort: 'lists' }, signal)
    expect(new Set(found.map(({ key }) => key))).toEqual(new Set(table.keys()))
    index.close()
  })

  test('that is aborted, at any point, leaves the index as it was', async () => {
    const table = clusteredTable(1500)
    let tasks = 0
    const whole = newIndex(table, { onTask: () => tasks++ })
    await whole.index.trainLists(training(), signal)
    whole.index.close()
    const taskCount = tasks
    expect(taskCount).toBeGreaterThan(1)
    for (let taskMax = 0; taskMax < taskCount; taskMax++) {
      const leaving = new AbortController()
      const reason = new Error('left')
      tasks = 0
      const onTask = () => {
        if (tasks++ === taskMax) leaving.abort(reason)
      }
      const { memory, index } = newIndex(table, { onTask })
      const usedBytes = memory.usedBytes
      await expect(index.trainLists(training(), leaving.signal)).rejects.toBe(reason)
      expect(tasks).toBe(taskMax + 1)
      expect(memory.usedBytes).toBe(usedBytes)
      expect(index.listsReport).toBeNull()
      expect(await recallOf(index, table, 10)).toBe(1)
      index.close()
    }
  })

  test('ends when the index is closed, and gives all memory back', async () => {
    const state: { index?: ListedIndex } = {}
    const { memory, index } = newIndex(clusteredTable(1500), { onTask: () => state.index?.close() })
    state.index = index
    const ended = index.trainLists(training(), signal)
    await expect(ended).rejects.toMatchObject({ code: 'shutting_down' })
    expect(memory.usedBytes).toBe(0)
    const late = index.trainLists(training(), signal)
    await expect(late).rejects.toMatchObject({ code: 'shutting_down' })
  })

  test('that fails leaves the lists of the one before', async () => {
    const table = clusteredTable(2000)
    const failing = { isOn: false }
    const onTask = () => {
      if (failing.isOn) throw new Error('the thread ended')
    }
    const { memory, index } = newIndex(table, { onTask })
    const report = await index.trainLists(training(), signal)
    const usedBytes = memory.usedBytes
    failing.isOn = true
    await expect(index.trainLists(training(9), signal)).rejects.toThrow('the thread ended')
    expect(index.listsReport).toBe(report)
    expect(memory.usedBytes).toBe(usedBytes)
    failing.isOn = false
    expect((await index.trainLists(training(9), signal)).isWorthwhile).toBe(true)
    index.close()
    expect(memory.usedBytes).toBe(0)
  })

  test('waits for no other: a second one is refused', async () => {
    const { index } = newIndex(clusteredTable(1500))
    const first = index.trainLists(training(), signal)
    const second = index.trainLists(training(), signal)
    await expect(second).rejects.toMatchObject({ code: 'too_busy' })
    expect((await first).isWorthwhile).toBe(true)
    index.close()
  })

  test('for which memory does not suffice changes nothing', async () => {
    const table = clusteredTable(2500)
    // One block of the largest size, in which the vectors leave too little room.
    const { memory, index } = newIndex(table, { bytesMax: 16 * 1024 ** 2 })
    const full = new ListedIndex({ memory, pool: callingThread(memory), dimensions: DIMENSIONS })
    const many = clusteredTable(4000)
    for (let revision = 1; ; revision++) {
      const keys = BigInt64Array.from(many.keys(), (key) => key + BigInt(revision * 10_000))
      try {
        full.apply({ ...wholeTable(many, revision), keys })
      } catch (error) {
        expect(error).toMatchObject({ code: 'out_of_memory' })
        break
      }
    }
    const usedBytes = memory.usedBytes
    const refused = index.trainLists(training(5, 1500), signal)
    await expect(refused).rejects.toMatchObject({ code: 'out_of_memory' })
    expect(memory.usedBytes).toBe(usedBytes)
    expect(await recallOf(index, table, 10)).toBe(1)
    full.close()
    index.close()
  })

  test.each([0, -1, 1.5, Number.NaN])('for %p lists is refused', async (listCount) => {
    const { index } = newIndex(clusteredTable(50))
    const refused = index.trainLists({ listCount }, signal)
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request' })
    index.close()
  })

  test('makes as many lists as are asked for, where there are as many vectors', async () => {
    const { index } = newIndex(clusteredTable(300))
    expect(await index.trainLists(training(5, 40), signal)).toMatchObject({ listCount: 40 })
    expect(await index.trainLists(training(5, 9999), signal)).toMatchObject({ listCount: 300 })
    index.close()
  })
})
