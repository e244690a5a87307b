import { afterEach, beforeEach, expect, test } from 'bun:test'
import fc from 'fast-check'
import { chunkTables } from '../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import { queryTerms } from '../../src/core/text/phrases.ts'
import { PostingLists } from '../../src/retrieval/keywords/posting-lists.ts'
import { databaseDistance } from '../../src/retrieval/vectors/quantized-rows.ts'
import { MIGRATIONS } from '../../src/store/catalog/migrate.ts'
import { openSearchableStore, type SearchableStore } from '../support/searchable-store.ts'
import {
  current,
  documentOf,
  draftOf,
  failureOf,
  newVector,
  rowsOf,
  type TestDocument,
  temporaryFolder,
} from '../support/store-fixture.ts'
import {
  type KeywordQuery,
  keywordSearchOf,
  LIMITS,
  QUERY_VECTOR,
  scoresFromMemory,
  scoresFromTables,
  searchMemory,
} from './keyword-search-fixture.ts'

const { signal } = new AbortController()

let store: SearchableStore
let kb: KnowledgeBase

beforeEach(async () => {
  store = await openSearchableStore({ threadPoolSize: 6 })
  kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
})

afterEach(() => store.close())

function now(): KnowledgeBase {
  return current(store, kb.name)
}

function base() {
  return { store, kb: now() }
}

function put(...documents: readonly TestDocument[]) {
  return store.chunks.replaceDocuments(now(), documents.map(documentOf))
}

const QUERIES: readonly KeywordQuery[] = [
  { text: 'tea' },
  { text: 'tea cup Teas green tea', count: 4 },
  { text: 'green tea cups', count: 3 },
  { text: 'black milk leaf', count: 1, where: 'chunk_key % 3 = 0' },
  {
    text: 'green tea',
    phrases: { keys: [1n, 3n, 4n], bonuses: [1, 2, 0.5], bound: 5, isFilter: true },
  },
  {
    text: 'tea leaf',
    phrases: { keys: [2n, 6n, 99n], bonuses: [0.25, 3, 1], bound: 9, isFilter: false },
    where: 'chunk_key % 2 = 0',
  },
  { text: 'unheard of' },
]

async function expectEqualScores(queries = QUERIES) {
  for (const query of queries)
    expect(await scoresFromMemory(base(), query)).toEqual(await scoresFromTables(base(), query))
}

type Step =
  | { readonly kind: 'put'; readonly documents: readonly TestDocument[] }
  | { readonly kind: 'remove'; readonly part: number }

const word = fc.constantFrom('tea', 'green', 'black', 'cups', 'cup', 'the', 'milk', 'of', 'leaf')
const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '))
const document = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
  texts: fc.array(text, { maxLength: 4 }),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('put' as const),
    documents: fc.uniqueArray(document, { selector: ({ id }) => id, maxLength: 5 }),
  }),
  fc.record({ kind: fc.constant('remove' as const), part: fc.integer({ min: 2, max: 5 }) }),
)

async function apply(one: Step) {
  if (one.kind === 'put') await put(...one.documents)
  if (one.kind !== 'remove') return
  const sql = `SELECT chunk_key::VARCHAR FROM ${chunkTables(kb).chunks} WHERE chunk_key % ${one.part} = 0`
  const keys = (await rowsOf(store, sql)).map(([key]) => BigInt(String(key)))
  await store.chunks.removeChunks(now(), keys)
}

test('the best keyword hits match the tables, after any writes', async () => {
  const twoQueries = fc.shuffledSubarray([...QUERIES], { minLength: 2, maxLength: 2 })
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, twoQueries), { minLength: 2, maxLength: 5 }),
      async (steps) => {
        run += 1
        kb = await store.catalog.createKnowledgeBase(draftOf(`kb ${run}`))
        await put({ id: 'first', texts: ['a cup of green tea', 'milk'] })
        for (const [one, queries] of steps) {
          await apply(one)
          await expectEqualScores(queries)
        }
      },
    ),
    { numRuns: 4 },
  )
})

test('sorted postings and recent ones make one list', async () => {
  using folder = temporaryFolder()
  const older = await openSearchableStore({ directory: folder.path })
  const ofOlder = await older.catalog.createKnowledgeBase(draftOf('kb'))
  await older.chunks.replaceDocuments(ofOlder, [documentOf(numbered('a', 40))])
  await older.close()
  await store.close()
  const { postings, recentPostings, termCounts } = chunkTables(ofOlder)
  // A keyword index created after the folder was opened is sorted.
  const sql = [postings, recentPostings, termCounts].map((one) => `DROP TABLE ${one};`).join('\n')
  const migrations = [...MIGRATIONS, { number: MIGRATIONS.length + 1, name: 'without', sql }]
  store = await openSearchableStore({ directory: folder.path, migrations })
  store.keywordLanguages.start()
  await store.keywordLanguages.settled()
  kb = current(store)
  await put(numbered('b', 30))
  const [row] = await rowsOf(
    store,
    `SELECT (SELECT count(*) FROM ${postings}) > 0, (SELECT count(*) FROM ${recentPostings}) > 0`,
  )
  expect(row).toEqual([true, true])
  await expectEqualScores()
})

function numbered(id: string, count: number): TestDocument {
  const words = ['tea', 'green', 'black', 'cup', 'milk', 'leaf']
  const texts = Array.from({ length: count }, (_, index) => {
    return Array.from({ length: 1 + (index % 5) }, (__, at) => words[(index * 5 + at) % 6]).join(
      ' ',
    )
  })
  return { id, texts }
}

test('a chunk found by its words alone has the distance that the database measures', async () => {
  const vectors = [newVector(1, 2, 2), newVector(-3, 4, 0)]
  await put({ id: 'a', texts: ['green tea', 'milk'], vectors })
  const hits = (await searchMemory(base(), { text: 'milk' }))?.keywordHits
  const [milk] = hits?.best ?? []
  const unit = Float32Array.from([-0.6, 0.8, 0])
  const keys = [milk?.key ?? -1n, 12_345n]
  expect(await hits?.distancesOf(keys, signal)).toEqual([
    { key: keys[0] ?? -1n, distance: databaseDistance(unit, QUERY_VECTOR) },
  ])
})

test('the nearest are not looked for where words are enough', async () => {
  await put({ id: 'a', texts: ['green tea', 'black tea', 'milk'] })
  const neighbours = async (text: string, enoughCount: number | null) => {
    const keywordSearch = { ...keywordSearchOf({ text }), enoughCount }
    const search = { knowledgeBase: now(), queryVector: QUERY_VECTOR, count: 10 }
    const limits = LIMITS
    const near = await store.vectorCaches.nearest(
      { ...search, prefilter: null, limits, keywordSearch },
      signal,
    )
    return near?.neighbours.length
  }
  expect(await neighbours('tea', 2)).toBe(0)
  expect(await neighbours('tea', 3)).toBe(3)
  expect(await neighbours('tea', null)).toBe(3)
})

test('a list that has no room for a number is left to the database', async () => {
  await put({ id: 'a', texts: ['tea '.repeat(70_000), 'milk tea'] })
  expect(await searchMemory(base(), { text: 'tea' })).toBeNull()
  await expectEqualScores([{ text: 'milk' }])
})

test('lists beyond the limits are dropped, oldest first, or not built', async () => {
  await put(numbered('a', 600))
  const termLists = ['tea', 'green', 'black'].map((word) => queryTerms(word, 'english').keys)
  const request = (terms: readonly bigint[]) => {
    const { revision } = now()
    return { ids: kb, terms, revision, limits: LIMITS, isCurrent: () => true }
  }
  const limits = { bytesMax: 6_000, postingsMax: 700 }
  const lists = new PostingLists(store.engine, limits)
  for (const terms of termLists) {
    const postings = await lists.postingsOf(request(terms), signal)
    expect(postings?.lists[0]?.keys.length).toBeGreaterThan(250)
    expect(postings?.corpus.chunkCount).toBe(600)
    expect(lists.bytes).toBeLessThanOrEqual(limits.bytesMax)
  }
  expect(lists.bytes).toBeGreaterThan(4_000)
  expect(await lists.postingsOf(request(termLists.flat()), signal)).toBeNull()
  expect(await lists.postingsOf(request(termLists.flat()), signal)).toBeNull()
})

test('concurrent identical searches read their lists once', async () => {
  await put(numbered('a', 600))
  let reads = 0
  const lists = new PostingLists({
    columns(...asked) {
      reads += 1
      return store.engine.columns(...asked)
    },
  })
  const { revision } = now()
  const { keys: terms } = queryTerms('green tea', 'english')
  const request = { ids: kb, terms, revision, limits: LIMITS, isCurrent: () => true }
  const found = await Promise.all(
    Array.from({ length: 20 }, () => lists.postingsOf(request, signal)),
  )
  for (const postings of found) expect(postings).toEqual(found[0] ?? null)
  expect(found[0]?.lists).toHaveLength(2)
  expect(reads).toBe(1)
})

test('a search that is aborted or times out leaves no partial list', async () => {
  await put(numbered('a', 50))
  const left = new AbortController()
  const search = { knowledgeBase: now(), queryVector: QUERY_VECTOR, count: 10, prefilter: null }
  const keywordSearch = keywordSearchOf({ text: 'tea green' })
  const leaving = store.vectorCaches.nearest(
    { ...search, limits: LIMITS, keywordSearch },
    left.signal,
  )
  left.abort(new Error('the client has left'))
  expect(await failureOf(leaving)).toEqual({ code: 'other', message: 'the client has left' })
  const late = store.vectorCaches.nearest(
    { ...search, limits: { timeoutMs: 0 }, keywordSearch },
    signal,
  )
  expect((await failureOf(late)).code).toBe('timeout')
  await expectEqualScores()
})
