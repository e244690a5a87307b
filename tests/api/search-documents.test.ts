/** `per_document`: ten results are the first ten documents in the ranking of all chunks. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { RerankerRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const WORDS = ['green', 'black', 'tea', 'japan', 'india', 'milk', 'leaf', 'cup', 'hill', 'rain']
const CHUNKED = { text_chunking_config: { chunk_size: 24, chunk_overlap: 0 } }

interface Result {
  readonly id: string
  readonly chunk_id: string
  readonly chunk_content: string
  readonly relevance: number
}

/** A longer passage is better. */
const rerankers: RerankerRegistry = {
  providers: ['rerank'],
  reranker: () => ({
    rerank: async (_, passages) => passages.map((passage) => passage.length / 100),
  }),
}

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ rerankers })
  await make('books', {}, documents(40))
  await make('judged', { reranking_model: { provider: 'rerank', candidates: 7 } }, documents(30))
  // One document has nearly all of the chunks, and each of them has the words of the query.
  const long = { id: 'long', content: Array.from({ length: 500 }, () => 'green tea.').join('\n\n') }
  await make('skewed', {}, [long, { id: 'short', content: 'a green cup' }, ...documents(3)])
})
afterAll(() => t.close())

async function make(name: string, options: object, rows: readonly unknown[]): Promise<void> {
  await t.send('POST', KBS, { knowledge_base: { name, preprocessing: CHUNKED, ...options } })
  const filled = await t.send('PUT', `${KBS}/${name}`, { knowledge_base: { rows } })
  expect(filled.status).toBe(200)
}

function documents(count: number): readonly object[] {
  return Array.from({ length: count }, (_, number) => {
    const sentences = Array.from({ length: 1 + (number % 7) }, (_, part) => {
      const word = (offset: number) => WORDS[(number * 3 + part * 5 + offset) % WORDS.length]
      return `${word(0)} ${word(number % 4)} ${word(part)}.`
    })
    return { id: `d${number}`, content: sentences.join('\n\n'), price: number % 5 }
  })
}

async function search(kb: string, body: object): Promise<readonly Result[]> {
  const answer = await t.send('POST', `${KBS}/${kb}/search`, body)
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
  return (answer.body as { readonly results: readonly Result[] }).results
}

/** Returns the first chunk of each document in the whole ranking. */
function grouped(chunks: readonly Result[], k: number): readonly Result[] {
  const best = new Map<string, Result>()
  for (const chunk of chunks) if (!best.has(chunk.id)) best.set(chunk.id, chunk)
  return [...best.values()].slice(0, k).map((chunk, index) => ({ ...chunk, rank: index + 1 }))
}

describe('per_document', () => {
  test('gives the first documents of the ranking of all chunks', async () => {
    const query = fc
      .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 })
      .map((words) => words.join(' '))
    const filters = fc.constantFrom({}, { price: { '<': 2 } }, { price: 4 }, { price: 9 })
    const searches = fc.record({
      query,
      filters,
      mode: fc.constantFrom('hybrid', 'vector', 'keyword'),
      k: fc.integer({ min: 1, max: 80 }),
      min_relevance: fc.constantFrom(null, 0, 0.3, 0.6),
    })
    await fc.assert(
      fc.asyncProperty(searches, async ({ k, ...body }) => {
        const all = await search('books', { ...body, k: 10_000 })
        const found = await search('books', { ...body, k, per_document: true })
        expect<unknown>(found).toEqual(grouped(all, k))
      }),
      { numRuns: 12 },
    )
  })

  test.each(['hybrid', 'vector', 'keyword'])(
    'looks as far as it must where one document has all of the best chunks, by %s',
    async (mode) => {
      const body = { query: 'green tea', mode }
      const all = await search('skewed', { ...body, k: 10_000 })
      for (const k of [1, 2, 10]) {
        const found = await search('skewed', { ...body, k, per_document: true })
        expect<unknown>(found).toEqual(grouped(all, k))
      }
    },
  )

  test('sees the writes before it', async () => {
    const body = { query: 'white peony', k: 3, per_document: true }
    const row = { id: 'peony', content: 'white peony.\n\nwhite peony tea.', price: 1 }
    await t.send('PUT', `${KBS}/books`, { knowledge_base: { rows: [row] } })
    const [first, second] = await search('books', body)
    expect([first?.id, first?.chunk_content]).toEqual(['peony', 'white peony.'])
    expect(second?.id).not.toBe('peony')
    await t.send('POST', '/api/sql/query', { query: "DELETE FROM books WHERE id = 'peony'" })
    expect((await search('books', body)).map(({ id }) => id)).not.toContain('peony')
  })

  test('of a reranked search gives the documents of its candidates, then the others', async () => {
    const body = { query: 'green tea', mode: 'vector' }
    const chunks = await search('judged', { ...body, k: 7 })
    const plain = await search('judged', { ...body, k: 10_000, rerank: false })
    const first = grouped(chunks, 30)
    const found = await search('judged', { ...body, k: 12, per_document: true })
    expect<unknown>(found.slice(0, first.length)).toEqual(first)
    const known = new Set(first.map(({ id }) => id))
    const others = grouped(plain, 30).filter(({ id }) => !known.has(id))
    expect(found.slice(first.length).map(({ chunk_id }) => chunk_id)).toEqual(
      others.slice(0, 12 - first.length).map(({ chunk_id }) => chunk_id),
    )
    const relevances = found.map(({ relevance }) => relevance)
    expect<unknown>(relevances).toEqual(relevances.toSorted((one, other) => other - one))
  })
})
