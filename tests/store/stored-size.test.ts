import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { chunkTableName, projectSchema } from '../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import { sortPostings } from '../../src/store/documents/keyword-index.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import {
  documentOf,
  draftOf,
  type TemporaryFolder,
  temporaryFolder,
} from '../support/store-fixture.ts'

let folder: TemporaryFolder

beforeEach(() => {
  folder = temporaryFolder()
})

afterEach(() => folder[Symbol.dispose]())

const openFolder = (directory = folder.path) => openStore({ directory, threadPoolSize: 16 })

async function filled(store: Store, documents: number): Promise<KnowledgeBase> {
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  const { language } = kb
  const embedded = Array.from({ length: documents }, (_, index) => {
    const text = `${'tea '.repeat(1 + (index % 5))}${'cup '.repeat(1 + ((index * 7) % 11))}`
    return documentOf({ id: `d${index}`, texts: [text], language })
  })
  await store.chunks.replaceDocuments(kb, embedded)
  return kb
}

/** Reads the content of a file while no store has it open. */
async function read(sql: string, directory = folder.path): Promise<readonly string[]> {
  const path = join(directory, 'eider-data.duckdb')
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
  const connection = await instance.connect()
  try {
    return (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(String).join(' '))
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

function storage(kb: KnowledgeBase, part: 'chunks' | 'postings' | 'recent_postings'): string {
  const table = `${projectSchema(kb.projectId)}.${chunkTableName(kb, part)}`
  return `(FROM pragma_storage_info('${table}') WHERE segment_type <> 'VALIDITY')`
}

const compressions = (kb: KnowledgeBase, part: 'postings' | 'recent_postings') =>
  `SELECT DISTINCT column_name, compression FROM ${storage(kb, part)} `

const PACKED = ['chunk_key BitPacking', 'frequency BitPacking', 'term_count BitPacking']

test('new postings are packed, and stay so after VACUUM and in a backup', async () => {
  const store = await openFolder()
  const kb = await filled(store, 300)
  await store.chunks.removeChunks(kb, [1n, 2n])
  await store.upkeep.vacuum(null, new AbortController().signal)
  const { name } = await store.backups.create()
  await store.close()
  const sql = compressions(kb, 'recent_postings')
  expect((await read(sql)).toSorted()).toEqual([...PACKED, 'term Uncompressed'].toSorted())
  expect((await read(sql, join(folder.path, 'backups', name))).toSorted()).toEqual(
    [...PACKED, 'term Uncompressed'].toSorted(),
  )
})

test('sorted postings are runs of terms', async () => {
  const store = await openFolder()
  const kb = await filled(store, 300)
  await store.close()
  const instance = await DuckDBInstance.create(join(folder.path, 'eider-data.duckdb'))
  const connection = await instance.connect()
  await sortPostings(connection, kb)
  await connection.run('CHECKPOINT')
  connection.closeSync()
  instance.closeSync()
  const found = await read(compressions(kb, 'postings'))
  expect(found.toSorted()).toEqual([...PACKED, 'term RLE'].toSorted())
})

test('a table grows by groups of 16 384 rows', async () => {
  const store = await openFolder()
  const kb = await filled(store, 17_000)
  await store.close()
  const groups = `SELECT sum(count) FROM ${storage(kb, 'chunks')} WHERE column_name = 'chunk_key'
    GROUP BY row_group_id ORDER BY row_group_id`
  expect(await read(groups)).toEqual(['16384', '616'])
  const again = await openFolder()
  await again.close()
  expect(await read(groups)).toEqual(['16384', '616'])
})

test('the sizes of many knowledge bases need one list of tables', async () => {
  const store = await openFolder()
  const kbs = [await filled(store, 3)]
  for (const name of ['other', 'gone']) {
    kbs.push(await store.catalog.createKnowledgeBase(draftOf(name)))
  }
  const gone = kbs[2] as KnowledgeBase
  await store.upkeep.vacuum(null, new AbortController().signal)
  const read = spyOn(DuckDBConnection.prototype, 'run')
  const sizeOf = await store.sizes.reader()
  const sizes = await Promise.all(kbs.map(sizeOf))
  const lists = () => read.mock.calls.filter(([sql]) => /duckdb_tables/.test(sql)).length
  expect([sizes[0]?.texts, sizes[1]?.texts, lists()]).toEqual([expect.any(Number), 0, 1])
  await store.catalog.dropKnowledgeBase(gone)
  expect(await sizeOf(gone)).toBeNull()
  const added = await store.catalog.createKnowledgeBase(draftOf('added'))
  expect(await sizeOf(added)).toEqual({ texts: 0, vectors: 0, keywords: 0 })
  read.mockRestore()
  await store.close()
})
