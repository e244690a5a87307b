import { afterAll, beforeAll, expect, test } from 'bun:test'
import { alterKnowledgeBase, createKnowledgeBase } from '../../src/catalog/knowledge-bases.ts'
import type { ModelRef } from '../../src/domain/model-ref.ts'
import { hybridValues } from '../../src/query/hybrid-values.ts'
import { runQuery } from '../../src/query/run-query.ts'
import { alphaParameter, keywordsParameter } from '../../src/sql/ranking.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { plainScores } from '../store/keyword-fixture.ts'
import { current, documentOf, failureOf } from '../store/store-fixture.ts'
import { knowledgeBaseDraft } from '../support/knowledge-base.ts'
import { numberVector, openSqlFixture, type SqlFixture } from './sql-fixture.ts'

const WORDS = ['tea', 'green', 'black', 'cup', 'milk', 'leaf']

let fixture: SqlFixture
let store: Store

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
  store = await openStore({ directory: ':memory:' })
  const deps = { ...fixture.deps, catalog: store.catalog }
  await createKnowledgeBase('mindsdb', { name: 'kb' }, deps)
  await store.chunks.replaceDocuments(current(store), documents.map(documentOf))
})

afterAll(async () => {
  await fixture.close()
  await store.close()
})

async function relevances(condition: string): Promise<readonly [string, number][]> {
  const deps = { ...fixture.deps, catalog: store.catalog, engine: store.engine }
  const sql = `SELECT chunk_content, relevance FROM kb WHERE ${condition} LIMIT 1000`
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

/** Each value on a scale from that of the hundredth best (0) to that of the best (1). */
function scaled(values: readonly number[], least?: number): (value: number) => number {
  const best = values.toSorted((a, b) => b - a).slice(0, 100)
  const high = best[0] ?? 0
  const low = best.length < 100 && least !== undefined ? least : (best.at(-1) ?? 0)
  return (value) => {
    if (value >= high) return 1
    return value <= low ? 0 : (value - low) / (high - low)
  }
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

test.each([
  ['tea 120', 0.5, ''],
  ['green leaf 7', 0.3, ''],
  ['cup 399', 0, ''],
  ['tea 120', 0.5, 'price < 2'],
  ['milk 55', 0.8, "price = 3 AND id != 'd3'"],
])(
  'the relevance for "%s" at alpha %p, where %s, is as it is defined',
  async (query, alpha, where) => {
    const kept = documents.filter(({ id, metadata: { price } }) => {
      if (where === '') return true
      return where === 'price < 2' ? price < 2 : price === 3 && id !== 'd3'
    })
    const filter = where === '' ? '' : ` AND ${where}`
    const rows = await relevances(
      `content = '${query}' AND hybrid_search_alpha = ${alpha}${filter}`,
    )
    const wanted = expected(
      query,
      alpha,
      kept.flatMap(({ texts }) => texts),
    )
    expect(rows).toHaveLength(kept.length)
    for (const [text, relevance] of rows) {
      // Distances are of single precision.
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
    const deps = { ...fixture.deps, catalog: store.catalog, engine: store.engine }
    const request = { sql, db: 'mindsdb', params: {} }
    const result = await runQuery(request, deps, new AbortController().signal)
    if (result.kind !== 'table') throw new Error('expected rows')
    const texts: string[] = []
    for await (const batch of result.rows.batches)
      texts.push(...batch.map(([text]) => String(text)))
    expect(texts).toEqual(rows.slice(0, limit).map(([text]) => text))
  }
})

test.each([
  ['builtin', 'green tea', 0.5],
  ['builtin', 'зелёный чай', 0.1],
  ['builtin', '緑茶の味', 0.1],
  ['openai', 'зелёный чай', 0.5],
])('with %s, "%s" has the weight %p', (provider, text, alpha) => {
  const embeddingModel: ModelRef = { provider, modelName: 'm', options: {} }
  const knowledgeBase = { ...current(store), ...knowledgeBaseDraft({ name: 'kb', embeddingModel }) }
  const parameters = new Set([alphaParameter(0), keywordsParameter(0)])
  const plan = {
    sql: '',
    searches: [],
    candidates: null,
    scans: [],
    agents: [],
    values: new Map(),
    parameters,
    written: [],
  }
  const search = { text: 0, of: { kind: 'constant', text }, knowledgeBase } as const
  expect(
    hybridValues(search, { ...plan, readsCatalog: false, thresholds: [], rerankings: [] }, text)[
      alphaParameter(0)
    ],
  ).toBe(alpha)
})

test('a language is one of those there are, and stays', async () => {
  const deps = { ...fixture.deps, catalog: store.catalog }
  const unknown = await failureOf(
    createKnowledgeBase('mindsdb', { name: 'x', language: 'klingon' }, deps),
  )
  expect(unknown.code).toBe('invalid_knowledge_base')
  expect(unknown.message).toStartWith('Unknown language "klingon". Available languages: arabic,')
  const kb = await createKnowledgeBase('mindsdb', { name: 'y', language: 'German' }, deps)
  expect(kb.params.language).toBe('german')
  const change = await failureOf(alterKnowledgeBase(kb, { language: 'french' }, deps))
  expect(change.message).toStartWith('The language of y stays german: ')
  const same = await alterKnowledgeBase(kb, { language: 'german', id_column: 'key' }, deps)
  expect([same.params.language, same.idColumn]).toEqual(['german', 'key'])
})
