import { afterEach, beforeEach, expect, test } from 'bun:test'
import { BM25, type KeywordSearch } from '../../src/core/domain/hybrid-search.ts'
import type { PrefilterSql } from '../../src/core/domain/ports/engine-ports.ts'
import { openRetrieval } from '../../src/retrieval/open-retrieval.ts'
import type { VectorCaches } from '../../src/retrieval/vector-caches.ts'
import { databaseDistance } from '../../src/retrieval/vectors/quantized-rows.ts'
import { type FakeChunk, FakeStore, termsOf } from './fake-store.ts'
import { randomUnit, seededRandom } from './sample-vectors.ts'

const { signal } = new AbortController()
const QUERY_VECTOR = Float32Array.from([1, 0, 0])
const WORDS = ['a', 'be', 'tea', 'leaf', 'green']

let store: FakeStore
let caches: VectorCaches
let random: () => number

beforeEach(() => {
  store = new FakeStore(3)
  random = seededRandom(3)
  caches = openRetrieval(store, {
    bytesMax: 64 * 1024 ** 2,
    wholeVectorsMax: 1_000,
    rowBytesMax: 0,
  }).vectorCaches
})

afterEach(() => caches.close())

function chunk(text: string): FakeChunk {
  return { vector: randomUnit(3, random), text }
}

function some(count: number): readonly FakeChunk[] {
  return Array.from({ length: count }, () => {
    const length = 1 + Math.floor(random() * 6)
    return chunk(Array.from({ length }, () => WORDS[Math.floor(random() * 5)]).join(' '))
  })
}

interface Search extends Partial<Pick<KeywordSearch, 'phrases' | 'count' | 'enoughCount'>> {
  readonly text: string
  readonly prefilter?: PrefilterSql | null
}

function found({ text, phrases = null, count = 5, enoughCount = null, prefilter = null }: Search) {
  const { knowledgeBase } = store
  const all = termsOf(text)
  const keys = [...new Set(all)]
  const counts = keys.map((key) => all.filter((other) => other === key).length)
  const keywordSearch = {
    terms: { keys, counts },
    phrases,
    count,
    enoughCount,
    fusion: 'convex' as const,
  }
  const search = { knowledgeBase, queryVector: QUERY_VECTOR, count: 10, prefilter, keywordSearch }
  return caches.nearest({ ...search, limits: { timeoutMs: 1_000 } }, signal)
}

async function best(search: Search) {
  return (await found(search))?.keywordHits?.best.map(({ key, score }) => [key, score.toFixed(6)])
}

/**
 * Computes BM25 by its formula for all chunks. Returns the best ones and all that have the same
 * score as the last.
 */
function scored({ text, count = 5 }: Search, isAllowed = (_: bigint, __: FakeChunk) => true) {
  const chunks = [...store.chunks].map(([key, one]) => ({ key, one, terms: termsOf(one.text) }))
  const mean = chunks.reduce((sum, { terms }) => sum + terms.length, 0) / chunks.length
  const wanted = termsOf(text).map((term) => {
    const having = chunks.filter(({ terms }) => terms.includes(term)).length
    return { term, rarity: Math.log(1 + (chunks.length - having + 0.5) / (having + 0.5)) }
  })
  const scores = chunks.flatMap(({ key, one, terms }) => {
    let score = 0
    for (const { term, rarity } of wanted) {
      const frequency = terms.filter((other) => other === term).length
      const share = 1 - BM25.b + (BM25.b * terms.length) / mean
      score += (rarity * frequency * (BM25.k1 + 1)) / (frequency + BM25.k1 * share)
    }
    return score > 0 && isAllowed(key, one) ? [{ key, score: score.toFixed(6) }] : []
  })
  scores.sort((a, b) => Number(b.score) - Number(a.score) || Number(a.key - b.key))
  const least = Number(scores[count - 1]?.score ?? 0)
  return scores.filter(({ score }) => Number(score) >= least).map(({ key, score }) => [key, score])
}

test('the best chunks are those of BM25 by its formula, after any writes in between', async () => {
  store.write({ put: some(200) })
  await caches.settled()
  for (let round = 0; round < 6; round += 1) {
    for (const text of ['tea', 'green leaf', 'tea be tea leaf green tea']) {
      expect(await best({ text })).toEqual(scored({ text }))
    }
    store.write({ put: some(10), remove: [BigInt(3 * round + 1), BigInt(3 * round + 150)] })
  }
})

test('after a write only new postings are read', async () => {
  store.write({ put: some(100) })
  await caches.settled()
  await best({ text: 'tea' })
  expect(store.wantedSince).toEqual([0n])
  await best({ text: 'tea' })
  expect(store.selects).toEqual(['postings'])
  store.write({ put: [chunk('green tea')], remove: [5n] })
  expect(await best({ text: 'tea' })).toEqual(scored({ text: 'tea' }))
  expect(store.wantedSince).toEqual([101n])
  expect(store.selects).toEqual(['postings', 'postings'])
})

test('where all of a text is quoted, only what holds it is a hit; else it scores more', async () => {
  store.write({ put: [chunk('green tea'), chunk('tea green'), chunk('green tea be'), chunk('be')] })
  await caches.settled()
  const text = 'green tea'
  const phrases = { keys: [1n, 3n], bonuses: [0, 0], bound: 1 }
  const all = scored({ text })
  const holding = scored({ text }, (_, one) => one.text.includes(text))
  expect(await best({ text, phrases: { ...phrases, isFilter: true } })).toEqual(holding)
  expect(await best({ text, phrases: { ...phrases, isFilter: false } })).toEqual(all)
  const more = { ...phrases, bonuses: [3, 1], isFilter: false }
  const hits = (await found({ text, phrases: more }))?.keywordHits
  const [first] = hits?.best ?? []
  expect(first?.key).toBe(1n)
  expect(first?.score).toBeCloseTo(3 + Number(all.find(([key]) => key === 1n)?.[1]), 5)
})

test('few keys of a prefilter are listed, and only they are scored', async () => {
  store.conditions.set('third', (key) => key % 3n === 0n)
  store.write({ put: some(150) })
  await caches.settled()
  const prefilter = store.prefilter('third')
  for (const text of ['tea', 'green leaf']) {
    expect(await best({ text, prefilter })).toEqual(scored({ text }, (key) => key % 3n === 0n))
  }
  expect(store.selects.filter((one) => one === 'listed keys')).toHaveLength(1)
})

test('a prefilter that keeps most chunks is checked for the best alone', async () => {
  const condition = (key: bigint) => key % 7n !== 0n
  store.conditions.set('most', condition)
  store.write({ put: Array.from({ length: 24_000 }, () => chunk('be')) })
  store.write({ put: some(200) })
  await caches.settled()
  const search = { text: 'tea green', prefilter: store.prefilter('most'), count: 2 }
  expect(await best(search)).toEqual(scored(search, condition))
  expect(store.selects).toContain('checked keys')
  // Too many chunks have the same score for an answer from memory.
  expect(await found({ ...search, text: 'be' })).toBeNull()
})

test('the nearest are not looked for where words are enough', async () => {
  store.write({ put: [chunk('green tea'), chunk('tea'), chunk('be')] })
  await caches.settled()
  const neighbours = async (enoughCount: number | null) => {
    return (await found({ text: 'tea', enoughCount }))?.neighbours.length
  }
  expect(await neighbours(2)).toBe(0)
  expect(await neighbours(3)).toBe(3)
  expect(await neighbours(null)).toBe(3)
})

test('a chunk found by its words alone has its exact distance; one that is gone is left out', async () => {
  store.write({ put: [chunk('green tea'), chunk('be')] })
  await caches.settled()
  const hits = (await found({ text: 'be' }))?.keywordHits
  const vector = store.chunks.get(2n)?.vector ?? new Float32Array(3)
  expect(await hits?.distancesOf([2n, 99n], signal)).toEqual([
    { key: 2n, distance: databaseDistance(vector, QUERY_VECTOR) },
  ])
})
