import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ChunkVector } from '../../../src/core/domain/document.ts'
import type { NearestChunks } from '../../../src/core/domain/ports/search-ports.ts'
import { runQuery } from '../../../src/query/run/run-query.ts'
import { NOTHING_NEAR, openSqlFixture, type SqlFixture } from '../../sql/sql-fixture.ts'
import { isEverything } from '../../support/sample.ts'
import { openSearchableStore, type SearchableStore } from '../../support/searchable-store.ts'
import { current, documentOf, draftOf } from '../../support/store-fixture.ts'

const DIMENSIONS = 6
const RUNS = isEverything ? 40 : 20
const WORDS = ['tea', 'green', 'black', 'cup', 'milk', 'leaf', 'pot']

let fixture: SqlFixture
const stores: SearchableStore[] = []

beforeAll(async () => {
  fixture = await openSqlFixture()
  const whole = await openSearchableStore()
  // Memory contains codes of the vectors, which are read when they are needed.
  const codes = await openSearchableStore({ wholeVectorsMax: 0 })
  stores.push(whole, codes)
  for (const store of stores) await store.catalog.createKnowledgeBase(draftOf('kb'))
})

afterAll(async () => {
  await fixture.close()
  for (const store of stores) await store.close()
})

/** How many statements the database had to answer although memory was tried first. */
const left = { asked: 0, unanswered: 0 }

async function rowsOf(
  store: SearchableStore,
  sql: string,
  vector: readonly number[],
  isMeasured = false,
) {
  const { catalog, engine, chunks, vectorCaches, rowCaches: rows } = store
  const counted: NearestChunks = {
    nearest: async (search, signal) => {
      const found = await vectorCaches.nearest(search, signal)
      left.asked += 1
      if (found === null) left.unanswered += 1
      return found
    },
    access: (kb) => vectorCaches.access(kb),
  }
  const embedder = {
    embed: async (texts: readonly string[]) => texts.map(() => new Float32Array(vector)),
  }
  const embedders = { ...fixture.deps.embedders, embedder: () => embedder as never }
  const nearest = isMeasured ? NOTHING_NEAR : counted
  const deps = { ...fixture.deps, catalog, engine, chunks, nearest, rows, embedders }
  const result = await runQuery(
    { sql, db: 'mindsdb', params: {} },
    deps,
    new AbortController().signal,
  )
  if (result.kind !== 'table') throw new Error('a table was asked for')
  const found: (readonly unknown[])[] = []
  for await (const batch of result.rows.batches) found.push(...batch)
  return found
}

/** Few values, so that distances are sometimes equal, and many values. */
const part = fc.oneof(fc.constantFrom(-1, 0, 1), fc.double({ min: -1, max: 1, noNaN: true }))
const vector = fc
  .array(part, { minLength: DIMENSIONS, maxLength: DIMENSIONS })
  .filter((parts) => Math.hypot(...parts) > 0.1)

function unit(parts: readonly number[]): ChunkVector {
  const length = Math.hypot(...parts)
  return { kind: 'new', vector: Float32Array.from(parts, (value) => value / length) }
}

const document = fc.record({
  id: fc.integer({ min: 0, max: 400 }),
  words: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 5 }),
  vector,
})

const search = fc.record({
  text: fc.array(fc.constantFrom(...WORDS, 'unheard', '"green tea"'), {
    minLength: 1,
    maxLength: 3,
  }),
  vector,
  alpha: fc.constantFrom('', ' AND hybrid_search_alpha = 0.5', ' AND hybrid_search_alpha = 0.95'),
  condition: fc.constantFrom(
    '',
    ' AND price < 3',
    ' AND price = 7',
    ' AND relevance > 0.3',
    ' AND distance < 0.8',
    " AND content != 'milk'",
  ),
  limit: fc.constantFrom(1, 4, 10, 120, 300),
})

test('memory and the statement that measures all agree, through writes', async () => {
  let moved = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(document, { minLength: 1, maxLength: 60 }),
      fc.array(search, { minLength: 1, maxLength: 3 }),
      async (documents, searches) => {
        for (const store of stores) {
          const written = documents.map(({ id, words, vector: parts }) =>
            documentOf({
              id: `d${id}`,
              texts: [words.join(' ')],
              vectors: [unit(parts)],
              metadata: { price: id % 10 },
            }),
          )
          const once = [...new Map(written.map((one) => [one.document.id, one])).values()]
          if (once.length > 0) await store.chunks.replaceDocuments(current(store), once)
          for (const { text, alpha, condition, limit, vector: parts } of searches) {
            const select = `SELECT id, relevance, distance FROM kb
              WHERE content = '${text.join(' ')}'${alpha}${condition} AND hybrid_search_feedback = `
            const sql = `${select}true LIMIT ${limit}`
            const rows = await rowsOf(store, sql, parts)
            expect(rows).toEqual(await rowsOf(store, sql, parts, true))
            const more = await rowsOf(store, `${select}true LIMIT ${limit + 7}`, parts)
            expect(more.slice(0, limit)).toEqual([...rows])
            const plain = await rowsOf(store, `${select}false LIMIT ${limit}`, parts)
            if (JSON.stringify(plain) !== JSON.stringify(rows)) moved += 1
          }
        }
      },
    ),
    { numRuns: RUNS },
  )
  expect(moved).toBeGreaterThan(RUNS)
  expect(left.unanswered).toBeLessThan(left.asked / 4)
}, 120_000)

test('chunks that mean nothing come by their distance to the text, not to the moved vector', async () => {
  const [store] = stores
  if (store === undefined) throw new Error('a store must be open')
  await store.catalog.createKnowledgeBase(draftOf('far'))
  const documents = Array.from({ length: 400 }, (_, index) => {
    const turn = index * 0.7
    // The first twenty chunks are relevant and lie on one side of the query; the others lie behind
    // them.
    const parts =
      index < 20 ? [1, 1, 0.1, 0, 0, 0] : [-0.2, -2 + Math.cos(turn), Math.sin(turn), 0, 0, 0]
    const texts = [index < 20 ? `tea ${index}` : `leaf ${index}`]
    return documentOf({ id: `d${index}`, texts, vectors: [unit(parts)] })
  })
  const kb = store.catalog.snapshot().knowledgeBases.find(({ name }) => name === 'far')
  if (kb === undefined) throw new Error('the knowledge base must be there')
  await store.chunks.replaceDocuments(kb, documents)
  const query = [1, 0, 0.3, 0, 0, 0]
  for (const limit of [30, 100, 150]) {
    const sql = `SELECT id, relevance, distance FROM far
      WHERE content = 'tea' AND hybrid_search_feedback = true LIMIT ${limit}`
    const rows = await rowsOf(store, sql, query)
    expect(rows.at(-1)?.[1]).toBe(0)
    expect(rows).toEqual(await rowsOf(store, sql, query, true))
  }
})
