import { afterEach, beforeEach, expect, test } from 'bun:test'
import { dirname } from 'node:path'
import { randomUnit, seededRandom } from '../retrieval/sample-vectors.ts'
import { openSearchableStore, type SearchableStore } from '../support/searchable-store.ts'
import { current, documentOf, draftOf, newVector } from '../support/store-fixture.ts'
import { extensionPath } from './hnsw-fixture.ts'

const DIMENSIONS = 16
const { signal } = new AbortController()

let store: SearchableStore

beforeEach(async () => {
  store = await openSearchableStore({
    directory: ':memory:',
    threadPoolSize: 6,
    extensionDirectory: dirname(extensionPath()),
  })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
})

afterEach(() => store.close())

const random = seededRandom(1)

async function put(from: number, count: number) {
  const documents = Array.from({ length: count }, (_, index) => ({
    id: `d${from + index}`,
    texts: ['text'],
    vectors: [newVector(...randomUnit(DIMENSIONS, random))],
  }))
  await store.chunks.replaceDocuments(current(store), documents.map(documentOf))
}

async function keysNear(queryVector: Float32Array) {
  const search = { knowledgeBase: current(store), queryVector, count: 10, prefilter: null }
  const limits = { timeoutMs: 10_000 }
  const found = await store.vectorCaches.nearest({ ...search, limits }, signal)
  const nearest = (found?.neighbours ?? []).toSorted((a, b) => a.distance - b.distance)
  return nearest.slice(0, 10).map(({ key }) => key)
}

async function ask(type: 'hnsw' | 'exact') {
  await store.catalog.alterKnowledgeBase(current(store), { vectorIndex: { type, options: {} } })
}

test('a graph that was asked for answers when it is built, and follows what is written', async () => {
  await put(0, 1500)
  await store.vectorCaches.settled()
  await ask('hnsw')
  const building = put(1500, 300)
  await building
  expect(await keysNear(randomUnit(DIMENSIONS, random))).toHaveLength(10)
  await store.vectorCaches.settled()
  const [state] = store.indexStates.states()
  expect(state).toMatchObject({ type: 'hnsw', state: 'ready', vectorCount: 1800 })
  expect(state?.detail).toContain('searches without a condition use the graph')
  const queries = Array.from({ length: 30 }, () => randomUnit(DIMENSIONS, random))
  const near = await Promise.all(queries.map(keysNear))
  const [gone] = near[0] ?? []
  await store.chunks.removeChunks(current(store), [gone ?? 0n])
  expect(await keysNear(queries[0] ?? new Float32Array())).not.toContain(gone)
  await ask('exact')
  await store.vectorCaches.settled()
  const exact = await Promise.all(queries.slice(1).map(keysNear))
  const found = exact.flatMap((keys, index) => keys.filter((key) => near[index + 1]?.includes(key)))
  expect(found.length / (10 * exact.length)).toBeGreaterThan(0.9)
})

test('a graph with many removed vectors is rebuilt', async () => {
  await put(0, 1500)
  await ask('hnsw')
  await store.vectorCaches.settled()
  const gone = Array.from({ length: 300 }, (_, index) => `d${index}`)
  await store.chunks.removeDocuments(current(store), gone)
  expect(store.indexStates.states()).toMatchObject([{ state: 'building', vectorCount: 1200 }])
  expect(await keysNear(randomUnit(DIMENSIONS, random))).toHaveLength(10)
  await store.vectorCaches.settled()
  expect(store.indexStates.states()).toMatchObject([{ state: 'ready', vectorCount: 1200 }])
  expect(await keysNear(randomUnit(DIMENSIONS, random))).toHaveLength(10)
})

test('a store that closes while a graph is built closes', async () => {
  await put(0, 3000)
  await store.vectorCaches.settled()
  await ask('hnsw')
  await store.close()
  store = await openSearchableStore()
})
