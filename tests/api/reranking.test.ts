import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { requireKnowledgeBase } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { RerankerRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { alterKnowledgeBase } from '../../src/query/definitions/define-knowledge-base.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { type SeenRequest, scriptedServer } from '../models/fixtures/scripted-server.ts'
import { openSqlFixture } from '../sql/sql-fixture.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const MODEL = { provider: 'rerank', base_url: 'http://127.0.0.1:9' }
const ROWS = Array.from({ length: 60 }, (_, index) => ({
  id: `d${index}`,
  content: `tea number ${index}`,
  price: index % 10,
}))

const calls: { readonly queryText: string; readonly passages: readonly string[] }[] = []
let failure: Error | null = null

/** A passage with a larger number is better. */
const rerankers: RerankerRegistry = {
  providers: ['rerank'],
  reranker: () => ({
    rerank: async (queryText, passages) => {
      calls.push({ queryText, passages })
      if (failure !== null) throw failure
      return passages.map(scoreOf)
    },
  }),
}

function scoreOf(passage: string): number {
  return Number(/\d+/.exec(passage)?.[0] ?? 0) / 100
}

interface SqlAnswer {
  readonly type: string
  readonly data: readonly unknown[][]
  readonly warnings?: readonly string[]
  readonly error_message?: string
}

let t: TestApp
/** With the rerankers of the program. */
let plain: TestApp

beforeAll(async () => {
  t = await createTestApp({ rerankers })
  await fill(t, 'plain', null)
  await fill(t, 'judged', MODEL)
  await fill(t, 'narrow', { ...MODEL, candidates: 3 })
  await fill(t, 'strict', { ...MODEL, filtering_threshold: 0.5, num_docs_to_keep: 2 })
  plain = await createTestApp()
  await fill(plain, 'filled', MODEL)
})
afterAll(() => Promise.all([t.close(), plain.close()]))
beforeEach(() => {
  calls.length = 0
  failure = null
})

async function fill(app: TestApp, name: string, reranking_model: unknown): Promise<void> {
  const made = await app.send('POST', KBS, { knowledge_base: { name, reranking_model } })
  expect(made.status).toBe(201)
  const filled = await app.send('PUT', `${KBS}/${name}`, { knowledge_base: { rows: ROWS } })
  expect(filled.status).toBe(200)
}

async function sql(query: string, params = {}, app = t): Promise<SqlAnswer> {
  const { body } = await app.send('POST', '/api/sql/query', { query, params })
  return body as SqlAnswer
}

const TOP = "SELECT id, relevance FROM judged WHERE content = 'tea number 5'"
const NEAREST = "SELECT id FROM plain WHERE content = 'tea number 5'"

describe('a search over a knowledge base with a reranking model', () => {
  test('is ordered by the scores of the nearest, which are its relevance', async () => {
    const candidates = (await sql(`${NEAREST} LIMIT 50`)).data.map(([id]) => String(id))
    const best = candidates
      .toSorted((one, other) => scoreOf(other) - scoreOf(one))
      .map((id) => [id, scoreOf(id)])
    expect((await sql(`${TOP} LIMIT 4`)).data).toEqual(best.slice(0, 4))
    expect((await sql(`${TOP} LIMIT 2 OFFSET 2`)).data).toEqual(best.slice(2, 4))
    expect(calls.map(({ queryText }) => queryText)).toEqual(['tea number 5', 'tea number 5'])
    expect(calls[0]?.passages.length).toBe(50)
  })

  test('reranks fifty candidates, or the configured number, with any LIMIT, and returns all rows', async () => {
    const all = await sql(`${TOP} LIMIT 60`)
    expect(all.data.length).toBe(60)
    expect(calls[0]?.passages.length).toBe(50)
    expect((await sql(`${TOP} LIMIT 7`)).data).toEqual(all.data.slice(0, 7))
    calls.splice(1)
    const narrow = await sql("SELECT relevance FROM narrow WHERE content = 'tea 5' LIMIT 6")
    expect(calls[1]?.passages.length).toBe(3)
    const relevances = narrow.data.map(([relevance]) => Number(relevance))
    expect(relevances.length).toBe(6)
    expect(relevances).toEqual(relevances.toSorted((one, other) => other - one))
  })

  test('keeps the distance to the text', async () => {
    const distances = "id, distance FROM judged WHERE content = 'tea number 5'"
    const plain = await sql(`SELECT ${distances} AND reranking = false LIMIT 50`)
    expect(calls).toEqual([])
    const reranked = await sql(`SELECT ${distances} LIMIT 5`)
    const known = new Map(plain.data.map(([id, distance]) => [id, distance]))
    for (const [id, distance] of reranked.data) expect(distance).toEqual(known.get(id))
  })

  test('filters before reranking, and applies thresholds to the new relevance', async () => {
    const { data } = await sql(`${TOP} AND price < 3 AND relevance >= :least LIMIT 50`, {
      least: 0.4,
    })
    expect(data.map(([id]) => id)).toEqual(['d52', 'd51', 'd50', 'd42', 'd41', 'd40'])
    expect(calls[0]?.passages.every((passage) => (scoreOf(passage) * 100) % 10 < 3)).toBe(true)
  })

  test('works with keywords, within other queries, and for several at once', async () => {
    const hybrid = await sql(`${TOP} AND hybrid_search = true LIMIT 3`)
    expect(hybrid.data.length).toBe(3)
    const nested = `WITH best AS (${TOP} AND content != 'number 3' LIMIT 2)
      SELECT b.id, o.id FROM best b
      JOIN (SELECT id FROM judged WHERE content = 'other' LIMIT 2) o ON true ORDER BY ALL`
    expect((await sql(nested)).data.length).toBe(4)
    expect(calls.map(({ queryText }) => queryText).toSorted()).toEqual([
      'other',
      'tea number 5',
      'tea number 5',
    ])
  })

  test('is reranked in a view, whose names mean what they meant where it was made', async () => {
    await t.send('POST', '/api/projects', { project: { name: 'elsewhere' } })
    await sql(`CREATE VIEW mindsdb.top AS (${TOP} LIMIT 2)`)
    expect(calls).toEqual([])
    const { body } = await t.send('POST', '/api/sql/query', {
      query: 'SELECT * FROM mindsdb.top',
      context: { db: 'elsewhere' },
    })
    expect(body).toMatchObject({ data: (await sql(`${TOP} LIMIT 2`)).data })
    expect(calls.length).toBe(2)
  })

  test('applies the threshold and the number that the model names', async () => {
    const { data } = await sql("SELECT relevance FROM strict WHERE content = 'tea' LIMIT 50")
    const candidates = (await sql("SELECT id FROM plain WHERE content = 'tea' LIMIT 50")).data
    const best = candidates.map(([id]) => scoreOf(String(id))).toSorted((one, other) => other - one)
    expect(data).toEqual(best.slice(0, 2).map((score) => [score]))
  })

  test('is not reranked where all rows count, or the query is a vector', async () => {
    expect((await sql("SELECT count(*) FROM judged WHERE content = 'tea'")).data).toEqual([[60]])
    const vector = Array.from({ length: 64 }, (_, index) => index + 1)
    const given = await sql('SELECT id FROM judged WHERE content = :v LIMIT 3', { v: vector })
    expect(given.data.length).toBe(3)
    expect(given.warnings).toBeUndefined()
    expect(calls).toEqual([])
  })

  test('is warned of in EVALUATE where its reranker fails', async () => {
    await sql(`CREATE TABLE asked AS
      SELECT 'tea number 5' AS question, 'd5' AS document, 1 AS grade`)
    const evaluate = 'EVALUATE KNOWLEDGE_BASE judged USING test_table = mindsdb.asked'
    expect((await sql(evaluate)).warnings).toBeUndefined()
    failure = new AppError('provider_failed', 'The reranker is down')
    const { data, warnings } = await sql(evaluate)
    expect(data).toHaveLength(1)
    expect(warnings?.join()).toContain('The reranker is down')
  })

  test('tells in EXPLAIN what it would do, without asking', async () => {
    const { data } = await sql(`EXPLAIN ${TOP} LIMIT 3`)
    const choices = data.filter(([key]) => key === 'search').map(([, choice]) => String(choice))
    expect(choices.at(-1)).toBe('mindsdb.judged: rerank reranks the best 50')
    expect(calls).toEqual([])
  })

  test('a reranker that fails leaves the order as it was, with a warning', async () => {
    const plain = await sql(`${TOP} AND reranking = false LIMIT 5`)
    expect(plain.warnings).toBeUndefined()
    failure = new AppError('provider_failed', 'http://127.0.0.1:9/v1/rerank answered 503')
    const answer = await sql(`${TOP} LIMIT 5`)
    expect(answer.data).toEqual(plain.data)
    expect(answer.type).toBe('table')
    expect(answer.warnings).toEqual([
      'judged was searched without reranking by rerank: http://127.0.0.1:9/v1/rerank answered 503',
    ])
  })

  test('gives the same order as without for a failing reranker in any search', async () => {
    failure = new AppError('timeout', 'too late')
    for (const where of ['price > 4', 'hybrid_search = true', 'relevance >= 0.6 AND price < 9']) {
      const query = `SELECT id, relevance, distance FROM judged WHERE content = 'tea 7' AND ${where}`
      const reranked = await sql(`${query} LIMIT 7`)
      expect(reranked.data).toEqual((await sql(`${query} AND reranking = false LIMIT 7`)).data)
      expect(reranked.data.length).toBeGreaterThan(0)
    }
  })
})

test('a client that disconnects during reranking gets no answer', async () => {
  const fixture = await openSqlFixture()
  const client = new AbortController()
  const leaving: RerankerRegistry = {
    providers: ['rerank'],
    reranker: () => ({
      rerank: async () => {
        client.abort(new AppError('cancelled', 'gone'))
        throw new AppError('provider_failed', 'aborted')
      },
    }),
  }
  const deps = { ...fixture.deps, rerankers: leaving }
  const kb = requireKnowledgeBase(deps.catalog.snapshot(), 'mindsdb', 'kb')
  await alterKnowledgeBase(kb, { reranking_model: MODEL }, deps)
  const sql = "SELECT id FROM kb WHERE content = '7' LIMIT 3"
  const asked = runQuery({ sql, db: 'mindsdb', params: {} }, deps, client.signal)
  await expect(asked).rejects.toMatchObject({ code: 'cancelled' })
  await fixture.close()
})

const scores = ({ body }: SeenRequest) => {
  const documents = Array.isArray(body.documents) ? body.documents.map(String) : []
  const results = documents.map((text, index) => ({ index, relevance_score: scoreOf(text) }))
  return Response.json({ results })
}

describe('a server that reranks', () => {
  test('is asked once for a search; its failure is a warning without the key', async () => {
    await using server = scriptedServer(scores, () => new Response('overloaded', { status: 503 }))
    const api_key = 'sk-secret-of-the-reranker'
    const model = { provider: 'rerank', base_url: server.url, api_key, max_retries: 0 }
    await fill(plain, 'judged', model)
    const shown = await plain.send('GET', `${KBS}/judged`)
    expect(shown.text).not.toContain(api_key)
    const found = await sql(`${TOP} LIMIT 3`, {}, plain)
    expect(found.data.length).toBe(3)
    expect(found.data[0]?.[1]).toBeGreaterThan(0.2)
    expect(server.seen.length).toBe(1)
    expect(server.seen[0]?.headers.get('authorization')).toBe(`Bearer ${api_key}`)
    const failed = await sql(`${TOP} LIMIT 3`, {}, plain)
    expect(failed.data.length).toBe(3)
    expect(failed.warnings?.[0]).toContain('503')
    expect(failed.warnings?.[0]).not.toContain(api_key)
  })

  test('that is silent is given up at its own deadline', async () => {
    await using server = scriptedServer(() => new Promise<Response>(() => {}))
    await fill(plain, 'silent', { provider: 'tei', base_url: server.url, timeout: 0.05 })
    const search = "SELECT id, relevance FROM silent WHERE content = 'tea number 5' LIMIT 3"
    const found = await sql(search, {}, plain)
    expect(found.data.length).toBe(3)
    expect(found.warnings?.length).toBe(1)
  })
})

describe('a reranking model', () => {
  test.each([
    [{ provider: 'nobody', model_name: 'x' }, 'Available providers'],
    [{ provider: 'vllm', model_name: 'x' }, 'base_url is required'],
    [{ provider: 'vllm', base_url: 'http://127.0.0.1:9' }, '"model_name" is required'],
    [{ ...MODEL, timeout: -1 }, 'reranking_model.timeout'],
    [{ ...MODEL, candidates: 0 }, 'candidates must be a whole number from 1 to 1000'],
    [{ ...MODEL, candidates: 2.5 }, 'candidates must be a whole number from 1 to 1000'],
  ])('%j is refused when it is named', async (reranking_model, message) => {
    const knowledge_base = { name: 'refused', reranking_model }
    const created = await plain.send('POST', KBS, { knowledge_base })
    expect(created.status).toBe(400)
    expect(created.body).toMatchObject({ detail: expect.stringContaining(message) })
    const body = { knowledge_base: { reranking_model } }
    const altered = await plain.send('PUT', `${KBS}/filled`, body)
    expect(altered.status).toBe(400)
  })
})
