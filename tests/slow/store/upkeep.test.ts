import { expect, test } from 'bun:test'
import { chunkTables } from '../../../src/core/domain/document.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { keywordScores } from '../../store/keyword-fixture.ts'
import {
  current,
  documentOf,
  draftOf,
  failureOf,
  newVector,
  openMemoryStore,
  rowsOf,
  temporaryFolder,
} from '../../support/store-fixture.ts'

/** Four versions leave less than DEAD_ROWS_MIN in upkeep.ts, and six leave more. */
const DOCUMENTS = 500

/** Replaces the same documents with other texts and vectors. */
async function replaceAll(store: Store, version: number): Promise<void> {
  const documents = Array.from({ length: DOCUMENTS }, (_, number) => {
    const texts = [`green tea ${number} in its version v${version}`]
    const metadata = { version, price: number % 7 }
    return documentOf({
      id: `d${number}`,
      texts,
      vectors: [newVector(number + 1, version, 1)],
      metadata,
    })
  })
  await store.chunks.replaceDocuments(current(store), documents)
}

async function storedRowsOf(store: Store, table: string): Promise<number> {
  const [, name = ''] = table.replaceAll('"', '').split('.')
  const sql = `SELECT estimated_size FROM duckdb_tables() WHERE table_name = '${name}'`
  return Number((await rowsOf(store, sql))[0]?.[0])
}

async function searched(store: Store): Promise<readonly (readonly [string, string])[]> {
  const scores = await keywordScores(store, current(store), { text: 'tea v6 d3 7' })
  return [...scores].map(([text, score]) => [text, score.toFixed(9)])
}

test('documents that are replaced again and again leave no rows behind', async () => {
  const store = await openMemoryStore()
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const { chunks, vectors, termCounts } = chunkTables(current(store))
  for (let version = 1; version <= 6; version += 1) await replaceAll(store, version)
  expect(await storedRowsOf(store, vectors)).toBe(6 * DOCUMENTS)
  const all = `SELECT * FROM ${chunks} JOIN ${vectors} USING (chunk_key) ORDER BY chunk_key`
  const before = await rowsOf(store, all)
  const scoresBefore = await searched(store)
  await store.upkeep.run()
  for (const table of [chunks, vectors, termCounts]) {
    expect(await storedRowsOf(store, table)).toBe(DOCUMENTS)
  }
  expect(await rowsOf(store, all)).toEqual(before)
  expect(await searched(store)).toEqual(scoresBefore)
  await replaceAll(store, 7)
  expect(
    await rowsOf(store, `SELECT count(*), min(version) FROM (SELECT m1 AS version FROM ${chunks})`),
  ).toEqual([[DOCUMENTS, 7]])
  await store.close()
}, 180_000)

test('a rebuilt table keeps its primary key, its comment and what was promised across a restart', async () => {
  using folder = temporaryFolder()
  const store = await openStore({ directory: folder.path })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const { vectors, termCounts } = chunkTables(current(store))
  for (let version = 1; version <= 6; version += 1) await replaceAll(store, version)
  const definitions = `SELECT table_name, sql, comment FROM duckdb_tables() ORDER BY table_name`
  const before = await rowsOf(store, definitions)
  await store.upkeep.run()
  expect(await storedRowsOf(store, termCounts)).toBe(DOCUMENTS)
  expect(await rowsOf(store, definitions)).toEqual(before)
  const scores = await searched(store)
  await store.close()
  const again = await openStore({ directory: folder.path })
  expect(await rowsOf(again, definitions)).toEqual(before)
  expect(await searched(again)).toEqual(scores)
  expect(await rowsOf(again, `SELECT count(*), count(DISTINCT chunk_key) FROM ${vectors}`)).toEqual(
    [[DOCUMENTS, DOCUMENTS]],
  )
  await again.close()
}, 180_000)

test('a statement that is being read keeps its rows while the table is rebuilt', async () => {
  const store = await openMemoryStore()
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const { chunks } = chunkTables(current(store))
  for (let version = 1; version <= 6; version += 1) await replaceAll(store, version)
  const { signal } = new AbortController()
  const sql = `SELECT c.chunk_content, range FROM ${chunks} c, range(40) ORDER BY c.chunk_key, range`
  const stream = await store.engine.run({ sql, values: {} }, { timeoutMs: 20_000 }, signal)
  const iterator = stream.batches[Symbol.asyncIterator]()
  let rows = [...((await iterator.next()).value ?? [])]
  await store.upkeep.run()
  await replaceAll(store, 7)
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    rows = [...rows, ...next.value]
  }
  expect(rows.length).toBe(DOCUMENTS * 40)
  expect(rows.every(([content]) => String(content).endsWith('v6'))).toBe(true)
  await store.close()
}, 180_000)

test('tables that are small or mostly alive stay as they are', async () => {
  const store = await openMemoryStore()
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const { vectors } = chunkTables(current(store))
  for (let version = 1; version <= 4; version += 1) await replaceAll(store, version)
  await store.upkeep.run()
  expect(await storedRowsOf(store, vectors)).toBe(4 * DOCUMENTS)
  await store.close()
})

test('the log moves into the file while a statement is being read, however often documents change', async () => {
  using folder = temporaryFolder()
  const store = await openStore({ directory: folder.path })
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  const wide = Array.from({ length: 2000 }, (_, index) => index + 1)
  // 32 rounds write 25 MB. At 16 MB, DuckDB moves the log into the file.
  const documents = Array.from({ length: 100 }, (_, number) => {
    return documentOf({ id: `d${number}`, texts: ['text'], vectors: [newVector(...wide)] })
  })
  await store.chunks.replaceDocuments(kb, documents)
  const { signal } = new AbortController()
  const sql = 'SELECT range FROM range(10000000)'
  const stream = await store.engine.run({ sql, values: {} }, { timeoutMs: 60_000 }, signal)
  const iterator = stream.batches[Symbol.asyncIterator]()
  await iterator.next()
  let largest = 0
  for (let round = 1; round <= 32; round += 1) {
    await store.chunks.replaceDocuments(kb, documents)
    largest = Math.max(largest, store.upkeep.logBytes())
  }
  expect(largest).toBeGreaterThan(4_000_000)
  expect(largest).toBeLessThan(20_000_000)
  await iterator.return?.()
  await store.close()
}, 180_000)

test('a knowledge base that is dropped before its turn is left alone', async () => {
  const store = await openMemoryStore()
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  for (let version = 1; version <= 6; version += 1) await replaceAll(store, version)
  const running = store.upkeep.run()
  const dropped = store.catalog.dropKnowledgeBase(kb)
  expect(await failureOf(running)).toEqual({ code: 'none', message: '' })
  await dropped
  const left = `SELECT count(*) FROM duckdb_tables() WHERE schema_name LIKE 'project_%'`
  expect(await rowsOf(store, left)).toEqual([[0]])
  await store.close()
})

test('the file stays small under churn: replaced, updated, deleted, dropped', async () => {
  using folder = temporaryFolder()
  const store = await openStore({ directory: folder.path })
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  const wide = Array.from({ length: 2000 }, (_, index) => index + 1)
  const documents = Array.from({ length: 300 }, (_, number) => {
    return documentOf({
      id: `d${number}`,
      texts: [`text ${number}`],
      vectors: [newVector(...wide)],
    })
  })
  let largest = 0
  // Without upkeep they leave 85 MB, more than the limit below.
  for (let round = 1; round <= 18; round += 1) {
    await store.chunks.replaceDocuments(kb, documents)
    const changes = [1, 2, 3].map((number) => {
      return { documentId: `d${number}`, columns: [], chunks: [], metadata: { round } }
    })
    await store.chunks.changeDocuments(kb, changes)
    const short = await store.catalog.createKnowledgeBase(draftOf('short'))
    await store.chunks.replaceDocuments(short, documents.slice(0, 50))
    await store.catalog.dropKnowledgeBase(short)
    await store.upkeep.run()
    largest = Math.max(largest, store.upkeep.dataBytes() + store.upkeep.logBytes())
  }
  // Three times the live data (2.4 MB), 50 MB, and the growth until a late checkpoint.
  expect(largest).toBeLessThan(64e6)
  const { bytesAfter } = await store.upkeep.vacuum(null, new AbortController().signal)
  expect(bytesAfter).toBeLessThan(15e6)
  await store.close()
}, 120_000)
