import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Row } from '../../src/core/domain/document.ts'
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

async function column(name: string, order = 'chunk_key') {
  const sql = `SELECT ${name} FROM ${chunkTables(kb).chunks} ORDER BY ${order}`
  return (await rowsOf(store, sql)).map(([value]) => value)
}

/** Returns the values of a metadata column with its present type. */
function metadataColumn(name: string) {
  const found = current(store).storedMetadata.find((known) => known.name === name)
  if (found === undefined) throw new Error(`no metadata column ${name}`)
  return column(found.column)
}

test('a document replaces everything stored under its id', async () => {
  await put({ id: 'a', texts: ['1', '2', '3'] }, { id: 'b', texts: ['4'] })
  expect(await put({ id: 'a', texts: ['new'] })).toEqual({ kind: 'stored' })
  expect(await column('chunk_content')).toEqual(['4', 'new'])
  const vectors = await rowsOf(store, `SELECT count(*) FROM ${chunkTables(kb).vectors}`)
  expect(vectors).toEqual([[2]])
  await put({ id: 'a', texts: [] })
  expect(await column('document_id')).toEqual(['b'])
})

test('a write increases the revision and sets the dimensions', async () => {
  expect([kb.revision, kb.dimensions]).toEqual([0, null])
  await put({ id: 'a', texts: ['x'] })
  expect([current(store).revision, current(store).dimensions]).toEqual([1, 3])
})

test('metadata holds the standard keys in order, then the values as they were', async () => {
  const metadata: Row = {
    price: 1.0,
    source: 'mine',
    tags: ['a', { b: null }],
    none: null,
    'k"ey': 'v\n',
  }
  await put({ id: 'a', texts: ['x'], metadata })
  const [text] = await column('metadata::VARCHAR')
  expect(text).toBe(
    '{"chunk_index":0,"content_column":"content","start_char":0,"end_char":1,' +
      '"original_doc_id":"a","original_row_index":"0","source":"TextChunkingPreprocessor",' +
      '"price":1,"tags":["a",{"b":null}],"none":null,"k\\"ey":"v\\n"}',
  )
  expect(await metadataColumn('source')).toEqual(['mine'])
  expect(await metadataColumn('tags')).toEqual([['a', { b: null }]])
})

test('vectors are stored with length one', async () => {
  await put({ id: 'a', texts: ['x'], vectors: [newVector(3, 4, 0)] })
  const rows = await rowsOf(store, `SELECT vector FROM ${chunkTables(kb).vectors}`)
  const [vector] = rows[0] ?? []
  expect(vector).toEqual([Math.fround(0.6), Math.fround(0.8), 0])
})

test.each([
  ['zero', newVector(0, 0, 0)],
  ['NaN', newVector(1, Number.NaN, 0)],
  ['infinite', newVector(1, Number.POSITIVE_INFINITY, 0)],
  ['empty', newVector()],
])('a vector that is %s is refused and nothing is stored', async (_, vector) => {
  const write = put({ id: 'a', texts: ['x', 'y'], vectors: [newVector(1, 0, 0), vector] })
  const { code } = await failureOf(write)
  expect(['provider_failed', 'dimension_mismatch']).toContain(code)
  expect(await store.chunks.chunkCount(kb)).toBe(0)
})

test('another number of dimensions is refused, naming both', async () => {
  await put({ id: 'a', texts: ['x'] })
  const write = put({ id: 'a', texts: ['y'], vectors: [newVector(1, 2)] })
  expect(await failureOf(write)).toEqual({
    code: 'dimension_mismatch',
    message: 'Dimensions do not match: the model gives 2, kb holds 3',
  })
  expect(await column('chunk_content')).toEqual(['x'])
})

test('unchanged text reuses its stored vector under a new key', async () => {
  await put({ id: 'a', texts: ['same', 'old'], vectors: [newVector(1, 0, 0), newVector(0, 1, 0)] })
  const stored = await store.chunks.storedTexts(kb, ['a', 'missing'])
  expect(stored.map(({ documentId, content }) => [documentId, content])).toEqual([
    ['a', 'same'],
    ['a', 'old'],
  ])
  const chunkKey = stored[0]?.chunkKey ?? 0n
  const outcome = await put({
    id: 'a',
    texts: ['new', 'same'],
    vectors: [newVector(0, 0, 1), { kind: 'stored', chunkKey }],
  })
  expect(outcome).toEqual({ kind: 'stored' })
  const { chunks, vectors } = chunkTables(kb)
  const sql = `SELECT chunk_content, vector FROM ${chunks} JOIN ${vectors} USING (chunk_key)
    WHERE chunk_key > ${chunkKey} ORDER BY chunk_key`
  expect(await rowsOf(store, sql)).toEqual([
    ['new', [0, 0, 1]],
    ['same', [1, 0, 0]],
  ])
})

test('if a stored vector no longer exists, the write is stale and changes nothing', async () => {
  await put({ id: 'a', texts: ['same'] })
  const [stored] = await store.chunks.storedTexts(kb, ['a'])
  await put({ id: 'a', texts: ['other'] })
  const before = current(store)
  const vectors = [{ kind: 'stored', chunkKey: stored?.chunkKey ?? 0n }] as const
  const metadata = { fresh: 1 }
  expect(await put({ id: 'a', texts: ['same'], vectors, metadata })).toEqual({ kind: 'stale' })
  expect(current(store)).toEqual(before)
  expect(await column('chunk_content')).toEqual(['other'])
})

test('concurrent inserts of one document leave exactly one of them', async () => {
  const writes = Array.from({ length: 12 }, (_, index) => {
    return put({ id: 'a', texts: [`${index}`, `${index}`], metadata: { [`m${index % 3}`]: index } })
  })
  await Promise.all(writes)
  const contents = await column('chunk_content')
  expect(contents).toHaveLength(2)
  expect(new Set(contents).size).toBe(1)
  expect(current(store).revision).toBe(12)
})

test('numbers widen, and what fits no number is null and counted', async () => {
  await put({ id: 'a', texts: ['x'], metadata: { n: 1, flag: true } })
  await put({ id: 'b', texts: ['x'], metadata: { N: 2.5, flag: false } })
  expect(await metadataColumn('n')).toEqual([1, 2.5])
  await put({ id: 'c', texts: ['x'], metadata: { n: 'three', flag: 'maybe' } })
  await put({ id: 'd', texts: ['x'], metadata: { n: [4], late: 9 } })
  expect(await metadataColumn('n')).toEqual([1, 2.5, null, null])
  expect(await column("coalesce(metadata->>'n', metadata->>'N')")).toEqual([
    '1',
    '2.5',
    'three',
    '[4]',
  ])
  expect(await metadataColumn('flag')).toEqual([true, false, null, null])
  const strays = current(store).storedMetadata.map(({ name, strayCount = 0 }) => [name, strayCount])
  expect(strays).toEqual([
    ['n', 2],
    ['flag', 1],
    ['late', 0],
  ])
  expect(await metadataColumn('late')).toEqual([null, null, null, 9])
})

test('a write into a knowledge base that was dropped meanwhile is refused', async () => {
  const write = put({ id: 'a', texts: ['x'] })
  const drop = store.catalog.dropKnowledgeBase(kb)
  const late = put({ id: 'b', texts: ['x'] })
  const [first, second] = await Promise.all([failureOf(write), failureOf(late), drop])
  expect(second.code).toBe('knowledge_base_not_found')
  expect(['none', 'knowledge_base_not_found']).toContain(first.code)
  const read = store.chunks.storedTexts(kb, ['a'])
  expect((await failureOf(read)).code).toBe('knowledge_base_not_found')
})

test('NUL stays, a lone surrogate becomes U+FFFD, and offsets stay true', async () => {
  const text = 'a\0b\ud800c😀'
  await put({ id: 'i\ud800', texts: [text], metadata: { 'k\udc00': ['\ud800', 'n\0'], t: text } })
  const [stored] = await store.chunks.storedTexts(kb, ['i\ud800'])
  expect(stored?.content).toBe('a\0b\ufffdc😀')
  expect(stored?.content.length).toBe(text.length)
  expect(await metadataColumn('t')).toEqual(['a\0b\ufffdc😀'])
  const [metadata] = await column(`metadata->'$."k\ufffd"'`)
  expect(metadata).toEqual(['\ufffd', 'n\0'])
})

test('rows with many columns and a long text are stored whole', async () => {
  const metadata = Object.fromEntries(
    Array.from({ length: 1000 }, (_, index) => [`c${index}`, index]),
  )
  const text = 'é'.repeat(300_000)
  await put({ id: 'a', texts: [text], metadata })
  expect(await column('chunk_content')).toEqual([text])
  expect(await metadataColumn('c999')).toEqual([999])
})

test('a chunk that comes alone is stored as among others', async () => {
  const metadata: Row = { text: 'é\0', n: 2 ** 53 - 1, part: 1 / 3, ok: false, list: [1, null] }
  const extremes: Row = { part: -0, n: -(2 ** 53), text: `a, "b" ['c'] {d} \\e NULL` }
  const rows: readonly Row[] = [
    metadata,
    { ...metadata, n: null, ok: null, text: '' },
    {},
    extremes,
    { part: 1.7976931348623157e308, text: 'NULL', list: '[NULL]' },
    { part: 5e-324, n: 0, ok: true },
  ]
  const documents = rows.map((own, index) => {
    return { id: `d${index}`, texts: [`some words, words ${index}`], metadata: own }
  })
  const vector = newVector(1 / 3, 1e-30, -Math.SQRT2)
  const withVector = (document: TestDocument) => {
    const { chunks, ...rest } = documentOf(document)
    return { ...rest, chunks: chunks.map((chunk) => ({ ...chunk, vector })) }
  }
  const stored = async () => {
    const { chunks, vectors, recentPostings, termCounts } = chunkTables(kb)
    const own = 'SELECT * EXCLUDE (chunk_key), typeof(metadata) FROM'
    return Promise.all([
      rowsOf(store, `${own} ${chunks} ORDER BY document_id`),
      rowsOf(store, `SELECT vector FROM ${vectors}`),
      rowsOf(store, `SELECT * EXCLUDE (chunk_key) FROM ${recentPostings} ORDER BY ALL`),
      rowsOf(store, `SELECT term_count FROM ${termCounts}`),
    ])
  }
  await store.chunks.replaceDocuments(kb, documents.map(withVector))
  const together = await stored()
  for (const one of documents) await store.chunks.replaceDocuments(kb, [withVector(one)])
  expect(await stored()).toEqual(together)
})
