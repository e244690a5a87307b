/**
 * Inserts that share a transaction store the same as one after the other, and each gets its own
 * response.
 */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { DuckDBResult } from '@duckdb/node-api'
import { chunkTables } from '../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { Store } from '../../src/store/store.ts'
import {
  current,
  documentOf,
  draftOf,
  failureOf,
  newVector,
  openMemoryStore,
  rowsOf,
  type TestDocument,
} from '../support/store-fixture.ts'

let store: Store
let kb: KnowledgeBase

beforeEach(async () => {
  store = await openMemoryStore()
  kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
})

afterEach(() => store.close())

function put(...documents: readonly TestDocument[]) {
  return store.chunks.replaceDocuments(kb, documents.map(documentOf))
}

/** Returns everything that is stored except the keys. */
async function stored(): Promise<readonly unknown[]> {
  const { chunks, vectors, recentPostings, termCounts } = chunkTables(kb)
  const columns = current(store).storedMetadata.map(({ column }) => column)
  return rowsOf(
    store,
    `SELECT document_id, chunk_content, metadata::VARCHAR, vector, t.term_count,
      (SELECT list({'term': term, 'frequency': frequency} ORDER BY term)
        FROM ${recentPostings} AS p WHERE p.chunk_key = c.chunk_key)::VARCHAR,
      ${columns.join(', ')}
      FROM ${chunks} AS c JOIN ${vectors} USING (chunk_key) JOIN ${termCounts} AS t USING (chunk_key)
      ORDER BY document_id, chunk_content`,
  )
}

/**
 * Inserts of one row: new documents, stored ones, one of them twice, and metadata that is new,
 * wider or does not fit.
 */
function inserts(): readonly TestDocument[] {
  return Array.from({ length: 40 }, (_, index) => ({
    id: `d${index === 25 ? 24 : index}`,
    texts: [`word${index % 7} text number ${index}`],
    vectors: [newVector(index + 1, 2, 3)],
    metadata: {
      price: index === 30 ? 1.5 : index === 12 ? 'none' : index,
      ...(index > 20 ? { late: index } : {}),
    },
  }))
}

test('concurrent inserts store the same as consecutive ones', async () => {
  const first = { id: 'd3', texts: ['before', 'and more'], metadata: { price: 1 } }
  await put(first)
  for (const document of inserts()) await put(document)
  const [expected, columns] = [await stored(), current(store).storedMetadata]
  await store.close()
  store = await openMemoryStore()
  kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  await put(first)
  const before = current(store).revision
  const outcomes = await Promise.all(inserts().map((document) => put(document)))
  expect(outcomes).toEqual(inserts().map(() => ({ kind: 'stored' })))
  expect(await stored()).toEqual(expected)
  expect(current(store).storedMetadata).toEqual(columns)
  expect(current(store).revision - before).toBeLessThan(12)
})

test('one that fails leaves the others stored', async () => {
  await put({ id: 'a', texts: ['a'] })
  await store.catalog.alterKnowledgeBase(current(store), {
    declaredColumns: [{ name: 'day', type: 'DATE' }],
  })
  kb = current(store)
  const writes = Array.from({ length: 8 }, (_, index) => {
    const day = index === 3 ? 'no day' : '2026-01-02'
    return failureOf(put({ id: `d${index}`, texts: ['x'], metadata: { day } }))
  })
  const stale = put({ id: 'd8', texts: ['x'], vectors: [{ kind: 'stored', chunkKey: 99n }] })
  const codes = (await Promise.all(writes)).map(({ code }) => code)
  expect(codes).toEqual(writes.map((_, index) => (index === 3 ? 'insert_failed' : 'none')))
  expect(await stale).toEqual({ kind: 'stale' })
  const ids = (await stored()).map((row) => (row as readonly unknown[])[0])
  expect(ids).toEqual(['a', 'd0', 'd1', 'd2', 'd4', 'd5', 'd6', 'd7'])
})

test('the keys of a failed commit are not given again, because DuckDB may keep them', async () => {
  await put({ id: 'a', texts: ['a'] })
  let commits = 0
  store.setListener({
    needsChange: () => false,
    beginCommit: () => {
      commits += 1
      if (commits === 1) throw new Error('the commit failed')
    },
    endCommit: () => {},
    catalogChanged: () => {},
  })
  const failed = put({ id: 'b', texts: ['b', 'b again'] }).then(() => 'stored', String)
  expect(await failed).toBe('Error: the commit failed')
  await put({ id: 'c', texts: ['c'] })
  const { chunks } = chunkTables(kb)
  const [first = [], last = [], ...more] = await rowsOf(
    store,
    `SELECT document_id, chunk_key::INTEGER FROM ${chunks} ORDER BY chunk_key`,
  )
  expect(first[0]).toBe('a')
  expect(last).toEqual(['c', Number(first[1]) + 3])
  expect(more).toEqual([])
})

test('rows that cannot be read for want of memory are not taken for missing ones', async () => {
  const codeWithoutMemory = async (work: () => Promise<unknown>) => {
    const fetched = spyOn(DuckDBResult.prototype, 'fetchChunk').mockResolvedValue(null)
    const { code } = await failureOf(work())
    fetched.mockRestore()
    return code
  }
  const insert = () => put({ id: 'a', texts: ['a'] })
  expect(await codeWithoutMemory(insert)).toBe('out_of_memory')
  expect(await insert()).toEqual({ kind: 'stored' })
  expect(await codeWithoutMemory(() => store.documents.chunksOf(kb, 'a'))).toBe('out_of_memory')
  expect(await codeWithoutMemory(() => store.documents.counts(kb))).toBe('out_of_memory')
  expect(await store.documents.chunksOf(kb, 'a')).toHaveLength(1)
})

test('all waiting inserts fail if the knowledge base is dropped', async () => {
  await put({ id: 'a', texts: ['a'] })
  const dropped = store.catalog.dropKnowledgeBase(kb)
  const writes = ['b', 'c', 'd'].map((id) => failureOf(put({ id, texts: ['x'] })))
  await dropped
  for (const failure of await Promise.all(writes)) {
    expect(failure.code).toBe('knowledge_base_not_found')
  }
})
