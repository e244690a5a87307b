/** How often the documents of a knowledge base are counted. */
import { expect, test } from 'bun:test'
import type { DuckDBConnection } from '@duckdb/node-api'
import { ListedDocuments } from '../../src/store/documents/listed-documents.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'

/** Returns one more document each time it counts. */
function counting(chunks: number, takesMs: readonly number[] = []) {
  let times = 0
  const read = async () => {
    times += 1
    const row = [times, chunks]
    await Bun.sleep(takesMs[times - 1] ?? 0)
    return { getRows: async () => [row], rowCount: 1 }
  }
  // Only this part of a connection is used here.
  const connection = { run: read } as unknown as DuckDBConnection
  return new ListedDocuments({ lease: (work) => work(connection) })
}

test('once for concurrent requests, and again after a write', async () => {
  const documents = counting(10)
  const [first, second] = [knowledgeBase({ revision: 1 }), knowledgeBase({ revision: 2 })]
  const asked = [documents.counts(first), documents.count(first), documents.counts(first)]
  expect(await Promise.all(asked)).toMatchObject([{ documents: 1 }, 1, { documents: 1 }])
  expect(await documents.counts(second)).toEqual({ documents: 2, chunks: 10 })
})

test('a large knowledge base that is being written is not counted for every request', async () => {
  const documents = counting(1_000_000, [200])
  const [first, second] = [knowledgeBase({ revision: 1 }), knowledgeBase({ revision: 2 })]
  expect(await documents.counts(first)).toMatchObject({ documents: 1 })
  expect(await documents.counts(second)).toMatchObject({ documents: 1 })
  // A client that pages through them gets the exact number.
  expect(await documents.count(second)).toBe(2)
})

test('a count of an earlier state does not replace a later one', async () => {
  const documents = counting(10, [50, 0])
  const [first, second] = [knowledgeBase({ revision: 1 }), knowledgeBase({ revision: 2 })]
  const slow = documents.count(first)
  expect(await documents.count(second)).toBe(2)
  expect(await slow).toBe(1)
  expect(await documents.count(second)).toBe(2)
})
