import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openSearchableStore, type SearchableStore } from '../support/searchable-store.ts'
import {
  current,
  documentOf,
  draftOf,
  newVector,
  type TestDocument,
  temporaryFolder,
} from '../support/store-fixture.ts'
import { randomUnit, seededRandom } from './sample-vectors.ts'

const DIMENSIONS = 16
const { signal } = new AbortController()

let store: SearchableStore

beforeEach(async () => {
  store = await openSearchableStore({ threadPoolSize: 6 })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
})

afterEach(() => {
  mock.restore()
  return store.close()
})

/** Vectors in clusters, as those of texts are. */
function documents(from: number, count: number, clusters = 50): readonly TestDocument[] {
  const random = seededRandom(1)
  const middles = Array.from({ length: clusters }, () => randomUnit(DIMENSIONS, random))
  const noise = seededRandom(from + 2)
  return Array.from({ length: count }, (_, index) => {
    const middle = middles[(from + index) % clusters] ?? new Float32Array(DIMENSIONS)
    const vector = middle.map((part) => part + ((noise() - 0.5) / clusters) * 10)
    return { id: `d${from + index}`, texts: ['text'], vectors: [newVector(...vector)] }
  })
}

function put(some: readonly TestDocument[]) {
  return store.chunks.replaceDocuments(current(store), some.map(documentOf))
}

async function ask(vectorIndex: Parameters<SearchableStore['catalog']['alterKnowledgeBase']>[1]) {
  await store.catalog.alterKnowledgeBase(current(store), vectorIndex)
  await store.vectorCaches.settled()
}

async function keysNear(queryVector: Float32Array) {
  const search = { knowledgeBase: current(store), queryVector, count: 10, prefilter: null }
  const limits = { timeoutMs: 10_000 }
  const found = await store.vectorCaches.nearest({ ...search, limits }, signal)
  const nearest = (found?.neighbours ?? []).toSorted((a, b) => a.distance - b.distance)
  return nearest.slice(0, 10).map(({ key }) => key)
}

const IVF = { vectorIndex: { type: 'ivf', options: {} } } as const

test('requested lists are used, and shown with their measured recall', async () => {
  await put(documents(0, 3000))
  await store.vectorCaches.settled()
  const random = seededRandom(5)
  const queries = documents(9000, 40).map((one) => {
    const [vector] = one.vectors ?? []
    return vector?.kind === 'new' ? vector.vector : randomUnit(DIMENSIONS, random)
  })
  const units = queries.map((query) => {
    const length = Math.hypot(...query)
    return query.map((part) => part / length)
  })
  const exact = await Promise.all(units.map(keysNear))
  await ask(IVF)
  const [state] = store.indexStates.states()
  expect(state).toMatchObject({ type: 'ivf', state: 'ready', vectorCount: 3000 })
  expect(state?.detail).toMatch(/^\d+ of \d+ lists are read, recall@10 [01]\.\d{3} on vectors/)
  const access = store.vectorCaches.access(current(store))
  expect(access.detail).toStartWith('3000 vectors in memory, nearly: ')
  expect(store.vectorCaches.access(current(store), true).detail).toEndWith('scanned exactly')
  const near = await Promise.all(units.map(keysNear))
  const found = near.flatMap((keys, index) => keys.filter((key) => exact[index]?.includes(key)))
  expect(found.length / (10 * units.length)).toBeGreaterThan(0.9)
  await ask({ vectorIndex: null })
  expect(await Promise.all(units.map(keysNear))).toEqual(exact)
  expect(store.indexStates.states()[0]).toMatchObject({ type: 'auto', state: 'exact' })
})

test('lists follow what is written, and are trained when there are enough vectors', async () => {
  await put(documents(0, 20))
  await ask(IVF)
  const [few] = store.indexStates.states()
  expect(few).toMatchObject({ state: 'exact', vectorCount: 20 })
  expect(few?.detail).toContain('while there are fewer than 1000')
  await put(documents(20, 2000))
  await store.vectorCaches.settled()
  expect(store.indexStates.states()[0]).toMatchObject({ state: 'ready', vectorCount: 2020 })
  const [document] = documents(5000, 1)
  const [vector] = document?.vectors ?? []
  if (document === undefined || vector?.kind !== 'new') throw new Error('one was asked for')
  await put([document])
  const length = Math.hypot(...vector.vector)
  const query = vector.vector.map((part) => part / length)
  const [key] = await keysNear(query)
  expect(key).toBe(2021n)
  await store.chunks.removeChunks(current(store), [2021n])
  expect(await keysNear(query)).not.toContain(2021n)
})

test('lists survive restarts as long as their knowledge base has them', async () => {
  using folder = temporaryFolder()
  const reopen = async () => {
    await store.close()
    store = await openSearchableStore({ directory: folder.path, threadPoolSize: 6 })
    store.vectorCaches.start()
    await store.vectorCaches.settled()
  }
  const kept = () => readdir(join(folder.path, 'derived'))
  await reopen()
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  await put(documents(0, 3000))
  await ask(IVF)
  const [ready] = store.indexStates.states()
  expect([ready?.state, await kept()]).toEqual(['ready', ['lists-1-0.ivf']])
  const before = await Bun.file(join(folder.path, 'derived', 'lists-1-0.ivf')).bytes()
  await reopen()
  expect(store.indexStates.states()[0]).toEqual(ready)
  expect(await Bun.file(join(folder.path, 'derived', 'lists-1-0.ivf')).bytes()).toEqual(before)
  await ask({ vectorIndex: null })
  await reopen()
  expect(await kept()).toEqual([])
  await store.close()
  store = await openSearchableStore()
})

test('without its extension there is no graph, the reason is shown, and searches are exact', async () => {
  await put(documents(0, 1200))
  await ask({ vectorIndex: { type: 'hnsw', options: {} } })
  const [state] = store.indexStates.states()
  if (store.indexStates.possible().hnsw.possible) return
  expect(state).toMatchObject({ type: 'hnsw', state: 'unavailable' })
  expect(state?.detail).toContain('vss')
  expect(await keysNear(randomUnit(DIMENSIONS, seededRandom(9)))).toHaveLength(10)
})

test.each([
  [0, 'EIDER_VECTOR_MEMORY is 0'],
  [1_000_000, 'its vectors do not fit into the memory for vectors (EIDER_VECTOR_MEMORY)'],
])(
  'with %d bytes for vectors what is asked for is unavailable, and says why',
  async (bytesMax, why) => {
    await store.close()
    store = await openSearchableStore({ threadPoolSize: 6, bytesMax })
    await store.catalog.createKnowledgeBase(draftOf('kb'))
    await put(documents(0, 1200))
    await ask(IVF)
    expect(store.indexStates.states()).toMatchObject([
      { type: 'ivf', state: 'unavailable', detail: `${why}; all vectors are compared` },
    ])
    await ask({ vectorIndex: { type: 'exact', options: {} } })
    expect(store.indexStates.states()).toMatchObject([{ type: 'exact', state: 'exact' }])
  },
)

test('an index that is dropped while it is built leaves nothing behind', async () => {
  await put(documents(0, 2500))
  await store.vectorCaches.settled()
  const kb = current(store)
  await store.catalog.alterKnowledgeBase(kb, IVF)
  await store.catalog.alterKnowledgeBase(kb, { vectorIndex: null })
  await store.catalog.alterKnowledgeBase(kb, IVF)
  await store.catalog.alterKnowledgeBase(kb, { vectorIndex: { type: 'exact', options: {} } })
  await store.vectorCaches.settled()
  expect(store.indexStates.states()[0]).toMatchObject({ type: 'exact', state: 'exact' })
  expect(await keysNear(randomUnit(DIMENSIONS, seededRandom(9)))).toHaveLength(10)
})

test('an index is recommended if its lists would read little and find almost everything', async () => {
  // One training in 35 finds a little too little.
  spyOn(Math, 'random').mockImplementation(seededRandom(1))
  await store.close()
  store = await openSearchableStore({ threadPoolSize: 6, advisedMin: 3000 })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  await put(documents(0, 2500, 400))
  await store.vectorCaches.settled()
  const detail = () => store.indexStates.states()[0]?.detail
  expect(detail()).not.toContain('CREATE INDEX')
  await put(documents(2500, 7500, 400))
  // The first question starts the measurement.
  expect(detail()).not.toContain('CREATE INDEX')
  await store.vectorCaches.settled()
  expect(detail()).toMatch(
    /; an IVF index would read \d\.\d % of them at recall@10 (0\.99\d|1\.000): CREATE INDEX ON KNOWLEDGE_BASE mindsdb\.kb WITH \(type = 'ivf'\)$/,
  )
  expect(store.vectorCaches.access(current(store)).detail).toContain('scanned exactly; an IVF')
  await ask({ vectorIndex: { type: 'exact', options: {} } })
  expect(detail()).not.toContain('CREATE INDEX')
  await ask(IVF)
  expect(detail()).toContain('lists are read')
})
