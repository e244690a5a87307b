import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { RerankerRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { type Answer, createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

const CHUNKED = { text_chunking_config: { chunk_size: 40, chunk_overlap: 0 } }

const ROWS = [
  { id: 'sencha', content: 'sencha green tea japan', price: 9, colour: 'green', year: 2001 },
  { id: 'assam', content: 'assam black tea india', price: 6, colour: 'black', year: 2002 },
  { id: 'keemun', content: 'keemun black tea china', price: 7, colour: 'black', year: 2003 },
  { id: 'rooibos', content: 'rooibos red bush africa', price: 5, colour: 'red', 'a"b': 1 },
  { id: 'mate', content: 'mate shrub brazil', price: 4, colour: "it's" },
]

const LONG = Array.from({ length: 6 }, (_, index) => `part${index} ${'word '.repeat(6).trim()}.`)

/** Prefers long passages, and fails for the text `fail`. */
const rerankers: RerankerRegistry = {
  providers: ['rerank'],
  reranker: () => ({
    rerank: async (queryText, passages) => {
      if (queryText === 'fail') throw new AppError('provider_failed', 'http://r/rerank: 500')
      return passages.map((passage) => passage.length / 1000)
    },
  }),
}

interface Result {
  readonly id: string
  readonly chunk_id: string
  readonly chunk_content: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly relevance: number
  readonly distance: number
  readonly rank: number
  readonly explain?: Readonly<Record<string, unknown>>
  readonly neighbours?: Readonly<
    Record<'before' | 'after', readonly { readonly chunk_content: string }[]>
  >
}

interface Found {
  readonly results: readonly Result[]
  readonly warnings?: readonly string[]
  readonly explain?: Readonly<Record<string, unknown>>
}

let t: TestApp

beforeAll(async () => {
  t = await createTestApp({ rerankers })
  await fill({ name: 'teas' }, ROWS)
  await fill({ name: 'long', preprocessing: CHUNKED }, [{ id: 'a', content: LONG.join('\n\n') }])
  await fill({ name: 'judged', reranking_model: { provider: 'rerank' } }, ROWS)
  await t.send('POST', KBS, { knowledge_base: { name: 'empty' } })
})
afterAll(() => t.close())

interface Definition {
  readonly name: string
  readonly preprocessing?: unknown
  readonly reranking_model?: unknown
}

async function fill(knowledge_base: Definition, rows: readonly unknown[]): Promise<void> {
  const made = await t.send('POST', KBS, { knowledge_base })
  expect(made.status).toBe(201)
  const filled = await t.send('PUT', `${KBS}/${knowledge_base.name}`, { knowledge_base: { rows } })
  expect(filled.status).toBe(200)
}

function sent(body: unknown, kb = 'teas'): Promise<Answer> {
  return t.send('POST', `${KBS}/${kb}/search`, body)
}

async function search(body: unknown, kb = 'teas'): Promise<Found> {
  const answer = await sent(body, kb)
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
  return answer.body as Found
}

async function idsOf(body: unknown, kb = 'teas'): Promise<readonly string[]> {
  return (await search(body, kb)).results.map(({ id }) => id)
}

describe('a search', () => {
  test('gives the best chunks with their rank, relevance and distance', async () => {
    const { results, ...others } = await search({ query: 'black tea india', k: 2 })
    expect(others).toEqual({})
    expect(results[0]).toMatchObject({
      id: 'assam',
      chunk_id: 'assam:content:1of1:0to21',
      chunk_content: 'assam black tea india',
      metadata: { price: 6, colour: 'black', content_column: 'content' },
      relevance: 0.6629626082018584,
      rank: 1,
    })
    expect(results.map(({ id, rank }) => [id, rank])).toEqual([
      ['assam', 1],
      ['keemun', 2],
    ])
  })

  test('takes `limit` for `k`', async () => {
    expect(await idsOf({ query: 'black tea india', limit: 2 })).toEqual(['assam', 'keemun'])
    expect(await idsOf({ query: 'black tea india', k: 1, limit: 1 })).toEqual(['assam'])
  })

  test('finds what the same statement finds', async () => {
    const options = {
      hybrid: 'hybrid_search = true',
      vector: 'true',
      keyword: 'hybrid_search_alpha = 0',
    }
    for (const [mode, option] of Object.entries(options)) {
      const found = await search({ query: 'black tea', k: 3, mode })
      const rows = await t.rows(
        `SELECT id, relevance, distance FROM teas WHERE content = 'black tea' AND ${option} LIMIT 3`,
      )
      const shown = found.results.map((one) => [one.id, one.relevance, one.distance])
      expect<unknown>(shown).toEqual(rows)
    }
  })

  test('is hybrid for a text; alpha leans on either part', async () => {
    const hybrid = await search({ query: 'black tea', k: 5 })
    expect(await search({ query: 'black tea', k: 5, mode: 'hybrid' })).toEqual(hybrid)
    const near = await search({ query: 'black tea', k: 5, alpha: 1 })
    const vector = await search({ query: 'black tea', k: 5, mode: 'vector' })
    expect(near.results.map(({ id }) => id)).toEqual(vector.results.map(({ id }) => id))
  })

  test('joins its two parts as the fusion says', async () => {
    for (const fusion of ['convex', 'scaled', 'rrf']) {
      const found = await search({ query: 'black tea', k: 4, fusion, alpha: 0.5 })
      const rows = await t.rows(`SELECT id, relevance FROM teas WHERE content = 'black tea'
        AND hybrid_search_fusion = '${fusion}' AND hybrid_search_alpha = 0.5 LIMIT 4`)
      expect<unknown>(found.results.map(({ id, relevance }) => [id, relevance])).toEqual(rows)
    }
  })

  test('by keywords finds only what holds one', async () => {
    expect(await idsOf({ query: 'brazil', mode: 'keyword' })).toEqual(['mate'])
    expect(await idsOf({ query: 'nowhere', mode: 'keyword' })).toEqual([])
    expect(await idsOf({ query: '"black tea" china', mode: 'keyword' })).toEqual([
      'keemun',
      'assam',
      'sencha',
    ])
  })

  test('quotes within a question raise chunks with the phrase and exclude no others', async () => {
    const quoted = { query: 'where does «Black,\n tea» come from', k: 5 }
    const plain = { query: 'where does black tea come from', k: 5 }
    expect((await idsOf(quoted)).slice(0, 2).toSorted()).toEqual(['assam', 'keemun'])
    expect((await idsOf(quoted)).toSorted()).toEqual((await idsOf(plain)).toSorted())
    expect(await idsOf({ query: '"tea black" from china', mode: 'keyword' })).toContain('keemun')
    expect(await idsOf({ query: '"tea black"', mode: 'keyword' })).toEqual([])
    expect(await idsOf({ query: '"tea black"', k: 5 })).toHaveLength(5)
    expect(await idsOf({ query: '「india」', mode: 'keyword' })).toEqual(['assam'])
    expect(await idsOf({ query: '"the of" assam', mode: 'keyword' })).toEqual(['assam'])
    expect(await idsOf({ query: 'assam "', mode: 'keyword' })).toEqual(['assam'])
    expect(await idsOf({ query: '"a'.repeat(50_000), k: 2 })).toHaveLength(2)
  })

  test.each(['🍵', '😀😀 👍🏽', '!!! …', '"" - ?'])(
    'for %s, which has no word, is one by vectors',
    async (query) => {
      expect(await idsOf({ query, mode: 'keyword' })).toEqual([])
      const byVectors = await idsOf({ query, mode: 'vector' })
      expect(await idsOf({ query, mode: 'hybrid' })).toEqual(byVectors)
      expect(await idsOf({ query, alpha: 0 })).toEqual(byVectors)
      expect(await idsOf({ query, fusion: 'rrf' })).toEqual(byVectors)
    },
  )

  test('takes a vector in place of a text', async () => {
    const query = Array.from({ length: 64 }, (_, index) => (index === 3 ? 1 : 0.1))
    const { results } = await search({ query, k: 3 })
    expect(results.length).toBe(3)
    const distances = results.map(({ distance }) => distance)
    expect(distances).toEqual(distances.toSorted((one, other) => one - other))
  })

  test('gives ten results, or as many as there are', async () => {
    expect((await search({ query: 'tea' })).results.length).toBe(5)
    expect((await search({ query: 'tea', k: 1000, mode: 'vector' })).results.length).toBe(5)
    expect(await search({ query: 'tea' }, 'empty')).toEqual({ results: [] })
  })

  test('shows the named columns, and leaves out irrelevant chunks', async () => {
    const body = { query: 'assam', mode: 'vector', columns: ['PRICE', 'nothing'] }
    const { results } = await search({ ...body, min_relevance: 0.6 })
    expect(results.map(({ metadata }) => metadata)).toEqual([{ price: 6 }])
  })

  test('works with a text of 100 000 characters', async () => {
    const query = 'assam india '.repeat(8334)
    for (const mode of ['hybrid', 'vector', 'keyword']) {
      expect((await idsOf({ query, k: 1, mode }))[0]).toBe('assam')
    }
    const rows = await t.rows('SELECT id FROM teas WHERE content = :query LIMIT 1', { query })
    expect(rows).toEqual([['assam']])
  })
})

describe('neighbours', () => {
  test('are the chunks around, in the order of the text', async () => {
    const { results } = await search(
      { query: 'part2', k: 1, mode: 'keyword', neighbours: 2 },
      'long',
    )
    const [{ neighbours } = {}] = results
    const texts = (side: 'before' | 'after') => {
      return neighbours?.[side].map(({ chunk_content: text }) => text.slice(0, 5))
    }
    expect(texts('before')).toEqual(['part0', 'part1'])
    expect(texts('after')).toEqual(['part3', 'part4'])
  })

  test('end where the text ends', async () => {
    const body = { query: 'part0', k: 1, mode: 'keyword', neighbours: 10 }
    const [result] = (await search(body, 'long')).results
    expect(result?.neighbours?.before).toEqual([])
    expect(result?.neighbours?.after.length).toBe(5)
  })
})

describe('feedback', () => {
  const query = 'black tea india'
  const fedBack = async (body: object) => {
    const { explain } = await search({ query, explain: true, ...body })
    return explain?.feedback
  }

  test('moves the vector of a text, and not the distances', async () => {
    const { results } = await search({ query, k: 5 })
    const plain = await search({ query, k: 5, feedback: false })
    const shown = ({ id, distance, relevance }: Found['results'][number]) => [
      id,
      distance,
      relevance,
    ]
    expect(results.map(shown)).not.toEqual(plain.results.map(shown))
    const distances = new Map(plain.results.map(({ id, distance }) => [id, distance]))
    for (const { id, distance } of results) expect(distance).toBe(distances.get(id) ?? Number.NaN)
    expect((await search({ query, k: 5, feedback: true })).results).toEqual(results)
  })

  test("applies to texts in the built-in model's language, ranked by vectors and keywords", async () => {
    expect(await fedBack({})).toBe(true)
    expect(await fedBack({ feedback: false })).toBe(false)
    expect(await fedBack({ query: 'зелёный чай', feedback: true })).toBe(false)
    expect(await fedBack({ query: 'Wie lange muss der Tee ziehen?' })).toBe(false)
    expect(await fedBack({ mode: 'keyword' })).toBe(false)
    expect(await fedBack({ mode: 'vector' })).toBe(false)
    expect(await fedBack({ fusion: 'scaled', feedback: true })).toBe(false)
    expect(await fedBack({ alpha: 1 })).toBe(false)
  })

  test('finds nothing else where no chunk holds a word of the text', async () => {
    const { results } = await search({ query: 'beverage', k: 5 })
    expect((await search({ query: 'beverage', k: 5, feedback: false })).results).toEqual(results)
  })
})

describe('explain', () => {
  test('shows how each part ranked a result, and how long each stage took', async () => {
    const { results, explain } = await search({ query: 'black tea india', k: 2, explain: true })
    expect(results[0]?.explain).toMatchObject({
      vector: { rank: 1, distance: results[0]?.distance },
      keyword: { rank: 1, score: 0.4449648711354672 },
      fusion: { rank: 1, relevance: 0.6629626082018584 },
      reranker: null,
    })
    expect(explain).toMatchObject({ mode: 'hybrid', reranked: false, feedback: true })
    const ms = explain?.ms as Readonly<Record<string, number>>
    expect(Object.keys(ms)).toEqual(['plan', 'embed', 'candidates', 'rerank', 'rows', 'total'])
    expect(ms.total).toBeGreaterThan(0)
  })

  test('says that the nearest are those among what the filters keep', async () => {
    const accessOf = async (filters: unknown) => {
      const { explain } = await search({ query: 'tea', explain: true, filters })
      return explain?.access
    }
    const detail = '5 vectors in memory, scanned exactly'
    const among = `${detail}, among the chunks that the conditions keep`
    expect(await accessOf({ price: 5 })).toEqual({ kind: 'memory', detail: among })
    expect(await accessOf({})).toEqual({ kind: 'memory', detail })
  })

  test('says where a reranked result stood before', async () => {
    const body = { query: 'mate shrub', k: 3, explain: true }
    const { results, explain } = await search(body, 'judged')
    expect(explain).toMatchObject({ reranked: true })
    const before = await search({ ...body, rerank: false, k: 5 }, 'judged')
    expect(before.explain).toMatchObject({ reranked: false })
    for (const { id, relevance, explain: own } of results) {
      const rank_before = before.results.find((one) => one.id === id)?.rank
      expect(own?.reranker).toEqual({ score: relevance, rank_before })
    }
  })
})

describe('reranking', () => {
  test('is on where there is a model, and can be turned off', async () => {
    expect((await idsOf({ query: 'mate shrub', k: 1 }, 'judged'))[0]).toBe('rooibos')
    expect((await idsOf({ query: 'mate shrub', k: 1, rerank: false }, 'judged'))[0]).toBe('mate')
  })

  test('that fails is a warning', async () => {
    const { results, warnings } = await search({ query: 'fail', k: 3 }, 'judged')
    expect(results.length).toBe(3)
    expect(warnings).toEqual([
      'judged was searched without reranking by rerank: http://r/rerank: 500',
    ])
  })
})

describe('what is refused', () => {
  const vector = Array.from({ length: 64 }, () => 0)
  test.each([
    [{}, 'missing_parameter', '"query"'],
    [{ query: '' }, 'invalid_request', 'Field "query" must not be empty'],
    [{ query: ' \n' }, 'invalid_request', 'Field "query" must not be empty'],
    [{ query: [] }, 'invalid_request', 'Field "query" must not be empty'],
    [{ query: 7 }, 'invalid_request', 'Field "query"'],
    [{ query: [1, null] }, 'invalid_request', 'Field "query[1]"'],
    [
      { query: Array(65_537).fill(1) },
      'invalid_request',
      'list of at most 65536 numbers, not of 65537',
    ],
    [{ query: vector }, 'sql_invalid_search', 'finite numbers that are not all zero'],
    [{ query: [...vector.slice(1), 1e300] }, 'sql_invalid_search', 'finite numbers'],
    [{ query: [1, 2, 3] }, 'dimension_mismatch', 'the query has 3, teas holds 64'],
    [{ query: [1], mode: 'keyword' }, 'invalid_request', 'Field "mode"'],
    [{ query: 'x', mode: 'fuzzy' }, 'invalid_request', 'Field "mode" must be "hybrid" or'],
    [
      { query: 'x', mode: 'keyword', feedback: true },
      'invalid_request',
      'Field "feedback" is for the mode "hybrid"',
    ],
    [{ query: 'x', feedback: 'yes' }, 'invalid_request', 'feedback'],
    [{ query: 'x', fusion: 'sum' }, 'invalid_request', 'Field "fusion" must be "convex" or'],
    [{ query: 'x', alpha: 1.5 }, 'invalid_request', 'Field "alpha" must be a number from 0 to 1'],
    [{ query: 'x', alpha: 1, mode: 'vector' }, 'invalid_request', 'Field "alpha" is for the mode'],
    [{ query: 'x', min_relevance: -1 }, 'invalid_request', 'Field "min_relevance"'],
    [{ query: 'x', k: 0 }, 'invalid_request', 'Field "k" must be an integer from 1 to 10000'],
    [{ query: 'x', k: 10_001 }, 'invalid_request', 'Field "k"'],
    [{ query: 'x', k: 1.5 }, 'invalid_request', 'Field "k"'],
    [{ query: 'x', neighbours: 11 }, 'invalid_request', 'Field "neighbours"'],
    [{ query: 'x', rerank: true }, 'invalid_request', 'teas has no reranking model'],
    [{ query: 'x', explain: 'yes' }, 'invalid_request', 'Field "explain"'],
    [{ query: 'x', limit: 0 }, 'invalid_request', 'Field "limit"'],
    [{ query: 'x', limit: 3, k: 2 }, 'invalid_request', 'Fields "k" and "limit" differ'],
    [{ query: 'x', top: 3 }, 'unknown_field', '"top"'],
  ])('%j', async (body, code, message) => {
    const answer = await sent(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code, detail: expect.stringContaining(message) })
  })

  test('names that are not there, other methods, and callers who are not logged in', async () => {
    expect((await sent({ query: 'x' }, 'nothing')).status).toBe(404)
    const elsewhere = '/api/projects/nowhere/knowledge_bases/teas/search'
    expect((await t.send('POST', elsewhere, { query: 'x' })).status).toBe(404)
    expect((await t.send('GET', `${KBS}/teas/search`)).status).toBe(405)
    const environment = { EIDER_USERNAME: 'u', EIDER_PASSWORD: 'p' }
    const closed = await createTestApp({ environment })
    expect((await closed.send('POST', `${KBS}/teas/search`, { query: 'x' })).status).toBe(401)
    await closed.close()
  })
})
