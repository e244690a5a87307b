import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { NearestChunks } from '../../src/core/domain/ports/search-ports.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { openSearchableStore, type SearchableStore } from '../support/searchable-store.ts'
import { current, documentOf, draftOf, newVector } from '../support/store-fixture.ts'
import { NOTHING_NEAR, openSqlFixture, type SqlFixture } from './sql-fixture.ts'

const SQL = `SELECT id, chunk_content, relevance, distance FROM kb
  WHERE content = 'green tea 12' AND hybrid_search_alpha = 0.4 LIMIT 3`

let fixture: SqlFixture
let store: SearchableStore

beforeEach(async () => {
  fixture = await openSqlFixture()
  store = await openSearchableStore()
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const documents = Array.from({ length: 30 }, (_, index) => {
    const texts = [`${index % 2 === 0 ? 'green' : 'black'} tea ${index}`]
    return documentOf({ id: `d${index}`, texts, vectors: [newVector(index, 10, 0)] })
  })
  await store.chunks.replaceDocuments(current(store), documents)
})

afterEach(async () => {
  await fixture.close()
  await store.close()
})

async function rowsOf(nearest: NearestChunks, sql = SQL) {
  const { catalog, engine, chunks, rowCaches: rows, commits } = store
  const deps = { ...fixture.deps, catalog, engine, chunks, nearest, rows, commits }
  const request = { sql, db: 'mindsdb', params: {} }
  const result = await runQuery(request, deps, new AbortController().signal)
  if (result.kind !== 'table') throw new Error('a table was asked for')
  const found: (readonly unknown[])[] = []
  for await (const batch of result.rows.batches) found.push(...batch)
  return found
}

/** Runs a callback each time chunks were found, before their statement runs. */
function then(work: (times: number) => Promise<unknown>) {
  let times = 0
  const nearest: NearestChunks = {
    nearest: async (search, signal) => {
      const found = await store.vectorCaches.nearest(search, signal)
      times += 1
      await work(times)
      return found
    },
    access: (kb) => store.vectorCaches.access(kb),
  }
  return { nearest, times: () => times }
}

function put(id: string, text: string) {
  const document = documentOf({ id, texts: [text], vectors: [newVector(12, 10, 0)] })
  return store.chunks.replaceDocuments(current(store), [document])
}

test('a write between finding candidates and reading rows is noticed', async () => {
  const once = then(async (times) => {
    if (times === 1) await put('new', 'green tea 12 12')
  })
  const rows = await rowsOf(once.nearest)
  expect(rows[0]?.[0]).toBe('new')
  expect(once.times()).toBe(2)
  expect(rows).toEqual(await rowsOf(NOTHING_NEAR))
})

test('a write between the first five and the search by the moved vector is noticed', async () => {
  let times = 0
  const nearest: NearestChunks = {
    nearest: async (search, signal) => {
      const found = await store.vectorCaches.nearest(search, signal)
      times += 1
      if (times > 1 || found?.feedback === undefined) return found
      const { feedback } = found
      const vectorsOf: typeof feedback.vectorsOf = async (keys, stop) => {
        await store.chunks.removeChunks(current(store), keys.slice(1))
        await put('new', 'green tea 12 12')
        return feedback.vectorsOf(keys, stop)
      }
      return { ...found, feedback: { ...feedback, vectorsOf } }
    },
    access: (kb) => store.vectorCaches.access(kb),
  }
  const rows = await rowsOf(nearest)
  expect(rows[0]?.[0]).toBe('new')
  expect(times).toBe(2)
  expect(rows).toEqual(await rowsOf(NOTHING_NEAR))
})

test('if a write overtakes every attempt, the database searches', async () => {
  const always = then((times) => put(`new${times}`, `green tea tea ${times}`))
  const rows = await rowsOf(always.nearest)
  expect(always.times()).toBe(6)
  expect(rows).toEqual(await rowsOf(NOTHING_NEAR))
})

test('a chunk that is removed or gets another text is not found by its old one', async () => {
  const sql = SQL.replace('LIMIT 3', 'LIMIT 40')
  const before = await rowsOf(store.vectorCaches, sql)
  expect(before).toHaveLength(30)
  await put('d12', 'coffee')
  await store.chunks.removeChunks(current(store), [1n, 3n])
  const rows = await rowsOf(store.vectorCaches, sql)
  expect(rows).toHaveLength(28)
  expect(rows).toEqual(await rowsOf(NOTHING_NEAR, sql))
})

test('a search without keyword hits does not use the keyword index', async () => {
  const withoutWords: NearestChunks = {
    nearest: async ({ keywordSearch: _, ...search }, signal) => {
      return store.vectorCaches.nearest(search, signal)
    },
    access: (kb) => store.vectorCaches.access(kb),
  }
  expect(await rowsOf(withoutWords)).toEqual(await rowsOf(NOTHING_NEAR))
})

test('words that are in too many chunks are left to the database', async () => {
  await put('long', 'green '.repeat(70_000))
  const { times, nearest } = then(async () => {})
  expect(await rowsOf(nearest)).toEqual(await rowsOf(NOTHING_NEAR))
  expect(times()).toBe(1)
})

test('the rows are the same if memory holds only codes of vectors', async () => {
  await store.close()
  store = await openSearchableStore({ wholeVectorsMax: 0 })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const documents = Array.from({ length: 150 }, (_, index) => {
    const texts = [`${index < 20 ? 'green' : 'black'} tea ${index}`]
    return documentOf({ id: `d${index}`, texts, vectors: [newVector(index, 10, 0)] })
  })
  await store.chunks.replaceDocuments(current(store), documents)
  const sql = SQL.replace('green tea 12', 'green tea 140')
  const { times, nearest } = then(async () => {})
  expect(await rowsOf(nearest, sql)).toEqual(await rowsOf(NOTHING_NEAR, sql))
  expect(times()).toBe(1)
})
