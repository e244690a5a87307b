import { afterEach, beforeEach, expect, test } from 'bun:test'
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { chunkTables } from '../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import { MIGRATIONS } from '../../src/store/catalog/migrate.ts'
import { keysOfDocuments } from '../../src/store/documents/document-ids.ts'
import { sortPostings } from '../../src/store/documents/keyword-index.ts'
import { KeywordRebuild } from '../../src/store/documents/keyword-rebuild.ts'
import { removeChunkRows } from '../../src/store/documents/write-chunk-rows.ts'
import { Database } from '../../src/store/duckdb/database.ts'
import { lockNoteOf } from '../../src/store/duckdb/locked-instance.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import {
  current,
  documentOf,
  draftOf,
  openMemoryStore,
  rowsOf,
  type TestDocument,
  temporaryFolder,
} from '../support/store-fixture.ts'
import { expectedOrder, keywordScores, plainScores } from './keyword-fixture.ts'

let store: Store
let kb: KnowledgeBase

beforeEach(async () => {
  store = await openMemoryStore()
  kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
})

afterEach(() => store.close())

function put(...documents: readonly TestDocument[]) {
  const { language } = kb
  const embedded = documents.map((document) => documentOf({ ...document, language }))
  return store.chunks.replaceDocuments(kb, embedded)
}

async function found(text: string) {
  return [...(await keywordScores(store, kb, { text })).keys()]
}

/** Returns the rows of the index: postings, sorted and recent, and chunks. */
async function indexRows(of: KnowledgeBase = kb, from: Store = store) {
  const { postings, recentPostings, termCounts } = chunkTables(of)
  const [row] = await rowsOf(
    from,
    `SELECT (SELECT count(*) FROM ${postings}), (SELECT count(*) FROM ${recentPostings}),
      (SELECT count(*) FROM ${termCounts})`,
  )
  return row
}

test('a chunk is found by its stems as soon as its insert is answered', async () => {
  await put({ id: 'a', texts: ['Running cats', 'sleeping dogs'] })
  expect(await found('the cat runs')).toEqual(['Running cats'])
  expect(await found('dog')).toEqual(['sleeping dogs'])
  expect(await found('the')).toEqual([])
})

test('a replaced document is found only by its new words', async () => {
  await put({ id: 'a', texts: ['green tea', 'black tea'] }, { id: 'b', texts: ['tea cup'] })
  await put({ id: 'a', texts: ['coffee'] })
  expect(await found('tea')).toEqual(['tea cup'])
  expect(await found('coffee')).toEqual(['coffee'])
  expect(await indexRows()).toEqual([0, 3, 2])
  await put({ id: 'a', texts: [] }, { id: 'b', texts: [] })
  expect(await indexRows()).toEqual([0, 0, 0])
})

test('a failed write neither adds nor removes terms', async () => {
  await put({ id: 'a', texts: ['green tea'] })
  const before = await indexRows()
  const vectors = [{ kind: 'stored', chunkKey: 99n }] as const
  expect(await put({ id: 'a', texts: ['coffee'], vectors })).toEqual({ kind: 'stale' })
  expect(await found('tea')).toEqual(['green tea'])
  expect(await found('coffee')).toEqual([])
  expect(await indexRows()).toEqual(before)
})

test('words are stemmed in the language of the knowledge base', async () => {
  const draft = { ...draftOf('german'), params: { language: 'german' } }
  kb = await store.catalog.createKnowledgeBase(draft)
  await put({ id: 'a', texts: ['alte Häuser', 'ein Haus', 'die Maus'] })
  expect((await found('Häusern')).toSorted()).toEqual(['alte Häuser', 'ein Haus'])
})

test('text that a parser would refuse is indexed as it is', async () => {
  const texts = ["'); DROP TABLE x; --", 'nul \u0000 byte', 'lone \ud800 half', '', '💩 emoji']
  await put({ id: 'a', texts })
  expect(await found('drop')).toEqual(["'); DROP TABLE x; --"])
  expect(await found('emoji')).toEqual(['💩 emoji'])
  expect(await found('half')).toEqual(['lone \ufffd half'])
  expect((await indexRows())?.[2]).toBe(5)
})

test('the score is BM25 over what is stored now', async () => {
  const word = fc.constantFrom('tea', 'green', 'black', 'cups', 'cup', 'the', 'milk', 'of', 'leaf')
  const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(' '))
  const corpus = fc.array(text, { minLength: 1, maxLength: 12 })
  let run = 0
  await fc.assert(
    fc.asyncProperty(corpus, corpus, text, async (old, fresh, query) => {
      run += 1
      kb = await store.catalog.createKnowledgeBase(draftOf(`kb ${run}`))
      // A number makes each text different.
      const numbered = (texts: readonly string[], from: number) => {
        return texts.map((one, index) => ({ id: `d${index}`, texts: [`${one} n${from + index}`] }))
      }
      const documents = numbered(old, 0)
      await put(...documents)
      const changed = numbered(fresh, 100)
      await put(...changed)
      const stored = [...changed, ...documents.slice(changed.length)].flatMap(({ texts }) => texts)
      const scores = await keywordScores(store, kb, { text: `${query} n3` })
      expect(expectedOrder(scores)).toEqual(expectedOrder(plainScores(stored, `${query} n3`)))
    }),
    { numRuns: 12 },
  )
})

test('a data folder without an index gets one when it is opened', async () => {
  using folder = temporaryFolder()
  const older = await openStore({ directory: folder.path })
  const base = await older.catalog.createKnowledgeBase(draftOf('kb'))
  // More than ROWS_AT_SWITCH in keyword-rebuild.ts.
  const documents = Array.from({ length: 1500 }, (_, index) => {
    return documentOf({ id: `d${index}`, texts: [`number n${index} of the teas`] })
  })
  await older.chunks.replaceDocuments(base, documents)
  await older.close()
  const { postings, recentPostings, termCounts } = chunkTables(base)
  const tables = [postings, recentPostings, termCounts]
  // Removes the tables, as if this program had never created them.
  const sql = tables.map((table) => `DROP TABLE ${table};`).join('\n')
  const migrations = [...MIGRATIONS, { number: MIGRATIONS.length + 1, name: 'without', sql }]
  const newer = await openStore({ directory: folder.path, migrations })
  expect(current(newer).hasOlderTerms).toBe(true)
  newer.keywordLanguages.start()
  await newer.keywordLanguages.settled()
  const now = current(newer)
  expect(now.hasOlderTerms).toBe(false)
  expect(await indexRows(now, newer)).toEqual([7500, 0, 1500])
  const scores = await keywordScores(newer, now, { text: 'n1400' })
  expect([...scores.keys()]).toEqual(['number n1400 of the teas'])
  await newer.close()
})

test('an index in another language is whole after a crash, though chunks went while it was built', async () => {
  using folder = temporaryFolder()
  const before = await openStore({ directory: folder.path })
  const stored = await before.catalog.createKnowledgeBase(draftOf('kb'))
  const documents = Array.from({ length: 60 }, (_, index) => {
    return documentOf({ id: `d${index}`, texts: [`word${index} and more words`] })
  })
  await before.chunks.replaceDocuments(stored, documents)
  await before.chunks.removeDocuments(stored, ['d3', 'd4'])
  const [ids, index] = [current(before), await indexRows(stored, before)]
  await before.close()
  const options = { memoryLimit: '256MB', threads: 1, spillLimit: '1GB' }
  const open = (directory: string) => {
    return Database.open({ ...options, directory, note: lockNoteOf(0, undefined) })
  }
  const database = await open(folder.path)
  const { signal } = new AbortController()
  const rebuild = new KeywordRebuild(database, ids, { language: 'german', signal })
  await rebuild.prepare()
  await database.write(async (connection) => {
    const keys = await keysOfDocuments(connection, ids, ['d5', 'd58', 'd59'])
    await removeChunkRows(connection, ids, keys)
  })
  await database.write((connection) => rebuild.switchOver(connection))
  // A copy of the files, as after a crash.
  using copy = temporaryFolder()
  for (const name of readdirSync(folder.path))
    cpSync(join(folder.path, name), join(copy.path, name))
  await database.close()
  const after = await openStore({ directory: copy.path })
  expect(index).toEqual([0, 58 * 4, 58])
  expect(await indexRows(current(after), after)).toEqual([55 * 5, 0, 55])
  await after.close()
})

test('no postings are lost if a part that is sorted has none', async () => {
  using folder = temporaryFolder()
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const { postings, recentPostings } = chunkTables(kb)
  const columns = '(term BIGINT, chunk_key BIGINT, frequency INTEGER, term_count INTEGER)'
  // Row groups as small as those of a data folder.
  await connection.run(`ATTACH '${join(folder.path, 'x.duckdb')}' AS x (ROW_GROUP_SIZE 16384);
    USE x; CREATE SCHEMA ${postings.split('.')[0]}; CREATE TABLE ${postings} ${columns};
    CREATE TABLE ${recentPostings} ${columns};
    INSERT INTO ${recentPostings} SELECT (i % 2) * 9000000000000000000, i, 1, 1
      FROM range(60000) AS r(i); BEGIN`)
  await sortPostings(connection, kb, 5000)
  await connection.run('COMMIT')
  const reader = await connection.runAndReadAll(
    `SELECT term, count(*) FROM ${postings} GROUP BY term ORDER BY term`,
  )
  expect(reader.getRows()).toEqual([
    [0n, 30_000n],
    [9_000_000_000_000_000_000n, 30_000n],
  ])
  connection.closeSync()
  instance.closeSync()
})

test('postings are sorted as a whole, however small the parts that are sorted at once', async () => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const { postings, recentPostings } = chunkTables(kb)
  const columns = '(term BIGINT, chunk_key BIGINT, frequency INTEGER, term_count INTEGER)'
  const rows = 'SELECT hash(i)::HUGEINT - 2::HUGEINT ** 63, i, 1, 2'
  const ends = 'VALUES (-9223372036854775808, 5000, 1, 2), (9223372036854775807, 5001, 1, 2)'
  await connection.run(`CREATE SCHEMA ${postings.split('.')[0]};
    CREATE TABLE ${postings} ${columns};
    INSERT INTO ${postings} ${rows} FROM range(2000) AS r(i) ORDER BY 1, 2;
    CREATE TABLE ${recentPostings} ${columns};
    INSERT INTO ${recentPostings} ${rows} FROM range(2000, 3000) AS r(i);
    INSERT INTO ${recentPostings} ${ends}`)
  await sortPostings(connection, kb, 300)
  const reader = await connection.runAndReadAll(`SELECT count(*), count(DISTINCT chunk_key),
    count(*) FILTER (WHERE isBefore), (SELECT count(*) FROM ${recentPostings})
    FROM (SELECT chunk_key, term < lag(term) OVER (ORDER BY rowid) AS isBefore FROM ${postings})`)
  expect(reader.getRows()).toEqual([[3002n, 3002n, 0n, 0n]])
  connection.closeSync()
  instance.closeSync()
})
