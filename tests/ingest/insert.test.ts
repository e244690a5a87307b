import { describe, expect, test } from 'bun:test'
import type { Row } from '../../src/core/domain/document.ts'
import { rowsOf } from '../../src/core/domain/query-result.ts'
import { AppError } from '../../src/core/errors.ts'
import { insert } from '../../src/ingest/pipeline/insert.ts'
import { storeRows } from '../../src/ingest/pipeline/store-rows.ts'
import { DocumentReader } from '../../src/ingest/readers/document-reader.ts'
import type { InsertRequest } from '../../src/ingest/sources/insert-request.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'
import { FakeWeb, fixture, never } from './insert-fixture.ts'

const crawl = { allowedDomains: [], patterns: [] }

function request(changes: Partial<InsertRequest>): InsertRequest {
  return { kb: knowledgeBase(), crawl, ...changes }
}

async function failure(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => new Error('nothing failed'),
    (cause: unknown) => cause,
  )
  if (error instanceof AppError) return error
  throw error
}

describe('rows', () => {
  test('are stored in one transaction, empty ones are counted', async () => {
    const { store, deps } = fixture()
    const rows = [
      { id: 1, content: 'one' },
      { id: 2, content: '' },
      { id: 3, content: 'three', tag: 'x' },
    ]
    expect(await insert(request({ rows }), deps, never)).toEqual({
      storedDocuments: 2,
      skippedRows: 1,
      chunks: 2,
    })
    expect(store.writes).toEqual([['1', '3']])
    expect(store.metadataOf('3')).toEqual({ tag: 'x' })
    expect(store.documents.get('3')?.document.rowIndex).toBe(2)
  })

  test('of one id: the last one wins, in its place', async () => {
    const { store, embedder, deps } = fixture()
    const rows = [
      { id: 1, content: 'first' },
      { id: 2, content: 'other' },
      { id: '1', content: 'last' },
    ]
    expect(await insert(request({ rows }), deps, never)).toMatchObject({
      storedDocuments: 2,
      chunks: 2,
    })
    expect(store.writes).toEqual([['2', '1']])
    expect(store.contents['1']).toEqual(['last'])
    expect(embedder.batches.flat()).not.toContain('first')
  })

  test('without an id get the hash of their content', async () => {
    const { store, deps } = fixture()
    const rows = [{ content: 'review' }, { id: null, content: 'Request color: black' }]
    await insert(request({ rows }), deps, never)
    expect(Object.keys(store.contents)).toEqual(['1c67665285fb6a7d', 'e96d3f2c727fe8dc'])
  })

  test('a hash does not depend on how the content is read', async () => {
    const { store, deps } = fixture()
    const content = `${'x'.repeat(999_999)}🦆 and more`
    await insert(request({ rows: [{ content }] }), deps, never)
    const expected = new Bun.CryptoHasher('md5').update(content).digest('hex').slice(0, 16)
    expect(Object.keys(store.contents)).toEqual([expected])
  })

  test('none at all store nothing', async () => {
    const { store, deps } = fixture()
    expect(await insert(request({ rows: [] }), deps, never)).toEqual({
      storedDocuments: 0,
      skippedRows: 0,
      chunks: 0,
    })
    expect(store.writes).toEqual([])
  })

  test('a bad one is named and nothing is stored', async () => {
    const { store, embedder, deps } = fixture()
    const rows = [
      { id: 1, content: 'good' },
      { id: 2, text: 'bad' },
    ]
    const error = await failure(insert(request({ rows }), deps, never))
    expect([error.code, error.message]).toEqual([
      'insert_failed',
      'Error during preprocessing and insertion: rows: row 2: Content column "content" not found; ' +
        'columns: id, text. Nothing was stored',
    ])
    expect([store.writes, embedder.batches]).toEqual([[], []])
  })

  test('of an id that is not text is named', async () => {
    const { store, deps } = fixture()
    const rows = [
      { id: '\ufffd', content: 'one' },
      { id: '\ud800', content: 'two' },
    ]
    const error = await failure(insert(request({ rows }), deps, never))
    expect([error.code, error.message]).toEqual([
      'insert_failed',
      'Error during preprocessing and insertion: rows: row 2: The id "\\ud800" is not text: it ' +
        'holds a lone surrogate. Nothing was stored',
    ])
    expect(store.writes).toEqual([])
  })

  test('long metadata is not repeated for a million chunks', async () => {
    const { deps } = fixture()
    const rows = [{ id: 1, content: 'word '.repeat(400_000), note: 'n'.repeat(100_000) }]
    const error = await failure(insert(request({ rows }), deps, never))
    expect(error.message).toMatch(/at most 100000000 characters of id and metadata/)
  })
})

describe('embedding', () => {
  test('equal texts once, in batches of 1024', async () => {
    const { embedder, deps } = fixture()
    const rows = Array.from({ length: 2400 }, (_, id) => ({ id, content: `text ${id % 1200}` }))
    await insert(request({ rows }), deps, never)
    expect(embedder.batches.map((batch) => batch.length)).toEqual([1024, 176])
  })

  test('a text that comes again in a later batch once', async () => {
    const { store, embedder, deps } = fixture()
    const rows = Array.from({ length: 20 }, (_, id) => ({ id, content: `text ${id % 3}` }))
    const counts = { storedDocuments: 0, skippedRows: 0, chunks: 0, readRows: 0 }
    const target = { kb: knowledgeBase(), source: 'query', rows, isUnbounded: true, counts }
    await storeRows(target, deps, never, { batchChunks: 4 })
    expect(embedder.batches.flat()).toEqual(['text 0', 'text 1', 'text 2'])
    expect(store.writes.length).toBe(5)
    for (const { chunks } of store.documents.values()) {
      for (const { chunk, vector } of chunks) {
        if (vector.kind === 'new') expect([...vector.vector]).toEqual([chunk.content.length, 1])
      }
    }
  })

  test('unchanged text keeps its vector', async () => {
    const { store, embedder, deps } = fixture()
    await insert(request({ rows: [{ id: 1, content: 'same', tag: 'a' }] }), deps, never)
    const rows = [
      { id: 1, content: 'same', tag: 'b' },
      { id: 2, content: 'new' },
    ]
    await insert(request({ rows }), deps, never)
    expect(embedder.batches).toEqual([['same'], ['new']])
    expect(store.metadataOf('1')).toEqual({ tag: 'b' })
  })

  test('a missing stored vector is embedded again', async () => {
    const { store, embedder, deps } = fixture()
    await insert(request({ rows: [{ id: 1, content: 'same' }] }), deps, never)
    store.staleWrites = 1
    await insert(request({ rows: [{ id: 1, content: 'same' }] }), deps, never)
    expect(embedder.batches).toEqual([['same'], ['same']])
    expect(store.writes.length).toBe(2)
  })

  test('a provider that fails keeps its code and says what is stored', async () => {
    const { store, embedder, deps } = fixture({
      pages: new FakeWeb({ 'https://a.test/': { body: 'page', contentType: 'text/plain' } }),
    })
    embedder.failsAt = 'page'
    const all = request({ rows: [{ id: 1, content: 'row' }], urls: ['https://a.test'] })
    const error = await failure(insert(all, deps, never))
    expect([error.code, error.message]).toEqual([
      'provider_failed',
      'Error during preprocessing and insertion: urls: POST http://model/embed answered 503. ' +
        'Stored: 1 row of the other sources',
    ])
    expect(Object.keys(store.contents)).toEqual(['1'])
  })

  test('too few vectors are the provider’s failure', async () => {
    const { deps } = fixture()
    const embedder = { embed: async () => [Float32Array.from([1])] }
    const broken = { ...deps, embedders: { ...deps.embedders, embedder: () => embedder } }
    const rows = [
      { id: 1, content: 'a' },
      { id: 2, content: 'b' },
    ]
    const error = await failure(insert(request({ rows }), broken, never))
    expect([error.code, error.message]).toEqual([
      'provider_failed',
      expect.stringContaining('1 vectors for 2 texts'),
    ])
  })
})

describe('a query', () => {
  test('gives its rows; of columns with one name the first counts', async () => {
    const asked: unknown[] = []
    const { store, deps } = fixture({
      select: async (sql, { projectName }) => {
        asked.push([sql, projectName])
        return rowsOf(
          ['id', 'content', 'id', 'n'],
          [
            [1, 'one', 7, 1.5],
            [2, 'two', 8, null],
          ],
        )
      },
    })
    await insert(request({ query: 'SELECT * FROM t' }), deps, never)
    expect(asked).toEqual([['SELECT * FROM t', 'mindsdb']])
    expect(store.contents).toEqual({ '1': ['one'], '2': ['two'] })
    expect(store.metadataOf('1')).toEqual({ n: 1.5 })
  })

  test('that fails is an invalid SELECT; the sources before it are stored', async () => {
    const { store, deps } = fixture({
      select: async () => Promise.reject(new AppError('sql_unknown_name', "Table 'x' not found")),
    })
    const all = request({ rows: [{ id: 1, content: 'a' }], query: 'SELECT * FROM x' })
    const error = await failure(insert(all, deps, never))
    expect([error.code, error.title, error.message]).toEqual([
      'invalid_select',
      'Invalid SELECT query',
      'Executing "query" failed. Needs to be a valid SELECT statement that returns data: ' +
        "Table 'x' not found. Stored: 1 row of the other sources",
    ])
    expect(Object.keys(store.contents)).toEqual(['1'])
  })

  test('whose data source is down is not an invalid SELECT', async () => {
    const refused = 'Data source pg: the connection is refused'
    const { deps } = fixture({
      select: async () => Promise.reject(new AppError('source_failed', refused)),
    })
    const error = await failure(insert(request({ query: 'SELECT * FROM pg.t' }), deps, never))
    expect([error.code, error.message]).toEqual([
      'source_failed',
      `Error during preprocessing and insertion: query: ${refused}. Nothing was stored`,
    ])
  })

  test('that takes too long is a timeout', async () => {
    const { deps } = fixture({
      select: async () => Promise.reject(new AppError('timeout', 'over 60000 ms')),
    })
    const error = await failure(insert(request({ query: 'SELECT 1' }), deps, never))
    expect(error.code).toBe('timeout')
  })

  test('that breaks off in its rows is an invalid SELECT, and its connection is freed', async () => {
    let isFreed = false
    const { store, deps } = fixture({
      select: async () => ({
        columns: [{ name: 'content', type: 'VARCHAR' }],
        batches: (async function* () {
          try {
            yield [['a']]
            throw new AppError('sql_failed', 'division by zero')
          } finally {
            isFreed = true
          }
        })(),
      }),
    })
    const error = await failure(insert(request({ query: 'SELECT 1' }), deps, never))
    expect([error.code, isFreed, store.writes]).toEqual(['invalid_select', true, []])
  })
})

describe('a request', () => {
  test('takes rows, files, urls and query in this order; the last one of an id wins', async () => {
    const { store, deps } = fixture({
      select: async () => rowsOf(['id', 'content'], [['k', 'from the query']]),
    })
    const all = request({ query: 'SELECT 1', rows: [{ id: 'k', content: 'from the rows' }] })
    expect(await insert(all, deps, never)).toMatchObject({ storedDocuments: 2 })
    expect(store.contents.k).toEqual(['from the query'])
  })

  test('that is aborted stops with the reason, and stores nothing', async () => {
    const { store, deps } = fixture()
    const controller = new AbortController()
    controller.abort(new AppError('cancelled', 'The client went away'))
    const rows = [{ id: 1, content: 'a' }]
    const error = await failure(insert(request({ rows }), deps, controller.signal))
    expect([error.code, error.message, store.writes]).toEqual([
      'cancelled',
      'The client went away',
      [],
    ])
  })

  test('a bug is not reported as a bad request', async () => {
    const { deps } = fixture()
    const broken = { ...deps.chunks, storedTexts: () => Promise.reject(new TypeError('bug')) }
    const rows: Row[] = [{ id: 1, content: 'a' }]
    const work = insert(request({ rows }), { ...deps, chunks: broken }, never)
    await expect(work).rejects.toThrow(TypeError)
  })

  test('with a huge cell does not block other work', async () => {
    const reader = new DocumentReader()
    const { store, deps } = fixture({ chunker: reader })
    const content = Array.from({ length: 75_000 }, (_, index) => `word${index} and more.`).join(' ')
    let turns = 0
    let isDone = false
    const other = (async () => {
      for (; !isDone; turns += 1) await new Promise((resolve) => setImmediate(resolve))
    })()
    // Without stemming, which would take seconds for this many different words.
    const kb = knowledgeBase({ language: 'none' })
    await insert(request({ kb, rows: [{ content }] }), deps, never)
    isDone = true
    await Promise.all([other, reader.close()])
    const [document] = store.documents.values()
    expect(document?.chunks.length).toBeGreaterThan(1000)
    expect(turns).toBeGreaterThan(3)
    for (const { chunk } of document?.chunks ?? []) {
      if (content.slice(chunk.startChar, chunk.endChar) !== chunk.content) throw new Error('offset')
    }
  })
})
