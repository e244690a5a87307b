import { afterEach, beforeEach, expect, test } from 'bun:test'
import fc from 'fast-check'
import { chunkTables } from '../../src/domain/chunk-tables.ts'
import type { KnowledgeBase } from '../../src/domain/knowledge-base.ts'
import type { BoundSql, WordSearch } from '../../src/domain/ports.ts'
import { queryTermKeys } from '../../src/search/keyword/query-terms.ts'
import { keywordScoresSql } from '../../src/sql/keyword-scores.ts'
import { keywordsParameter, phrasesParameter } from '../../src/sql/ranking.ts'
import { databaseDistance } from '../../src/store/database-distance.ts'
import { MIGRATIONS } from '../../src/store/migrate.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { TermLists } from '../../src/store/term-lists.ts'
import {
  current,
  documentOf,
  draftOf,
  failureOf,
  newVector,
  openMemoryStore,
  rowsOf,
  type TestDocument,
  temporaryFolder,
} from './store-fixture.ts'

const LIMITS = { timeoutMs: 10_000 }
const QUERY_VECTOR = Float32Array.from([1, 0, 0])
const { signal } = new AbortController()

let store: Store
let kb: KnowledgeBase

beforeEach(async () => {
  store = await openMemoryStore()
  kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
})

afterEach(() => store.close())

function now(): KnowledgeBase {
  return current(store, kb.name)
}

function put(...documents: readonly TestDocument[]) {
  return store.chunks.replaceDocuments(now(), documents.map(documentOf))
}

interface Asked {
  readonly text: string
  readonly phrases?: readonly string[]
  readonly count?: number
  /** A condition over the chunks. */
  readonly where?: string
}

function wordsOf({ text, phrases = [], count = 100 }: Asked): WordSearch {
  return { terms: queryTermKeys(text, 'english'), phrases, count, enoughCount: null }
}

function keptBy(where: string | undefined): BoundSql | null {
  if (where === undefined) return null
  const { chunks } = chunkTables(kb)
  return { sql: `SELECT chunk_key AS __chunk_key FROM ${chunks} WHERE ${where}`, values: {} }
}

async function found(asked: Asked) {
  const search = {
    knowledgeBase: now(),
    queryVector: QUERY_VECTOR,
    count: 10,
    kept: keptBy(asked.where),
    limits: LIMITS,
    words: wordsOf(asked),
  }
  return store.vectorIndexes.nearest(search, signal)
}

/** Keys and scores from memory, the best first. */
async function remembered(asked: Asked) {
  const words = (await found(asked))?.words
  return words?.best.map(({ key, score }) => [key, score.toFixed(8)])
}

/** The same from the statement that reads the tables. */
async function read({ text, phrases = [], count = 100, where = 'true' }: Asked) {
  const { chunks } = chunkTables(kb)
  const rows = await rowsOf(
    store,
    `SELECT chunk_key::VARCHAR, score FROM (${keywordScoresSql(kb, 0)})
      WHERE chunk_key IN (SELECT chunk_key FROM ${chunks} WHERE ${where})
      ORDER BY score DESC, chunk_key`,
    {
      [keywordsParameter(0)]: queryTermKeys(text, 'english'),
      [phrasesParameter(0)]: ['', ...phrases],
    },
  )
  const all = rows.map(([key, score]) => ({ key: BigInt(String(key)), score: Number(score) }))
  const least = all[count - 1]?.score ?? 0
  return all.filter(({ score }) => score >= least).map(({ key, score }) => [key, score.toFixed(8)])
}

const ASKED: readonly Asked[] = [
  { text: 'tea' },
  { text: 'green tea cups', count: 3 },
  { text: 'black milk leaf', count: 1, where: 'chunk_key % 3 = 0' },
  { text: 'green tea', phrases: ['Green Tea'] },
  { text: 'tea leaf', phrases: ['tea'], where: 'chunk_key % 2 = 0' },
  { text: 'unheard of' },
]

async function expectRead(all = ASKED) {
  for (const asked of all) expect(await remembered(asked)).toEqual(await read(asked))
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

async function take(one: Step) {
  if (one.kind === 'put') await put(...one.documents)
  if (one.kind !== 'remove') return
  const sql = `SELECT chunk_key::VARCHAR FROM ${chunkTables(kb).chunks} WHERE chunk_key % ${one.part} = 0`
  const keys = (await rowsOf(store, sql)).map(([key]) => BigInt(String(key)))
  await store.chunks.removeChunks(now(), keys)
}

test('the best by words are what the tables say, whatever was written in between', async () => {
  const two = fc.shuffledSubarray([...ASKED], { minLength: 2, maxLength: 2 })
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, two), { minLength: 2, maxLength: 5 }),
      async (steps) => {
        run += 1
        kb = await store.catalog.createKnowledgeBase(draftOf(`kb ${run}`))
        await put({ id: 'first', texts: ['a cup of green tea', 'milk'] })
        for (const [one, asked] of steps) {
          await take(one)
          await expectRead(asked)
        }
      },
    ),
    { numRuns: 5 },
  )
})

test('sorted postings and recent ones make one list', async () => {
  using folder = temporaryFolder()
  const older = await openStore({ directory: folder.path })
  const ofOlder = await older.catalog.createKnowledgeBase(draftOf('kb'))
  await older.chunks.replaceDocuments(ofOlder, [documentOf(numbered('a', 40))])
  await older.close()
  await store.close()
  const { postings, recentPostings, termCounts } = chunkTables(ofOlder)
  // A keyword index that is made when the folder is opened is sorted.
  const sql = [postings, recentPostings, termCounts].map((one) => `DROP TABLE ${one};`).join('\n')
  const migrations = [...MIGRATIONS, { number: MIGRATIONS.length + 1, name: 'without', sql }]
  store = await openStore({ directory: folder.path, migrations })
  kb = current(store)
  await put(numbered('b', 30))
  const [row] = await rowsOf(
    store,
    `SELECT (SELECT count(*) FROM ${postings}) > 0, (SELECT count(*) FROM ${recentPostings}) > 0`,
  )
  expect(row).toEqual([true, true])
  await expectRead()
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

test('conditions that keep most chunks are checked for the best alone', async () => {
  const count = 21_000
  const texts = Array.from({ length: count }, (_, index) => `tea ${'leaf '.repeat(index % 5)}`)
  const angle = (index: number) => (index / count) * 1.5
  const vectors = texts.map((_, index) => {
    return newVector(Math.cos(angle(index)), Math.sin(angle(index)), 0)
  })
  await put({ id: 'a', texts, vectors })
  await store.vectorIndexes.settled()
  const asked = { text: 'tea cup', count: 2, where: 'chunk_key % 50 != 0' }
  // Thousands are equally good.
  expect(await remembered(asked)).toBeUndefined()
  await put({ id: 'b', texts: ['tea cup', 'cup', 'cup and cup of tea'] })
  await expectRead([asked, { ...asked, count: 1, where: 'chunk_key != 21003' }])
})

test('a chunk found by its words alone has the distance that the database measures', async () => {
  const vectors = [newVector(1, 2, 2), newVector(-3, 4, 0)]
  await put({ id: 'a', texts: ['green tea', 'milk'], vectors })
  const words = (await found({ text: 'milk' }))?.words
  const [milk] = words?.best ?? []
  const unit = Float32Array.from([-0.6, 0.8, 0])
  const keys = [milk?.key ?? -1n, 12_345n]
  expect(await words?.measured(keys, signal)).toEqual([
    { key: keys[0] ?? -1n, distance: databaseDistance(unit, QUERY_VECTOR) },
  ])
})

test('the nearest are not looked for where words are enough', async () => {
  await put({ id: 'a', texts: ['green tea', 'black tea', 'milk'] })
  const neighbours = async (text: string, enoughCount: number | null) => {
    const words = { ...wordsOf({ text }), enoughCount }
    const search = { knowledgeBase: now(), queryVector: QUERY_VECTOR, count: 10 }
    const limits = LIMITS
    const near = await store.vectorIndexes.nearest({ ...search, kept: null, limits, words }, signal)
    return near?.neighbours.length
  }
  expect(await neighbours('tea', 2)).toBe(0)
  expect(await neighbours('tea', 3)).toBe(3)
  expect(await neighbours('tea', null)).toBe(3)
})

test('a list that has no room for a number is left to the database', async () => {
  await put({ id: 'a', texts: ['tea '.repeat(70_000), 'milk tea'] })
  expect(await found({ text: 'tea' })).toBeNull()
  expect(await remembered({ text: 'milk' })).toEqual(await read({ text: 'milk' }))
})

test('lists beyond the limits are let go, the oldest first, or not made', async () => {
  await put(numbered('a', 600))
  const terms = ['tea', 'green', 'black'].map((one) => queryTermKeys(one, 'english'))
  const asked = (of: readonly bigint[]) => {
    const { revision } = now()
    return { ids: kb, terms: of, revision, limits: LIMITS, isCurrent: () => true }
  }
  const limits = { bytesMax: 6_000, postingsMax: 700 }
  const lists = new TermLists(store.engine, limits)
  for (const of of terms) {
    const found = await lists.of(asked(of), signal)
    expect(found?.lists[0]?.keys.length).toBeGreaterThan(250)
    expect(found?.corpus.chunkCount).toBe(600)
    expect(lists.bytes).toBeLessThanOrEqual(limits.bytesMax)
  }
  expect(lists.bytes).toBeGreaterThan(4_000)
  expect(await lists.of(asked(terms.flat()), signal)).toBeNull()
  expect(await lists.of(asked(terms.flat()), signal)).toBeNull()
})

test('a search that is left, or out of time, leaves no half list', async () => {
  await put(numbered('a', 50))
  const left = new AbortController()
  const search = { knowledgeBase: now(), queryVector: QUERY_VECTOR, count: 10, kept: null }
  const words = wordsOf({ text: 'tea green' })
  const leaving = store.vectorIndexes.nearest({ ...search, limits: LIMITS, words }, left.signal)
  left.abort(new Error('the client has left'))
  expect(await failureOf(leaving)).toEqual({ code: 'other', message: 'the client has left' })
  const late = store.vectorIndexes.nearest({ ...search, limits: { timeoutMs: 0 }, words }, signal)
  expect((await failureOf(late)).code).toBe('timeout')
  await expectRead()
})
