import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ModelRef } from '../../../src/core/domain/model-ref.ts'
import type { NearestChunks } from '../../../src/core/domain/ports/search-ports.ts'
import {
  alterKnowledgeBase,
  createKnowledgeBase,
} from '../../../src/query/definitions/define-knowledge-base.ts'
import { runQuery } from '../../../src/query/run/run-query.ts'
import { hybridValues } from '../../../src/query/select/bind-keywords.ts'
import type { QueryDeps } from '../../../src/query/select/query-deps.ts'
import { BOUND } from '../../../src/sql/search/plan-inputs.ts'
import { numberVector, openSqlFixture, type SqlFixture } from '../../sql/sql-fixture.ts'
import { plainScores } from '../../store/keyword-fixture.ts'
import { knowledgeBaseDraft } from '../../support/knowledge-base.ts'
import { sampleOf } from '../../support/sample.ts'
import { openSearchableStore, type SearchableStore } from '../../support/searchable-store.ts'
import { current, documentOf, failureOf } from '../../support/store-fixture.ts'

const WORDS = ['tea', 'green', 'black', 'cup', 'milk', 'leaf']

let fixture: SqlFixture
let store: SearchableStore

/** 400 chunks; half of them hold the word tea. Their vectors lie on a quarter circle, see `numberVector`. */
const documents = Array.from({ length: 400 }, (_, index) => {
  const number = (index * 37) % 400
  const words = Array.from({ length: 1 + (index % 7) }, (__, at) => WORDS[(index + at * 5) % 6])
  const text = `chunk ${number} ${index % 2 === 0 ? 'tea ' : ''}${words.join(' ')}`
  const vectors = [{ kind: 'new', vector: numberVector(text) }] as const
  return { id: `d${index}`, texts: [text], vectors, metadata: { price: index % 10 } }
})

beforeAll(async () => {
  fixture = await openSqlFixture()
  store = await openSearchableStore()
  const deps = { ...fixture.deps, catalog: store.catalog }
  await createKnowledgeBase('mindsdb', { name: 'kb' }, deps)
  await store.chunks.replaceDocuments(current(store), documents.map(documentOf))
})

afterAll(async () => {
  await fixture.close()
  await store.close()
})

function depsOf(): QueryDeps {
  const { catalog, engine, vectorCaches: nearest, rowCaches: rows, commits } = store
  return { ...fixture.deps, catalog, engine, nearest, rows, commits }
}

const nothingNear: NearestChunks = {
  nearest: async () => null,
  access: () => ({ kind: 'scan', detail: 'this is a test' }),
}

async function relevances(
  condition: string,
  { limit = 1000, deps = depsOf() } = {},
): Promise<readonly [string, number][]> {
  const sql = `SELECT chunk_content, relevance FROM kb WHERE ${condition} LIMIT ${limit}`
  const request = { sql, db: 'mindsdb', params: {} }
  const result = await runQuery(request, deps, new AbortController().signal)
  if (result.kind !== 'table') throw new Error('expected rows')
  const rows: [string, number][] = []
  for await (const batch of result.rows.batches) {
    for (const [text, relevance] of batch) rows.push([String(text), Number(relevance)])
  }
  return rows
}

function distanceTo(query: string) {
  const one = numberVector(query)
  return (text: string) => {
    const other = numberVector(text)
    const product = one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0)
    return 1 - product / (Math.hypot(...one) * Math.hypot(...other))
  }
}

/** Maps each value to a scale from that of the hundredth best (0) to that of the best (1). */
function scaled(values: readonly number[], least?: number): (value: number) => number {
  const best = values.toSorted((a, b) => b - a).slice(0, 100)
  const high = best[0] ?? 0
  const low = best.length < 100 && least !== undefined ? least : (best.at(-1) ?? 0)
  return (value) => {
    if (value >= high) return 1
    return value <= low ? 0 : (value - low) / (high - low)
  }
}

/** A bound on each chunk's BM25 score: the score of a chunk that repeats each word endlessly. */
function scoreBound(query: string): number {
  const all = documents.flatMap((document) => document.texts)
  const weights = [...query.split(' ')].map((word) => {
    const having = all.filter((text) => text.split(' ').includes(word)).length
    return Math.log(1 + (all.length - having + 0.5) / (having + 0.5))
  })
  return 2.2 * weights.reduce((sum, weight) => sum + weight, 0)
}

function convex(query: string, alpha: number, texts: readonly string[]) {
  const distance = distanceTo(query)
  const scores = plainScores(
    documents.flatMap((document) => document.texts),
    query,
  )
  return new Map(
    texts.map((text) => {
      const part = (scores.get(text) ?? 0) / scoreBound(query)
      return [text, alpha * Math.max(0, 1 - distance(text)) + (1 - alpha) * part]
    }),
  )
}

function expected(query: string, alpha: number, texts: readonly string[]) {
  const distance = distanceTo(query)
  const all = documents.flatMap((document) => document.texts)
  const scores = plainScores(all, query)
  const nearness = scaled(texts.map((text) => -distance(text)))
  const kept = texts.flatMap((text) => scores.get(text) ?? [])
  const keywords = scaled(kept, 0)
  return new Map(
    texts.map((text) => {
      const score = scores.get(text)
      const part = score === undefined ? 0 : keywords(score)
      return [text, alpha * nearness(-distance(text)) + (1 - alpha) * part]
    }),
  )
}

test.each(
  [
    ['tea 120', 0.5, ''] as const,
    ['green leaf 7', 0.3, ''] as const,
    ['cup 399', 0, ''] as const,
    ['tea 120 tea', 0.5, 'price < 2'] as const,
    ['milk 55 unheard', 0.8, "price = 3 AND id != 'd3'"] as const,
  ].flatMap((search) => [[...search, 'convex'] as const, [...search, 'scaled'] as const]),
)(
  'the relevance for "%s" at alpha %p, where %s, is as it is defined by %s',
  async (query, alpha, where, fusion) => {
    const kept = documents.filter(({ id, metadata: { price } }) => {
      if (where === '') return true
      return where === 'price < 2' ? price < 2 : price === 3 && id !== 'd3'
    })
    const filter = where === '' ? '' : ` AND ${where}`
    const rows = await relevances(
      `content = '${query}' AND hybrid_search_alpha = ${alpha}
        AND hybrid_search_fusion = '${fusion}' AND hybrid_search_feedback = false${filter}`,
    )
    const define = fusion === 'convex' ? convex : expected
    const wanted = define(
      query,
      alpha,
      kept.flatMap(({ texts }) => texts),
    )
    expect(rows).toHaveLength(kept.length)
    for (const [text, relevance] of rows) {
      // Distances have single precision.
      expect(relevance).toBeCloseTo(wanted.get(text) ?? Number.NaN, 3)
      expect(relevance).toBeGreaterThanOrEqual(0)
      expect(relevance).toBeLessThanOrEqual(1)
    }
    const order = rows.map(([, relevance]) => relevance)
    expect(order).toEqual(order.toSorted((a, b) => b - a))
  },
)

test('the first n of more rows are the rows of LIMIT n, and of an aggregate', async () => {
  const rows = await relevances(`content = 'tea 120' AND hybrid_search = true`)
  for (const limit of [1, 10, 99, 101, 250]) {
    const sql = `SELECT chunk_content FROM kb WHERE content = 'tea 120' AND hybrid_search = true LIMIT ${limit}`
    const request = { sql, db: 'mindsdb', params: {} }
    const result = await runQuery(request, depsOf(), new AbortController().signal)
    if (result.kind !== 'table') throw new Error('expected rows')
    const texts: string[] = []
    for await (const batch of result.rows.batches)
      texts.push(...batch.map(([text]) => String(text)))
    expect(texts).toEqual(rows.slice(0, limit).map(([text]) => text))
  }
})

test.each([
  ['builtin', 'green tea', 0.5],
  ['builtin', 'green tea from Los Angeles, café au lait', 0.5],
  ['builtin', 'Wie lange muss der Tee ziehen?', 0.2],
  ['builtin', 'comment préparer du thé vert', 0.2],
  ['builtin', '¿Cuánto tiempo para el té?', 0.2],
  ['builtin', 'grüne blätter', 0.2],
  ['openai', 'Wie lange muss der Tee ziehen?', 0.5],
  ['builtin', 'зелёный чай', 0.05],
  ['builtin', '緑茶の味', 0.05],
  ['builtin', 'الشاي الأخضر', 0],
  ['openai', 'зелёный чай', 0.5],
])('with %s, "%s" has the weight %p', (provider, text, alpha) => {
  const embeddingModel: ModelRef = { provider, modelName: 'm', options: {} }
  const knowledgeBase = { ...current(store), ...knowledgeBaseDraft({ name: 'kb', embeddingModel }) }
  const parameters = new Set([BOUND.alpha(0), BOUND.termKeys(0)])
  const search = { textIndex: 0, text: { kind: 'constant', text }, knowledgeBase } as const
  expect(hybridValues(search, { parameters }, { text, phrases: null })[BOUND.alpha(0)]).toBe(alpha)
})

test('a language must be a known one', async () => {
  const deps = { ...fixture.deps, catalog: store.catalog }
  const unknown = await failureOf(
    createKnowledgeBase('mindsdb', { name: 'x', language: 'klingon' }, deps),
  )
  expect(unknown.code).toBe('invalid_knowledge_base')
  expect(unknown.message).toStartWith('Unknown language "klingon". Available languages: arabic,')
  const kb = await createKnowledgeBase('mindsdb', { name: 'y', language: 'German' }, deps)
  expect(kb.params.language).toBe('german')
  const same = await alterKnowledgeBase(kb, { language: 'german', id_column: 'key' }, deps)
  expect([same.params.language, same.idColumn]).toEqual(['german', 'key'])
})

/**
 * Returns the ranks of the best hundred and of those equal to the last, from 1. Equal ones share
 * their first rank.
 */
function ranks(values: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const sorted = [...values.values()].toSorted((a, b) => b - a)
  const rankOf = (value: number) => 1 + sorted.findIndex((other) => other - value < 1e-9)
  const all = [...values].map(([text, value]) => [text, rankOf(value)] as const)
  return new Map(all.filter(([, rank]) => rank <= 100))
}

test.each([
  ['tea 120', 0.5, ''],
  ['green leaf 7', 0.3, ''],
  ['tea 120', 0.8, 'price < 2'],
])(
  'fused by ranks, "%s" at alpha %p, where %s, is as it is published',
  async (query, alpha, where) => {
    const kept = documents.filter(({ metadata: { price } }) => where === '' || price < 2)
    const texts = kept.flatMap((document) => document.texts)
    const scores = plainScores(
      documents.flatMap((document) => document.texts),
      query,
    )
    const filter = where === '' ? '' : ` AND ${where}`
    // Distances have single precision, so the database decides which are equal.
    const nearest = await relevances(`content = '${query}' AND hybrid_search = false${filter}`)
    const near = ranks(new Map(nearest))
    const worded = ranks(
      new Map(
        texts.flatMap((text) => {
          const score = scores.get(text)
          return score === undefined ? [] : [[text, score]]
        }),
      ),
    )
    const part = (rank: number | undefined) => (rank === undefined ? 0 : 61 / (60 + rank))
    const option = `hybrid_search_fusion = 'RRF' AND hybrid_search_alpha = ${alpha}`
    const rows = await relevances(`content = '${query}' AND ${option}${filter}`)
    expect(rows).toHaveLength(kept.length)
    for (const [text, relevance] of rows) {
      const wanted = alpha * part(near.get(text)) + (1 - alpha) * part(worded.get(text))
      expect(relevance).toBeCloseTo(wanted, 6)
    }
  },
)

const SEARCHES = [
  'tea 120',
  'green leaf 7',
  'cup',
  'nothing like it',
  '"tea green" 12',
  '"green  Tea"',
  '"cup milk" «green leaf» tea',
  'chunk',
].flatMap((query) =>
  ['convex', 'scaled', 'rrf'].flatMap((fusion) =>
    [
      '',
      ' AND hybrid_search_alpha = 0',
      ' AND hybrid_search_alpha = 0.9',
      ' AND price = 3',
      ' AND relevance > 0.4',
      ' AND distance < 0.2',
    ].map((more) => `content = '${query}' AND hybrid_search_fusion = '${fusion}'${more}`),
  ),
)

// Every fifth has each text, and each fusion with each condition.
test.each(sampleOf(SEARCHES, 5))(
  '%s: the nearest from memory make the rows that measuring all makes',
  async (condition) => {
    for (const limit of [1, 10, 150]) {
      const measured = { ...depsOf(), nearest: nothingNear }
      const wanted = await relevances(condition, { limit, deps: measured })
      expect(await relevances(condition, { limit })).toEqual(wanted)
    }
  },
)

test('searches follow their knowledge base unless they say otherwise', async () => {
  const deps = { ...fixture.deps, catalog: store.catalog }
  const plain = await relevances("content = 'tea 120'", { limit: 20 })
  const hybrid = await relevances("content = 'tea 120' AND hybrid_search = true", { limit: 20 })
  const ranked = await relevances(
    "content = 'tea 120' AND hybrid_search_fusion = 'rrf' AND hybrid_search_alpha = 0.2",
    { limit: 20 },
  )
  expect(hybrid).not.toEqual(plain)
  await alterKnowledgeBase(current(store), { hybrid_search: true }, deps)
  expect(await relevances("content = 'tea 120'", { limit: 20 })).toEqual(hybrid)
  const changes = { hybrid_search_alpha: 0.2, hybrid_search_fusion: 'RRF' }
  const altered = await alterKnowledgeBase(current(store), changes, deps)
  expect(altered.params).toMatchObject({ hybrid_search: true, hybrid_search_fusion: 'rrf' })
  expect(await relevances("content = 'tea 120'", { limit: 20 })).toEqual(ranked)
  const off = "content = 'tea 120' AND hybrid_search = false"
  expect(await relevances(off, { limit: 20 })).toEqual(plain)
  const own = `content = 'tea 120' AND hybrid_search_fusion = 'convex' AND hybrid_search_alpha = 0.5`
  expect(await relevances(own, { limit: 20 })).toEqual(hybrid)
  await alterKnowledgeBase(current(store), { hybrid_search: false }, deps)
  expect(await relevances("content = 'tea 120'", { limit: 20 })).toEqual(plain)
})

test.each([
  [{ hybrid_search: 'yes' }, 'Field "hybrid_search" must be true or false, not a string'],
  [{ hybrid_search_alpha: 1.5 }, 'Field "hybrid_search_alpha" must be from 0 to 1; it is 1.5'],
  [{ hybrid_search_alpha: '0.5' }, 'Field "hybrid_search_alpha" must be a number, not a string'],
  [
    { hybrid_search_fusion: 'sum' },
    'Unknown hybrid_search_fusion "sum". Available: convex, scaled, rrf',
  ],
])('a knowledge base with %p is refused', async (fields, message) => {
  const deps = { ...fixture.deps, catalog: store.catalog }
  const failure = await failureOf(createKnowledgeBase('mindsdb', { name: 'z', ...fields }, deps))
  expect([failure.code, failure.message]).toEqual(['invalid_knowledge_base', message])
})

test('a text of stop words, of signs or of a hundred thousand characters is searched as well', async () => {
  for (const text of ['the of and', '!? -- "" "', 'tea green '.repeat(10_000)]) {
    const rows = await relevances(`content = '${text}' AND hybrid_search = true`, { limit: 5 })
    expect(rows).toHaveLength(5)
  }
})
