import { afterEach, beforeEach, expect, test } from 'bun:test'
import {
  type ChunkChange,
  chunkTables,
  type DocumentChange,
} from '../../src/core/domain/document.ts'
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

async function column(name: string) {
  const sql = `SELECT ${name} FROM ${chunkTables(kb).chunks} ORDER BY document_id, chunk_id`
  return (await rowsOf(store, sql)).map(([value]) => value)
}

/** Returns the values of a metadata column with its present type. */
function metadataColumn(name: string) {
  const found = current(store).storedMetadata.find((known) => known.name === name)
  if (found === undefined) throw new Error(`no metadata column ${name}`)
  return column(found.column)
}

async function keys(): Promise<readonly bigint[]> {
  return (await column('chunk_key')).map((key) => BigInt(String(key)))
}

async function keyOf(index: number): Promise<bigint> {
  const key = (await keys())[index]
  if (key === undefined) throw new Error(`no chunk ${index}`)
  return key
}

/** Returns how many rows in the other tables have no chunk, or are missing. */
async function strayRows(): Promise<number> {
  const { chunks, vectors, postings, recentPostings, termCounts } = chunkTables(kb)
  const [counts] = await rowsOf(
    store,
    `SELECT (SELECT count(*) FROM ${chunks} FULL JOIN ${vectors} USING (chunk_key)
        WHERE document_id IS NULL OR vector IS NULL)
      + (SELECT count(*) FROM ${chunks} FULL JOIN ${termCounts} USING (chunk_key)
        WHERE document_id IS NULL OR term_count IS NULL)
      + (SELECT count(*) FROM (FROM ${postings} UNION ALL FROM ${recentPostings}) AS p
        ANTI JOIN ${chunks} USING (chunk_key))`,
  )
  return Number(counts?.[0])
}

test('chunks are removed with their vectors and terms; keys without a chunk do not count', async () => {
  await put({ id: 'a', texts: ['one', 'two'] }, { id: 'b', texts: ['three'] })
  const [first, , third] = await keys()
  if (first === undefined || third === undefined) throw new Error('three chunks')
  expect(await store.chunks.removeChunks(kb, [first, third, 999n, first])).toBe(2)
  expect(await column('chunk_content')).toEqual(['two'])
  expect(await strayRows()).toBe(0)
  expect(current(store).revision).toBe(2)
})

test('thousands of chunks are removed at once', async () => {
  const documents = Array.from({ length: 2_500 }, (_, index) => ({ id: `d${index}`, texts: ['x'] }))
  await put(...documents)
  const all = await keys()
  expect(await store.chunks.removeChunks(kb, all.slice(1))).toBe(2_499)
  expect(await keys()).toEqual([await keyOf(0)])
  expect(await strayRows()).toBe(0)
  expect(await store.chunks.removeChunks(kb, all)).toBe(1)
})

test('metadata is changed in place: other values, the text and the key stay', async () => {
  const metadata = { price: 3, tags: ['a'], none: null }
  await put({ id: 'a', texts: ['one'], metadata }, { id: 'b', texts: ['two'], metadata })
  const before = await keys()
  const changes: ChunkChange[] = [
    { chunkKey: await keyOf(0), metadata: { price: 4, fresh: true } },
    { chunkKey: 999n, metadata: { price: 5 } },
  ]
  expect(await store.chunks.changeChunks(kb, changes)).toBe(1)
  expect(await keys()).toEqual(before)
  expect(await metadataColumn('price')).toEqual([4, 3])
  expect(await metadataColumn('fresh')).toEqual([true, null])
  const [shown, other] = await column('metadata::VARCHAR')
  expect(String(shown)).toEndWith(',"price":4,"tags":["a"],"none":null,"fresh":true}')
  expect(String(other)).toEndWith(',"price":3,"tags":["a"],"none":null}')
})

test('a name in another case is the same value, under its first spelling', async () => {
  await put({ id: 'a', texts: ['one'], metadata: { Price: 3 } })
  const chunkKey = await keyOf(0)
  await store.chunks.changeChunks(kb, [{ chunkKey, metadata: { PRICE: 4 } }])
  expect(await column(`metadata->>'Price'`)).toEqual(['4'])
  expect(await metadataColumn('Price')).toEqual([4])
  expect(current(store).storedMetadata).toHaveLength(1)
})

test('a wider number makes the column wider for all, and text is null there', async () => {
  await put(
    { id: 'a', texts: ['one'], metadata: { p: 1 } },
    { id: 'b', texts: ['two'], metadata: { p: 2 } },
  )
  const chunkKey = await keyOf(0)
  await store.chunks.changeChunks(kb, [{ chunkKey, metadata: { p: 1.5 } }])
  expect(await metadataColumn('p')).toEqual([1.5, 2])
  await store.chunks.changeChunks(kb, [{ chunkKey, metadata: { p: 'cheap' } }])
  expect(await metadataColumn('p')).toEqual([null, 2])
  expect(await column(`metadata->>'p'`)).toEqual(['cheap', '2'])
  await store.chunks.changeChunks(kb, [{ chunkKey, metadata: { p: null } }])
  expect(await column(`metadata->>'p'`)).toEqual([null, '2'])
  expect(current(store).storedMetadata).toMatchObject([{ type: 'DOUBLE', strayCount: 1 }])
})

test('a value that a standard key hides is kept, and can be changed', async () => {
  await put({ id: 'a', texts: ['one'], metadata: { source: 'web', chunk_index: 7, p: 1 } })
  const chunkKey = await keyOf(0)
  await store.chunks.changeChunks(kb, [{ chunkKey, metadata: { p: 2 } }])
  expect(await metadataColumn('source')).toEqual(['web'])
  await store.chunks.changeChunks(kb, [{ chunkKey, metadata: { source: 'mail' } }])
  expect(await metadataColumn('source')).toEqual(['mail'])
  expect(await metadataColumn('chunk_index')).toEqual([7])
  expect(await column(`metadata->>'source'`)).toEqual(['TextChunkingPreprocessor'])
  const chunks = [documentOf({ id: 'a', texts: ['new'] }).chunks].flat()
  const change = { documentId: 'a', columns: ['content'], chunks, metadata: {} }
  await store.chunks.changeDocuments(kb, [change])
  expect(await metadataColumn('source')).toEqual(['mail'])
  expect(await column('chunk_content')).toEqual(['new'])
})

test('a new text replaces the old one under the same chunk id', async () => {
  await put({ id: 'a', texts: ['one', 'two'], metadata: { p: 1, source: 'web' } })
  const [chunkId] = await column('chunk_id')
  const content = { text: 'uno \ud800', vector: Float32Array.from([0, 0, 2]) }
  const change = { chunkKey: await keyOf(0), content, metadata: { q: 2 } }
  expect(await store.chunks.changeChunks(kb, [change])).toBe(1)
  expect(await column('chunk_content')).toEqual(['uno \ufffd', 'two'])
  expect((await column('chunk_id'))[0]).toBe(chunkId)
  expect(await metadataColumn('p')).toEqual([1, 1])
  expect(await metadataColumn('q')).toEqual([2, null])
  expect(await metadataColumn('source')).toEqual(['web', 'web'])
  const vector = `SELECT vector FROM ${chunkTables(kb).vectors} WHERE chunk_key = ${await keyOf(0)}`
  expect(await rowsOf(store, vector)).toEqual([[[0, 0, 1]]])
  expect(await strayRows()).toBe(0)
})

test('a document keeps everything that a change does not name', async () => {
  const { document, chunks } = documentOf({ id: 'a', texts: ['one', 'two'], metadata: { p: 1 } })
  const titles = documentOf({ id: 'a', texts: ['title'] }).chunks.map(({ chunk, ...others }) => {
    return { ...others, chunk: { ...chunk, chunkId: 'a:title:1of1:0to5', contentColumn: 'title' } }
  })
  const whole = { document: { ...document, rowIndex: 4 }, chunks: [...chunks, ...titles] }
  await store.chunks.replaceDocuments(kb, [whole])
  const change: DocumentChange = {
    documentId: 'a',
    columns: ['CONTENT'],
    chunks: documentOf({ id: 'a', texts: ['new'] }).chunks,
    metadata: { P: 2 },
  }
  const gone: DocumentChange = { ...change, documentId: 'gone' }
  const outcome = await store.chunks.changeDocuments(kb, [change, gone])
  expect(outcome).toEqual({ kind: 'stored', documentCount: 1, chunkCount: 2 })
  expect(await column('chunk_content')).toEqual(['new', 'title'])
  expect(await metadataColumn('p')).toEqual([2, 2])
  expect(await column(`metadata->>'original_row_index'`)).toEqual(['4', '4'])
  expect(await strayRows()).toBe(0)
})

test('a change of a document may take stored vectors over, while they are there', async () => {
  await put({ id: 'a', texts: ['one', 'two'], vectors: [newVector(1, 0, 0), newVector(0, 1, 0)] })
  const [first = 0n, second = 0n] = await keys()
  const chunksOf = (chunkKey: bigint) => {
    const vectors = [{ kind: 'stored', chunkKey } as const]
    return documentOf({ id: 'a', texts: ['two'], vectors }).chunks
  }
  const change = { documentId: 'a', columns: ['content'], metadata: { p: 1 } }
  const asked = [{ ...change, chunks: chunksOf(second) }]
  expect(await store.chunks.changeDocuments(kb, asked)).toEqual({
    kind: 'stored',
    documentCount: 1,
    chunkCount: 1,
  })
  const vectors = `SELECT vector FROM ${chunkTables(kb).vectors}`
  expect(await rowsOf(store, vectors)).toEqual([[[0, 1, 0]]])
  const stale = [{ ...change, chunks: chunksOf(first), metadata: { p: 2 } }]
  expect(await store.chunks.changeDocuments(kb, stale)).toEqual({ kind: 'stale' })
  expect(await metadataColumn('p')).toEqual([1])
})

test('a change that fails changes nothing', async () => {
  await put({ id: 'a', texts: ['one'], metadata: { p: 1 } }, { id: 'b', texts: ['two'] })
  const content = (...values: readonly number[]) => ({
    text: 'x',
    vector: Float32Array.from(values),
  })
  const metadata = { p: 'new', q: 1 }
  const cases = [
    [content(1, 2), 'dimension_mismatch'],
    [content(0, 0, 0), 'provider_failed'],
    [content(1, Number.NaN, 0), 'provider_failed'],
  ] as const
  for (const [bad, code] of cases) {
    const changes: ChunkChange[] = [
      { chunkKey: await keyOf(0), metadata },
      { chunkKey: await keyOf(1), content: bad },
    ]
    expect((await failureOf(store.chunks.changeChunks(kb, changes))).code).toBe(code)
  }
  expect(await metadataColumn('p')).toEqual([1, null])
  expect(current(store).storedMetadata.map(({ name }) => name)).toEqual(['p'])
  expect(current(store).revision).toBe(1)
  await store.catalog.dropKnowledgeBase(kb)
  const change = { chunkKey: 1n, metadata }
  const { code } = await failureOf(store.chunks.changeChunks(kb, [change]))
  expect(code).toBe('knowledge_base_not_found')
})

test("concurrent writes lose none of each other's changes", async () => {
  await put({ id: 'a', texts: ['one'], metadata: { p: 0 } })
  const chunkKey = await keyOf(0)
  const changes = Array.from({ length: 20 }, (_, index) => {
    return store.chunks.changeChunks(kb, [{ chunkKey, metadata: { [`k${index}`]: index } }])
  })
  const removed = put({ id: 'b', texts: ['two'] })
  expect(await Promise.all(changes)).toEqual(changes.map(() => 1))
  await removed
  const [shown] = await column('metadata::VARCHAR')
  for (let index = 0; index < 20; index += 1) expect(shown).toContain(`"k${index}":${index}`)
})
