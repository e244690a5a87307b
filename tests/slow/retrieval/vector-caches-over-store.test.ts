import { afterEach, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'
import { chunkTables } from '../../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../../src/core/domain/knowledge-base.ts'
import type { PrefilterSql } from '../../../src/core/domain/ports/engine-ports.ts'
import type { NearestFound } from '../../../src/core/domain/ports/search-ports.ts'
import { databaseDistance } from '../../../src/retrieval/vectors/quantized-rows.ts'
import { randomUnit, seededRandom } from '../../retrieval/sample-vectors.ts'
import { openSearchableStore, type SearchableStore } from '../../support/searchable-store.ts'
import {
  current,
  documentOf,
  draftOf,
  newVector,
  rowsOf,
  type TestDocument,
  temporaryFolder,
} from '../../support/store-fixture.ts'

const DIMENSIONS = 8
const LIMITS = { timeoutMs: 10_000 }
const { signal } = new AbortController()

let store: SearchableStore

async function open(options: { bytesMax?: number; wholeVectorsMax?: number } = {}) {
  store = await openSearchableStore({ threadPoolSize: 6, ...options })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
}

afterEach(() => store.close())

function documents(from: number, count: number, random: () => number): readonly TestDocument[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `d${from + index}`,
    texts: [`text ${from + index}`],
    metadata: { part: (from + index) % 100 },
    vectors: [newVector(...randomUnit(DIMENSIONS, random))],
  }))
}

function put(some: readonly TestDocument[]) {
  return store.chunks.replaceDocuments(current(store), some.map(documentOf))
}

function nearest(queryVector: Float32Array, count = 10, prefilter: PrefilterSql | null = null) {
  const knowledgeBase = current(store)
  const search = { knowledgeBase, queryVector, count, prefilter, limits: LIMITS }
  return store.vectorCaches.nearest(search, signal)
}

function keptBy(kb: KnowledgeBase, condition: string): PrefilterSql {
  return {
    sql: `SELECT chunk_key AS __chunk_key FROM ${chunkTables(kb).chunks} WHERE ${condition}`,
    values: {},
    isCacheable: true,
    condition: null,
  }
}

/** Returns keys and distances as DuckDB measures them, the nearest first. */
async function scanned(queryVector: Float32Array, condition = 'true') {
  const { chunks, vectors } = chunkTables(current(store))
  const product = `array_negative_inner_product(vector, $q::FLOAT[${DIMENSIONS}])`
  const sql = `SELECT chunk_key, least(2, greatest(0, 1 + ${product}))::DOUBLE AS distance
    FROM ${vectors} JOIN ${chunks} USING (chunk_key) WHERE ${condition} ORDER BY distance, chunk_key`
  const rows = await rowsOf(store, sql, { q: queryVector })
  return rows.map(([key, distance]) => ({ key: BigInt(String(key)), distance: Number(distance) }))
}

function sorted(found: NearestFound | null, count: number) {
  return (found?.neighbours ?? [])
    .toSorted((a, b) => a.distance - b.distance || Number(a.key - b.key))
    .slice(0, count)
}

test.each([['whole vectors', 1_000_000] as const, ['codes', 0] as const])(
  'with %s in memory the nearest are those of a scan, to the last bit, after any writes',
  async (_, wholeVectorsMax) => {
    await open({ wholeVectorsMax })
    const random = seededRandom(1)
    await put(documents(0, 300, random))
    await store.vectorCaches.settled()
    for (let round = 0; round < 12; round += 1) {
      await put(documents(Math.floor(random() * 300), 20, random))
      const removed = (await scanned(randomUnit(DIMENSIONS, random))).slice(0, 5)
      await store.chunks.removeChunks(
        current(store),
        removed.map(({ key }) => key),
      )
      const query = randomUnit(DIMENSIONS, random)
      const found = await nearest(query)
      expect(found?.isCurrent()).toBe(true)
      expect(sorted(found, 10)).toEqual((await scanned(query)).slice(0, 10))
    }
  },
)

test.each(['part = 7', 'part < 50', 'part >= 0', 'part < 0'])(
  'the nearest among those with %s are those of a scan',
  async (condition) => {
    await open()
    const random = seededRandom(2)
    await put(documents(0, 1000, random))
    await store.vectorCaches.settled()
    const prefilter = keptBy(current(store), condition.replace('part', 'm1'))
    for (let round = 0; round < 4; round += 1) {
      const query = randomUnit(DIMENSIONS, random)
      const exact = await scanned(query, condition.replace('part', 'm1'))
      expect(sorted(await nearest(query, 10, prefilter), 10)).toEqual(exact.slice(0, 10))
    }
  },
)

test('a condition that most chunks meet, but none of the nearest', async () => {
  await open()
  const random = seededRandom(3)
  const near = Array.from({ length: 5000 }, (_, index) => ({
    id: `near${index}`,
    texts: ['near'],
    metadata: { part: 0 },
    vectors: [newVector(1, random() / 100, ...Array<number>(DIMENSIONS - 2).fill(0))],
  }))
  await put(near)
  const far = documents(0, 25_000, random).map((one) => ({ ...one, metadata: { part: 1 } }))
  for (let from = 0; from < far.length; from += 5000) await put(far.slice(from, from + 5000))
  await store.vectorCaches.settled()
  const query = Float32Array.from([1, ...Array<number>(DIMENSIONS - 1).fill(0)])
  const prefilter = keptBy(current(store), 'm1 = 1')
  const exact = (await scanned(query, 'm1 = 1')).slice(0, 10)
  for (let round = 0; round < 2; round += 1) {
    expect(sorted(await nearest(query, 10, prefilter), 10)).toEqual(exact)
  }
})

test('a condition that is asked again sees what was written in between', async () => {
  await open()
  const random = seededRandom(12)
  await put(documents(0, 500, random))
  await store.vectorCaches.settled()
  const query = randomUnit(DIMENSIONS, random)
  for (let round = 0; round < 4; round += 1) {
    const prefilter = keptBy(current(store), 'm1 = 7')
    const exact = await scanned(query, 'm1 = 7')
    for (let again = 0; again < 2; again += 1) {
      expect(sorted(await nearest(query, 50, prefilter), 50)).toEqual(exact)
    }
    await put(documents(7 + 100 * round, 1, random))
    await put(documents(1007 + 100 * round, 1, random))
  }
})

test('equally near chunks are all candidates', async () => {
  await open()
  const same = Array.from({ length: 40 }, (_, index) => ({
    id: `d${index}`,
    texts: ['same'],
    vectors: [newVector(3, 4)],
  }))
  await put(same)
  await store.vectorCaches.settled()
  expect((await nearest(Float32Array.from([0.6, 0.8]), 5))?.neighbours).toHaveLength(40)
})

test('what was acknowledged is found, and what is gone is not, while others search', async () => {
  await open()
  const random = seededRandom(4)
  await put(documents(0, 200, random))
  await store.vectorCaches.settled()
  let isWriting = true
  let answered = 0
  const searcher = async () => {
    while (isWriting) {
      const found = await nearest(randomUnit(DIMENSIONS, random))
      if (found !== null) answered += 1
      // A search of few vectors never leaves the thread.
      await setImmediate()
    }
  }
  const searchers = [searcher(), searcher()]
  for (let round = 0; round < 15; round += 1) {
    const [document] = documents(1000 + round, 1, random)
    if (document === undefined) throw new Error('one was asked for')
    await put([document])
    const [vector] = document.vectors ?? []
    if (vector?.kind !== 'new') throw new Error('a new vector was asked for')
    const [first] = sorted(await nearest(vector.vector, 1), 1)
    expect(first?.distance).toBeLessThan(1e-6)
    await store.chunks.removeChunks(current(store), [first?.key ?? 0n])
    const [next] = sorted(await nearest(vector.vector, 1), 1)
    expect(next?.key).not.toBe(first?.key)
  }
  isWriting = false
  await Promise.all(searchers)
  expect(answered).toBeGreaterThan(0)
})

test('searches side by side find the vectors that one another fetch and forget', async () => {
  await open({ wholeVectorsMax: 0 })
  const random = seededRandom(13)
  for (let from = 0; from < 9000; from += 3000) await put(documents(from, 3000, random))
  await store.vectorCaches.settled()
  for (let round = 0; round < 3; round += 1) {
    const queries = Array.from({ length: 12 }, () => randomUnit(DIMENSIONS, random))
    const found = await Promise.all(queries.map((query) => nearest(query, 1000)))
    expect(found.map((one) => (one?.neighbours.length ?? 0) >= 1000)).not.toContain(false)
  }
})

test('what was found before a write is not current any more', async () => {
  await open()
  const random = seededRandom(5)
  await put(documents(0, 20, random))
  await store.vectorCaches.settled()
  const found = await nearest(randomUnit(DIMENSIONS, random))
  expect(found?.isCurrent()).toBe(true)
  await put(documents(5, 1, random))
  expect(found?.isCurrent()).toBe(false)
})

test('writes while the vectors are loaded are in the copy', async () => {
  await open()
  const random = seededRandom(6)
  await put(documents(0, 3000, random))
  store.vectorCaches.forget(current(store).id)
  store.vectorCaches.start()
  await Promise.all([put(documents(3000, 50, random)), put(documents(10, 50, random))])
  await store.vectorCaches.settled()
  const query = randomUnit(DIMENSIONS, random)
  expect(sorted(await nearest(query), 10)).toEqual((await scanned(query)).slice(0, 10))
  expect(store.vectorCaches.access(current(store))).toEqual({
    kind: 'memory',
    detail: '3050 vectors in memory, scanned exactly',
  })
})

test('a write that fails leaves the copy as it was', async () => {
  await open()
  const random = seededRandom(7)
  await put(documents(0, 50, random))
  await store.vectorCaches.settled()
  const wrong = { id: 'd1', texts: ['x'], vectors: [newVector(1, 2, 3)] }
  await expect(put([wrong])).rejects.toThrow('Dimensions do not match')
  const query = randomUnit(DIMENSIONS, random)
  expect(sorted(await nearest(query), 10)).toEqual((await scanned(query)).slice(0, 10))
})

test('without memory for vectors, or with too little, the database scans and says why', async () => {
  await open({ bytesMax: 0 })
  const random = seededRandom(8)
  await put(documents(0, 50, random))
  await store.vectorCaches.settled()
  expect(await nearest(randomUnit(DIMENSIONS, random))).toBeNull()
  expect(store.vectorCaches.access(current(store)).detail).toBe('EIDER_VECTOR_MEMORY is 0')
  await store.close()
  await open({ bytesMax: 1_000_000 })
  await put(documents(0, 50, random))
  await store.vectorCaches.settled()
  expect(await nearest(randomUnit(DIMENSIONS, random))).toBeNull()
  expect(store.vectorCaches.access(current(store)).detail).toContain('do not fit')
})

test('a dropped knowledge base gives its memory to one that found none', async () => {
  await open({ bytesMax: 17 * 1024 ** 2 })
  const random = seededRandom(9)
  await put(documents(0, 40_000, random).slice(0, 2000))
  await store.vectorCaches.settled()
  expect(store.vectorCaches.access(current(store)).kind).toBe('memory')
  const kb = current(store)
  await store.catalog.dropKnowledgeBase(kb)
  expect(store.vectorCaches.access(kb)).toEqual({
    kind: 'scan',
    detail: 'its vectors are not in memory yet',
  })
  const search = { knowledgeBase: kb, queryVector: randomUnit(DIMENSIONS, random), count: 1 }
  const found = await store.vectorCaches.nearest(
    { ...search, prefilter: null, limits: LIMITS },
    signal,
  )
  expect(found).toBeNull()
})

test('the vectors of another model take the place of those that did not fit', async () => {
  await open({ bytesMax: 17 * 1024 ** 2 })
  const long = newVector(...randomUnit(4096, seededRandom(11)))
  const some = Array.from({ length: 1500 }, (_, index) => `text ${index}`)
  await put([{ id: 'long', texts: some, vectors: some.map(() => long) }])
  await store.vectorCaches.settled()
  const before = current(store)
  expect(store.vectorCaches.access(before).detail).toContain('do not fit')
  const model = { ...before.embeddingModel, modelName: 'short' }
  await store.catalog.alterKnowledgeBase(before, { reembedding: { model, dimensions: 2 } })
  const { chunks } = await store.reembeddingStore.missing(before, {
    afterKey: 0n,
    limit: some.length,
  })
  const vectors = chunks.map(({ chunkKey }, index) => {
    const angle = index / some.length
    return { chunkKey, vector: Float32Array.of(Math.cos(angle), Math.sin(angle)) }
  })
  expect(await store.reembeddingStore.append(current(store), vectors)).toBe(true)
  expect(await store.reembeddingStore.switchOver(before)).toEqual({ kind: 'switched' })
  await store.vectorCaches.settled()
  expect(store.vectorCaches.access(current(store)).kind).toBe('memory')
  const found = await nearest(Float32Array.of(1, 0), 2)
  expect(found?.neighbours.map(({ key }) => key)).toEqual(chunks.slice(0, 2).map((c) => c.chunkKey))
  const search = { knowledgeBase: before, queryVector: Float32Array.of(1, 0), count: 1 }
  const ofOld = store.vectorCaches.nearest({ ...search, prefilter: null, limits: LIMITS }, signal)
  expect(await ofOld).toBeNull()
})

test('after a restart the vectors are loaded', async () => {
  using folder = temporaryFolder()
  const random = seededRandom(10)
  store = await openSearchableStore({ directory: folder.path })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  await put(documents(0, 100, random))
  await store.close()
  store = await openSearchableStore({ directory: folder.path })
  const query = randomUnit(DIMENSIONS, random)
  expect(store.vectorCaches.access(current(store)).kind).toBe('scan')
  expect(sorted(await nearest(query), 10)).toEqual((await scanned(query)).slice(0, 10))
  expect(store.vectorCaches.access(current(store)).kind).toBe('memory')
  await store.close()
})

test('distances are those of DuckDB to the last bit', async () => {
  await open()
  const random = seededRandom(11)
  for (const dimensions of [1, 3, 16, 384, 1025]) {
    const one = randomUnit(dimensions, random)
    const other = randomUnit(dimensions, random)
    const type = `FLOAT[${dimensions}]`
    const product = `array_negative_inner_product($one::${type}, $other::${type})`
    const sql = `SELECT least(2, greatest(0, 1 + ${product}))::DOUBLE`
    const [[expected] = []] = await rowsOf(store, sql, { one, other })
    expect(databaseDistance(one, other)).toBe(Number(expected))
  }
})
