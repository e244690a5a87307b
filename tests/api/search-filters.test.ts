import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Answer, createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

const ROWS = [
  { id: 'sencha', content: 'sencha green tea japan', price: 9, colour: 'green', year: 2001 },
  { id: 'assam', content: 'assam black tea india', price: 6, colour: 'black', year: 2002 },
  { id: 'keemun', content: 'keemun black tea china', price: 7, colour: 'black', year: 2003 },
  { id: 'rooibos', content: 'rooibos red bush africa', price: 5, colour: 'red', 'a"b': 1 },
  { id: 'mate', content: 'mate shrub brazil', price: 4, colour: "it's" },
]

/** Its metadata has the names of operators and of search result columns. */
const NAMED = [
  { id: 'a', content: 'one', or: 'x', not: true, and: 1, distance: 7, relevance: 'low', n: 1 },
  { id: 'b', content: 'two', or: 'y', not: false, and: 2, distance: 8, metadata: 'm', tags: [1] },
  { id: 'c', content: 'tea', 'metadata.or': 'z', n: 2.5, reranking: 'q', chunk_id: 'k' },
]

let t: TestApp

beforeAll(async () => {
  t = await createTestApp()
  await fill('teas', ROWS)
  await fill('named', NAMED)
})
afterAll(() => t.close())

async function fill(name: string, rows: readonly unknown[]): Promise<void> {
  expect((await t.send('POST', KBS, { knowledge_base: { name } })).status).toBe(201)
  const filled = await t.send('PUT', `${KBS}/${name}`, { knowledge_base: { rows } })
  expect(filled.status).toBe(200)
}

function sent(body: unknown, kb = 'teas'): Promise<Answer> {
  return t.send('POST', `${KBS}/${kb}/search`, body)
}

async function idsOf(body: unknown, kb = 'teas'): Promise<readonly string[]> {
  const answer = await sent(body, kb)
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
  const { results } = answer.body as { readonly results: readonly { readonly id: string }[] }
  return results.map(({ id }) => id)
}

describe('filters', () => {
  test.each([
    [{ colour: 'black' }, ['assam', 'keemun']],
    [{ COLOUR: 'black', price: { '<': 7 } }, ['assam']],
    [{ price: { '>=': 5, '<=': 6 } }, ['assam', 'rooibos']],
    [{ price: { '>': 6, not: 9 } }, ['keemun']],
    [{ year: { in: [2001, 2003, 7] } }, ['keemun', 'sencha']],
    [{ year: { not_in: [2001, 2002] } }, ['keemun', 'mate', 'rooibos']],
    [{ year: { in: [] } }, []],
    [{ year: { in: [2001, null] } }, ['mate', 'rooibos', 'sencha']],
    [{ year: { not_in: [2001, null] } }, ['assam', 'keemun']],
    [{ year: { not_in: [null] } }, ['assam', 'keemun', 'sencha']],
    [{ year: { not_like: '%3' } }, ['assam', 'mate', 'rooibos', 'sencha']],
    [{ price: '9' }, ['sencha']],
    [{ 'metadata.Price': 9 }, ['sencha']],
    [{ year: { not_in: [] }, id: 'mate' }, ['mate']],
    [{ year: null }, ['mate', 'rooibos']],
    [{ year: { not: null }, price: { '=': 9 } }, ['sencha']],
    [{ colour: { not: 'black' }, price: { '<': 9 } }, ['mate', 'rooibos']],
    [{ year: { not: 2001 } }, ['assam', 'keemun', 'mate', 'rooibos']],
    [{ chunk_content: { like: '%china%' } }, ['keemun']],
    [{ chunk_content: { not_like: '%tea%' } }, ['mate', 'rooibos']],
    [{ price: { like: '6' } }, ['assam']],
    [{ id: { in: ['mate', 'sencha'] }, or: [{ price: 4 }, { price: 5 }] }, ['mate']],
    [
      { or: [{ colour: 'red' }, { and: [{ colour: 'black' }, { price: 7 }] }] },
      ['keemun', 'rooibos'],
    ],
    [{ not: { year: { '>': 2001 } } }, ['mate', 'rooibos', 'sencha']],
    [{ 'a"b': 1 }, ['rooibos']],
    [{ colour: "it's" }, ['mate']],
    [{ colour: "' OR 1=1 --" }, []],
    [{ colour: ':query' }, []],
    [{ id: 5 }, []],
    [{}, ['assam', 'keemun', 'mate', 'rooibos', 'sencha']],
  ])('%j', async (filters, ids) => {
    for (const mode of ['vector', 'hybrid']) {
      const found = await idsOf({ query: 'tea', mode, filters })
      expect(found.toSorted()).toEqual(ids)
    }
  })

  test.each([
    [{ 'metadata.or': 'x' }, ['a']],
    [{ or: [{ 'metadata.or': 'y' }, { 'metadata.not': true }] }, ['a', 'b']],
    [{ 'metadata.and': { '>': 1 } }, ['b']],
    [{ 'metadata.distance': 7 }, ['a']],
    [{ 'METADATA.Distance': { in: [8, 9] } }, ['b']],
    [{ 'metadata.relevance': { like: 'l%' } }, ['a']],
    [{ 'metadata.metadata': 'm' }, ['b']],
    [{ 'metadata.metadata.or': 'z' }, ['c']],
    [{ 'metadata.reranking': 'q', 'metadata.chunk_id': 'k' }, ['c']],
    [{ 'metadata.distance': null, not: { 'metadata.not': true } }, ['c']],
    [{ 'metadata.not': 'false', n: null }, ['b']],
    [{ tags: '[1]' }, ['b']],
  ])('of names that mean something else alone: %j', async (filters, ids) => {
    for (const mode of ['vector', 'hybrid']) {
      const found = await idsOf({ query: 'tea', mode, filters }, 'named')
      expect(found.toSorted()).toEqual(ids)
    }
  })

  test('SQL means the same by metadata.distance', async () => {
    const sql = `SELECT id, metadata.distance, distance < 2 FROM named
      WHERE content = 'tea' AND metadata.distance > 6 AND metadata.content IS NULL ORDER BY id`
    expect(await t.rows(sql)).toEqual([
      ['a', 7, true],
      ['b', 8, true],
    ])
    const { body } = await t.send('POST', '/api/sql/query', {
      query:
        'SELECT metadata.distance, max(metadata.distance) AS m FROM named GROUP BY metadata.distance',
    })
    expect(body).toMatchObject({ column_names: ['distance', 'm'] })
    expect(await t.rows('SELECT metadata.distance AS own FROM named ORDER BY own')).toEqual([
      [7],
      [8],
      [null],
    ])
  })

  test.each([
    ['named', { 'metadata.not': 1 }, '"filters.metadata.not" is a number, which'],
    ['named', { 'metadata.not': { '<': true } }, 'not holds true and false'],
    ['named', { tags: 'x' }, 'Field "filters.tags" is a text'],
    ['named', { tags: { '>': 5 } }, 'tags holds lists and objects'],
    ['named', { n: { in: [1, 'x'] } }, 'Field "filters.n.in[1]" is a text, which'],
    ['named', { or: 'x' }, 'at least one object of conditions; the column is "metadata.or"'],
    ['named', { not: true }, 'must be an object of conditions; the column is "metadata.not"'],
    ['teas', { and: [] }, 'Field "filters.and" must be a list of at least one object'],
    [
      'teas',
      { price: 'abc' },
      '"filters.price" is a text, which cannot be compared so: price holds',
    ],
    ['teas', { price: true }, '"filters.price" is true, which'],
    ['teas', { price: { '<': 'x' } }, 'Field "filters.price.<" is a text'],
    ['teas', { colour: { '<': true } }, 'colour holds texts'],
  ])('values of another type in %s are refused: %j', async (kb, filters, message) => {
    const { status, body } = await sent({ query: 'tea', filters }, kb)
    expect([status, body]).toMatchObject([
      400,
      { code: 'invalid_request', detail: expect.stringContaining(message) },
    ])
  })

  test.each([
    [{ nope: 1 }, 'Field "filters.nope" names no column. There are: id, chunk_id, chunk_content'],
    [{ 'price") OR true --': 1 }, 'names no column'],
    [{ relevance: 1 }, 'Field "filters.relevance" names no column'],
    [{ __chunk_key: 1 }, 'names no column'],
    [{ content: 'x' }, 'names no column'],
    [{ price: { '<>': 1 } }, 'Field "filters.price.<>" is not an operator. There are: ='],
    [{ price: {} }, 'Field "filters.price" needs an operator'],
    [{ price: { '<': null } }, 'Field "filters.price.<" must be a string, a number'],
    [{ price: { '<': { a: 1 } } }, 'must be a string, a number'],
    [{ price: [1, 2] }, 'Field "filters.price" must be a string, a number'],
    [{ price: { in: 3 } }, 'Field "filters.price.in" must be a list'],
    [{ price: { in: [1, 'x'] } }, 'Field "filters.price.in[1]" is a text'],
    [{ colour: { like: 3 } }, 'Field "filters.colour.like" must be a string'],
    [{ or: [] }, 'Field "filters.or" must be a list'],
    [{ or: [{ price: 1 }, 3] }, 'Field "filters.or[1]" must be an object'],
    [{ not: 'x' }, 'Field "filters.not" must be an object'],
    [nested(30), 'Field "filters" may be nested 10 levels deep'],
    [{ or: Array.from({ length: 300 }, () => ({ price: 1 })) }, 'may have 200 conditions'],
    ['price = 1', 'Field "filters" must be an object'],
  ])('%j is refused', async (filters, message) => {
    const { status, body } = await sent({ query: 'tea', filters })
    expect([status, body]).toMatchObject([400, { detail: expect.stringContaining(message) }])
  })

  function nested(depth: number): unknown {
    return depth === 0 ? { price: 1 } : { not: nested(depth - 1) }
  }
})

test('a filter can have more ids than a statement may have values', async () => {
  const many = Array.from({ length: 60_000 }, (_, at) => `x${at}`)
  const filters = { id: { in: ['\ud800', `it's "x"`, ...many, 'assam', 'mate'] } }
  for (const mode of ['vector', 'keyword', 'hybrid']) {
    expect((await idsOf({ query: 'tea shrub', mode, filters })).toSorted()).toEqual([
      'assam',
      'mate',
    ])
  }
  const others = { id: { not_in: [...many, 'assam', 'mate', null] } }
  expect((await idsOf({ query: 'tea', mode: 'vector', filters: others })).toSorted()).toEqual([
    ...['keemun', 'rooibos', 'sencha'],
  ])
  const explained = await sent({ query: 'tea', mode: 'vector', filters, explain: true })
  const { sql } = (explained.body as { readonly explain: { readonly sql: string } }).explain
  const same = await t.send('POST', '/api/sql/query', { query: sql })
  expect((same.body as { readonly data: readonly unknown[] }).data).toHaveLength(2)
  const tooMany = { id: { in: Array.from({ length: 200_001 }, String) } }
  expect((await sent({ query: 'tea', filters: tooMany })).text).toContain('200000 values')
  const numbers = { price: { in: Array.from({ length: 10_001 }, (_, at) => at) } }
  expect((await sent({ query: 'tea', filters: numbers })).text).toContain('10000 values')
})
