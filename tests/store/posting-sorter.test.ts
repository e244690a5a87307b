import { expect, test } from 'bun:test'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import { PostingSorter } from '../../src/store/upkeep/posting-sorter.ts'
import { current, draftOf, openMemoryStore } from '../support/store-fixture.ts'

/** A sorter whose pauses end on command, for a knowledge base with this many recent postings. */
async function sorterOf(recent: { readonly count: number; readonly countMax: number }) {
  const store = await openMemoryStore()
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const kb: KnowledgeBase = current(store)
  await store.close()
  const waits = new Set<() => void>()
  let sorts = 0
  const sorter = new PostingSorter({
    sort: async () => {
      sorts += 1
    },
    after: (_, work) => {
      waits.add(work)
      return () => waits.delete(work)
    },
  })
  const insert = async (added: number) => {
    await sorter.count(kb.id, added, async () => recent)
    sorter.wake(kb)
  }
  const pause = () => {
    for (const work of [...waits]) {
      waits.delete(work)
      work()
    }
  }
  return { sorter, insert, pause, waitCount: () => waits.size, sorts: () => sorts }
}

test('postings are sorted once, when inserts pause', async () => {
  const { insert, pause, waitCount, sorts } = await sorterOf({ count: 0, countMax: 250_000 })
  for (let round = 0; round <= 5; round += 1) await insert(100_000)
  expect([sorts(), waitCount()]).toEqual([0, 1])
  pause()
  expect([sorts(), waitCount()]).toEqual([1, 0])
})

test('few recent postings are left as they are', async () => {
  const { insert, waitCount, sorts } = await sorterOf({ count: 0, countMax: 250_000 })
  for (let round = 0; round < 100; round += 1) await insert(2_000)
  expect([sorts(), waitCount()]).toEqual([0, 0])
})

test('very many are sorted during inserts: a million, or a quarter of the sorted ones', async () => {
  for (const [countMax, most] of [
    [250_000, 1_000_000],
    [2_000_000, 4_000_000],
  ] as const) {
    const { insert, sorts } = await sorterOf({ count: 0, countMax })
    await insert(0)
    await insert(most)
    expect(sorts()).toBe(0)
    await insert(1)
    expect(sorts()).toBe(1)
  }
})

test('a sort that fails is tried again after the next insert', async () => {
  const counted = { count: 300_000, countMax: 250_000 }
  const sorted = Promise.withResolvers<void>()
  let tries = 0
  const sorter = new PostingSorter({
    sort: async () => {
      tries += 1
      if (tries === 1) throw new Error('no disk')
      sorted.resolve()
    },
    after: (_, work) => {
      setImmediate(work)
      return () => {}
    },
  })
  const store = await openMemoryStore()
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  await store.close()
  while (tries < 2) {
    await sorter.count(kb.id, 1, async () => counted)
    sorter.wake(kb)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await sorted.promise
  expect(tries).toBe(2)
})

test('a closed sorter starts no work', async () => {
  const { sorter, insert, pause, waitCount, sorts } = await sorterOf({
    count: 300_000,
    countMax: 250_000,
  })
  await insert(1)
  expect(waitCount()).toBe(1)
  sorter.close()
  await insert(1)
  pause()
  expect([sorts(), waitCount()]).toEqual([0, 0])
})
