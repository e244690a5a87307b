import { describe, expect, test } from 'bun:test'
import { rowsOf } from '../../../src/core/domain/query-result.ts'
import { insert } from '../../../src/ingest/pipeline/insert.ts'
import { fixture, never } from '../../ingest/insert-fixture.ts'
import { knowledgeBase } from '../../support/knowledge-base.ts'

const crawl = { allowedDomains: [], patterns: [] }

/** Replaces a table too large for one transaction. */
function largeTable(count: number) {
  return rowsOf(
    ['id', 'content'],
    Array.from({ length: count }, (_, id) => [id, `text ${id}`]),
  )
}

describe('a query of more than 2 000 chunks', () => {
  test('is stored piece by piece, whole documents each', async () => {
    const { store, deps } = fixture({ select: async () => largeTable(10_000) })
    const report = await insert({ kb: knowledgeBase(), query: 'SELECT 1', crawl }, deps, never)
    expect(report).toEqual({ storedDocuments: 10_000, skippedRows: 0, chunks: 10_000 })
    expect(store.writes.map((ids) => ids.length)).toEqual([2_000, 2_000, 2_000, 2_000, 2_000])
  })

  test('is stored by characters where its chunks are long', async () => {
    const rows = Array.from({ length: 10 }, (_, id) => [id, `${id} ${'word '.repeat(200_000)}`])
    const { store, deps } = fixture({ select: async () => rowsOf(['id', 'content'], rows) })
    await insert({ kb: knowledgeBase(), query: 'SELECT 1', crawl }, deps, never)
    expect(store.writes.length).toBeGreaterThanOrEqual(2)
    expect(store.writes.flat()).toEqual(rows.map(([id]) => String(id)))
  })

  test('that fails later says how many rows are stored', async () => {
    const { store, embedder, deps } = fixture({ select: async () => largeTable(10_000) })
    embedder.failsAt = 'text 9000'
    const rows = [{ id: 'own', content: 'a row' }]
    const all = { kb: knowledgeBase(), rows, query: 'SELECT 1', crawl }
    await expect(insert(all, deps, never)).rejects.toMatchObject({
      code: 'provider_failed',
      message: expect.stringMatching(/Stored: 8000 rows of query and 1 row of the other sources$/),
    })
    expect(store.documents.size).toBe(8_001)
  })
})

test('rows beyond one transaction are refused whole', async () => {
  const { store, embedder, deps } = fixture()
  const rows = Array.from({ length: 500_001 }, (_, id) => ({ id, content: 'x' }))
  await expect(insert({ kb: knowledgeBase(), rows, crawl }, deps, never)).rejects.toMatchObject({
    code: 'insert_failed',
    message: expect.stringContaining('at most 500000 chunks are stored at once'),
  })
  expect([store.writes, embedder.batches]).toEqual([[], []])
}, 180_000)

test('a cell of ten million characters keeps its offsets', async () => {
  const { store, deps } = fixture()
  const content = 'A line of text, and \u{1F986} another sentence.\u0000 \ud800\n'.repeat(230_000)
  await insert({ kb: knowledgeBase(), rows: [{ id: 1, content }], crawl }, deps, never)
  const stored = content.toWellFormed()
  const chunks = store.documents.get('1')?.chunks ?? []
  expect(chunks.length).toBeGreaterThan(10_000)
  const wrong = chunks.filter(({ chunk }) => {
    return stored.slice(chunk.startChar, chunk.endChar) !== chunk.content
  })
  expect(wrong).toEqual([])
})
