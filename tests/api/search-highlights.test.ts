import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const SEARCH = '/api/projects/mindsdb/knowledge_bases/teas/search'

interface Found {
  readonly results: readonly {
    readonly chunk_id: string
    readonly chunk_content: string
    readonly highlights?: readonly (readonly [number, number])[]
  }[]
  readonly explain?: { readonly sql: string | null }
}

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
  const kb = { name: 'teas', metadata_columns: ['colour', 'price', 'tags'] }
  await app.send('POST', '/api/projects/mindsdb/knowledge_bases', { knowledge_base: kb })
  const rows = Array.from({ length: 30 }, (_, index) => ({
    id: `tea ${index}`,
    content: `${['Green', 'Black', 'White'][index % 3]} teas, the x-ray of ${index} CAFÉS, 緑茶です`,
    colour: `it's ${index % 2}`,
    price: index,
    tags: index % 2 === 0 ? ['a', 'b'] : ['b'],
  }))
  await app.send('PUT', '/api/projects/mindsdb/knowledge_bases/teas', { knowledge_base: { rows } })
})
afterAll(() => app.close())

async function found(body: object): Promise<Found> {
  const answer = await app.send('POST', SEARCH, body)
  expect(answer.status).toBe(200)
  return answer.body as Found
}

test('highlights are the words that a keyword search finds, in every form', async () => {
  const { results } = await found({ query: 'tea cafe xray 緑茶', k: 1, highlight: true })
  const [{ chunk_content: text, highlights = [] } = { chunk_content: '' }] = results
  expect(highlights.map(([start, end]) => text.slice(start, end))).toEqual([
    'teas',
    'x-ray',
    'CAFÉS',
    '緑茶',
  ])
  const plain = await found({ query: 'tea', k: 1 })
  expect(plain.results[0]?.highlights).toBeUndefined()
})

test('the explained statement finds the same chunks', async () => {
  const searches = [
    { query: `it's "black tea"`, mode: 'vector' },
    { query: 'black', mode: 'keyword', k: 5 },
    { query: 'green cafés', alpha: 0.3, fusion: 'rrf', k: 7 },
    {
      query: 'tea',
      filters: { colour: "it's 1", price: { '>': 3, in: [5, 7, 9] }, tags: { contains: 'b' } },
    },
    {
      query: 'tea',
      mode: 'hybrid',
      alpha: 1,
      min_relevance: 0.1,
      filters: { or: [{ price: 2 }, { price: 4 }] },
    },
  ]
  for (const body of searches) {
    const { results, explain } = await found({ ...body, explain: true })
    const rows = await app.rows(explain?.sql ?? '')
    expect(rows.map((row) => row[1])).toEqual(results.map((result) => result.chunk_id))
    expect(results.length).toBeGreaterThan(0)
  }
  const documents = await found({ query: 'tea', per_document: true, explain: true })
  expect(documents.explain?.sql).toBeNull()
})
