import { afterEach, expect, test } from 'bun:test'
import type { PrefilterSql } from '../../src/core/domain/ports/engine-ports.ts'
import type { NearestFound } from '../../src/core/domain/ports/search-ports.ts'
import { openRetrieval } from '../../src/retrieval/open-retrieval.ts'
import type { VectorCaches } from '../../src/retrieval/vector-caches.ts'
import { databaseDistance } from '../../src/retrieval/vectors/quantized-rows.ts'
import { type FakeChunk, FakeStore } from './fake-store.ts'
import { randomUnit, seededRandom } from './sample-vectors.ts'

const DIMENSIONS = 8
const { signal } = new AbortController()
const limits = { timeoutMs: 1_000 }

let store: FakeStore
let caches: VectorCaches
let random: () => number

function open(given: { bytesMax?: number; wholeVectorsMax?: number; dimensions?: number } = {}) {
  const { bytesMax = 64 * 1024 ** 2, wholeVectorsMax = 100_000, dimensions = DIMENSIONS } = given
  store = new FakeStore(dimensions)
  random = seededRandom(7)
  const retrieval = openRetrieval(store, { bytesMax, wholeVectorsMax, rowBytesMax: 0 })
  caches = retrieval.vectorCaches
  return retrieval
}

afterEach(() => caches.close())

function some(count: number, dimensions = DIMENSIONS): readonly FakeChunk[] {
  return Array.from({ length: count }, () => ({
    vector: randomUnit(dimensions, random),
    text: 'x',
  }))
}

function nearest(queryVector: Float32Array, count = 10, prefilter: PrefilterSql | null = null) {
  const { knowledgeBase } = store
  return caches.nearest({ knowledgeBase, queryVector, count, prefilter, limits }, signal)
}

/** Returns what comparing all chunks finds, in the database's arithmetic. */
function compared(queryVector: Float32Array, keys: Iterable<bigint> = store.chunks.keys()) {
  return Array.from(keys, (key) => {
    const vector = store.chunks.get(key)?.vector ?? new Float32Array(queryVector.length)
    return { key, distance: databaseDistance(vector, queryVector) }
  }).sort((a, b) => a.distance - b.distance || Number(a.key - b.key))
}

function first(found: NearestFound | null, count = 10) {
  return (found?.neighbours ?? [])
    .toSorted((a, b) => a.distance - b.distance || Number(a.key - b.key))
    .slice(0, count)
}

test.each([
  ['whole vectors', 10_000],
  ['codes', 0],
])(
  'with %s in memory the nearest are those of a comparison of all, after any writes',
  async (_, wholeVectorsMax) => {
    open({ wholeVectorsMax })
    store.write({ put: some(300) })
    await caches.settled()
    for (let round = 0; round < 8; round += 1) {
      const removed = compared(randomUnit(DIMENSIONS, random)).slice(0, 5)
      store.write({ put: some(10), remove: removed.map(({ key }) => key) })
      const query = randomUnit(DIMENSIONS, random)
      const found = await nearest(query)
      expect(found?.isCurrent()).toBe(true)
      expect(first(found)).toEqual(compared(query).slice(0, 10))
    }
    // Whole vectors are never read twice.
    expect(store.selects.includes('vectors')).toBe(wholeVectorsMax === 0)
  },
)

test('vectors that were looked up are cached', async () => {
  open({ wholeVectorsMax: 0 })
  store.write({ put: some(100) })
  await caches.settled()
  const query = randomUnit(DIMENSIONS, random)
  await nearest(query)
  const before = store.selects.length
  expect(first(await nearest(query))).toEqual(compared(query).slice(0, 10))
  expect(store.selects).toHaveLength(before)
})

test('a search is current until a write may be visible, even if that write is rolled back', async () => {
  open()
  store.write({ put: some(20) })
  await caches.settled()
  const query = randomUnit(DIMENSIONS, random)
  const found = await nearest(query)
  store.write({ put: some(1) }, 'undone')
  expect(found?.isCurrent()).toBe(false)
  const again = await nearest(query)
  expect(again?.isCurrent()).toBe(true)
  expect(first(again)).toEqual(compared(query).slice(0, 10))
})

test.each([
  ['whole vectors', 10_000],
  ['codes', 0],
])('many %s are loaded by threads, with the writes meanwhile', async (_, wholeVectorsMax) => {
  open({ dimensions: 4096, wholeVectorsMax })
  // More codes than one search reads without threads.
  store.write({ put: some(2_100, 4096) })
  await caches.settled()
  caches.forget(store.knowledgeBase.id)
  store.whileReading = async () => store.write({ put: some(30, 4096), remove: [3n, 4n] })
  caches.start()
  await caches.settled()
  const query = randomUnit(4096, random)
  expect(first(await nearest(query))).toEqual(compared(query).slice(0, 10))
})

test('caches that close while threads load them leave no memory in use', async () => {
  open({ dimensions: 4096 })
  store.write({ put: some(2_100, 4096) })
  await caches.settled()
  caches.forget(store.knowledgeBase.id)
  store.whileReading = async () => caches.forget(store.knowledgeBase.id)
  caches.start()
  await caches.settled()
  expect(caches.copyOf(store.knowledgeBase)).toEqual({ kind: 'none', count: 0, bytes: 0 })
  store.whileReading = async () => {}
  caches.start()
  await caches.settled()
  const query = randomUnit(4096, random)
  expect(first(await nearest(query))).toEqual(compared(query).slice(0, 10))
})

test('writes during the load are in the cache', async () => {
  open()
  store.write({ put: some(200) })
  await caches.settled()
  caches.forget(store.knowledgeBase.id)
  store.whileReading = async () => {
    store.write({ put: some(30), remove: [3n, 4n] })
    store.write({ put: some(1) })
  }
  caches.start()
  await caches.settled()
  store.whileReading = async () => {}
  const query = randomUnit(DIMENSIONS, random)
  expect(first(await nearest(query))).toEqual(compared(query).slice(0, 10))
  expect(caches.access(store.knowledgeBase).detail).toBe('229 vectors in memory, scanned exactly')
})

test('a cache that missed a commit is not searched, and is loaded again', async () => {
  open()
  store.write({ put: some(50) })
  await caches.settled()
  store.change({ revision: store.knowledgeBase.revision + 1 })
  const query = randomUnit(DIMENSIONS, random)
  await nearest(query)
  await caches.settled()
  const found = await nearest(query)
  expect(found?.isCurrent()).toBe(true)
  expect(first(found)).toEqual(compared(query).slice(0, 10))
})

test('few keys of a prefilter are listed once for each revision', async () => {
  open()
  store.conditions.set('part 7', (key) => key % 100n === 7n)
  store.write({ put: some(500) })
  await caches.settled()
  for (let round = 0; round < 3; round += 1) {
    const query = randomUnit(DIMENSIONS, random)
    for (let again = 0; again < 2; again += 1) {
      const found = await nearest(query, 50, store.prefilter('part 7'))
      expect(first(found, 50)).toEqual(compared(query, store.keysWhere('part 7')).slice(0, 50))
    }
    store.write({ put: some(100) })
  }
  expect(store.selects).toEqual(['listed keys', 'listed keys', 'listed keys'])
})

test('keys of a prefilter that means something else each time are listed each time', async () => {
  open()
  store.conditions.set('part 7', (key) => key % 100n === 7n)
  store.write({ put: some(300) })
  await caches.settled()
  const query = randomUnit(DIMENSIONS, random)
  await nearest(query, 5, store.prefilter('part 7', false))
  await nearest(query, 5, store.prefilter('part 7', false))
  expect(store.selects).toEqual(['listed keys', 'listed keys'])
})

test('a broad prefilter is checked only for the nearest chunks, and listed when it is repeated', async () => {
  open()
  store.conditions.set('not the fifth', (key) => key % 5n !== 0n)
  for (let at = 0; at < 26; at += 1) store.write({ put: some(1_000) })
  await caches.settled()
  const selects: (readonly string[])[] = []
  for (let round = 0; round < 5; round += 1) {
    if (round === 3) store.write({ put: some(10), remove: [7n, 9n] })
    const query = randomUnit(DIMENSIONS, random)
    const found = await nearest(query, 10, store.prefilter('not the fifth'))
    expect(first(found)).toEqual(compared(query, store.keysWhere('not the fifth')).slice(0, 10))
    selects.push(store.selects.splice(0))
  }
  expect(selects).toEqual([
    ['listed keys', 'checked keys'],
    ['listed keys'],
    [],
    ['checked keys'],
    ['listed keys'],
  ])
})

test('a broad prefilter that matches none of the nearest chunks is listed completely', async () => {
  open()
  store.conditions.set('far', (key) => key > 5_000n)
  const axis = Float32Array.from([1, ...Array<number>(DIMENSIONS - 1).fill(0)])
  store.write({ put: Array.from({ length: 5_000 }, () => ({ vector: axis, text: 'x' })) })
  for (let at = 0; at < 25; at += 1) store.write({ put: some(1_000) })
  await caches.settled()
  const found = await nearest(axis, 10, store.prefilter('far'))
  expect(first(found)).toEqual(compared(axis, store.keysWhere('far')).slice(0, 10))
  expect(store.selects.at(-1)).toBe('listed keys')
})

test('without memory, or with too little, there is nothing faster than a scan, and it says why', async () => {
  open({ bytesMax: 0 })
  store.write({ put: some(50) })
  await caches.settled()
  expect(await nearest(randomUnit(DIMENSIONS, random))).toBeNull()
  expect(caches.access(store.knowledgeBase).detail).toBe('EIDER_VECTOR_MEMORY is 0')
  await caches.close()
  open({ bytesMax: 1_000_000 })
  store.write({ put: some(50) })
  await caches.settled()
  expect(await nearest(randomUnit(DIMENSIONS, random))).toBeNull()
  expect(caches.access(store.knowledgeBase).detail).toContain('do not fit')
})

test('vectors of another model, or of a knowledge base that is gone, are not searched', async () => {
  open()
  store.write({ put: some(50) })
  await caches.settled()
  const before = store.knowledgeBase
  const search = { knowledgeBase: before, queryVector: randomUnit(DIMENSIONS, random), count: 1 }
  store.change({ vectorsNumber: 1 })
  await caches.settled()
  expect(await caches.nearest({ ...search, prefilter: null, limits }, signal)).toBeNull()
  expect((await nearest(search.queryVector))?.neighbours.length).toBeGreaterThan(0)
  store.drop()
  expect(caches.access(store.knowledgeBase).kind).toBe('scan')
})

test('a requested accelerator answers, follows writes, and is released', async () => {
  const { indexStates } = open()
  store.hnsw.possible = { possible: true }
  store.write({ put: some(100) })
  await caches.settled()
  store.change({ vectorIndex: { type: 'hnsw', options: {} } })
  await caches.settled()
  const [accelerator] = store.hnsw.created
  const query = randomUnit(DIMENSIONS, random)
  expect(first(await nearest(query))).toEqual(compared(query).slice(0, 10))
  expect(accelerator?.searchCount).toBe(1)
  store.write({ put: some(1) })
  expect(accelerator?.revisions).toEqual([2])
  expect(indexStates.states()).toMatchObject([{ type: 'hnsw', state: 'ready', vectorCount: 101 }])
  expect(caches.access(store.knowledgeBase).detail).toBe('101 vectors in memory, nearly: by a fake')
  store.change({ vectorIndex: null })
  await caches.settled()
  expect(accelerator?.isClosed).toBe(true)
  expect(indexStates.states()).toMatchObject([{ type: 'auto', state: 'exact' }])
})

test('an unavailable index type says why, and all vectors are compared', async () => {
  const { indexStates } = open()
  store.write({ put: some(100) })
  store.change({ vectorIndex: { type: 'hnsw', options: {} } })
  await caches.settled()
  expect(store.hnsw.created).toHaveLength(0)
  expect(indexStates.possible().hnsw).toEqual({ possible: false, reason: 'it is not there' })
  const [state] = indexStates.states()
  expect(state?.state).toBe('unavailable')
  expect(state?.detail).toBe('it is not there; all vectors are compared meanwhile')
  expect(first(await nearest(randomUnit(DIMENSIONS, random)))).toHaveLength(10)
})
