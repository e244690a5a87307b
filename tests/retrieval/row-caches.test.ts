import { afterEach, expect, test } from 'bun:test'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { ChunkRows } from '../../src/core/domain/ports/search-ports.ts'
import { RowCaches } from '../../src/retrieval/rows/row-caches.ts'
import { openSearchableStore, type SearchableStore } from '../support/searchable-store.ts'
import { current, documentOf, draftOf, newVector } from '../support/store-fixture.ts'

const { signal } = new AbortController()
const LIMITS = { timeoutMs: 10_000 }
const TEXTS = ['tea', 'чай 🍵', '', 'nul \u0000', 'a "quoted" \\ text', '茶'.repeat(300)]

let store: SearchableStore
afterEach(() => store.close())

async function open(count: number, rowBytesMax?: number): Promise<void> {
  store = await openSearchableStore(rowBytesMax === undefined ? {} : { rowBytesMax })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  await put(Array.from({ length: count }, (_, index) => index))
}

function put(numbers: readonly number[]) {
  const documents = numbers.map((number) => {
    const text = TEXTS[number % TEXTS.length] ?? ''
    const metadata = {
      price: number % 3 === 0 ? null : number / 4,
      large: number % 5 === 0 ? 1e300 : -0.5,
      whole: number,
      name: number % 4 === 0 ? null : text,
      fresh: number % 2 === 0,
    }
    return documentOf({
      id: `d${number}`,
      texts: [`${text} ${number}`],
      metadata,
      vectors: [newVector(number, 10, 0)],
    })
  })
  return store.chunks.replaceDocuments(current(store), documents)
}

async function shown(rows: ChunkRows, kb: KnowledgeBase, keys: readonly number[]) {
  const columns = kb.storedMetadata.map(({ column }) => column)
  const request = { knowledgeBase: kb, keys: keys.map(BigInt), columns, limits: LIMITS }
  const found = await rows.rowsOf(request, signal)
  return found?.map((row) => [row.id, row.chunkId, row.content, row.metadata, row.columns])
}

/** Returns rows that only come from the database. */
function fresh(): RowCaches {
  const { catalog, engine } = store
  const deps = { reader: engine, snapshot: () => catalog.snapshot() }
  return new RowCaches(deps, { bytesMax: 1024 ** 2 })
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index)
}

test('rows read in the background equal those read by key', async () => {
  await open(500)
  const kb = current(store)
  await shown(store.rowCaches, kb, range(1, 100))
  await store.rowCaches.settled()
  const filledBytes = store.rowCaches.memoryBytes
  const rows = await shown(store.rowCaches, kb, range(1, 501))
  // None of them had to be read.
  expect(store.rowCaches.memoryBytes).toBe(filledBytes)
  expect(rows).toEqual(await shown(fresh(), kb, range(1, 501)))
  expect(rows).toHaveLength(500)
})

test('removed, added and changed chunks are tracked', async () => {
  await open(300)
  await shown(store.rowCaches, current(store), range(1, 200))
  await store.rowCaches.settled()
  await store.chunks.removeChunks(current(store), [7n, 8n])
  await store.chunks.changeChunks(current(store), [{ chunkKey: 9n, metadata: { name: 'other' } }])
  await put([20, 1_000])
  const kb = current(store)
  expect(await shown(store.rowCaches, kb, [6, 7])).toBeUndefined()
  const keys = [1, 6, 9, 10, 301, 302]
  const rows = await shown(store.rowCaches, kb, keys)
  expect(rows).toEqual(await shown(fresh(), kb, keys))
  expect(rows?.[2]?.[3]).toMatchObject({ name: 'other' })
})

test('beyond the memory limit the oldest rows are dropped, and read again on demand', async () => {
  const bytesMax = 64 * 1024
  await open(600, bytesMax)
  const kb = current(store)
  const expected = await shown(fresh(), kb, range(1, 601))
  for (let round = 0; round < 3; round += 1) {
    for (let from = 1; from < 601; from += 50) {
      const rows = await shown(store.rowCaches, kb, range(from, from + 50))
      expect(rows).toEqual(expected?.slice(from - 1, from + 49) ?? [])
    }
    await store.rowCaches.settled()
    expect(store.rowCaches.memoryBytes).toBeLessThanOrEqual(bytesMax)
  }
})

test('a column with a new type has the rows read again, and one that is not there has none', async () => {
  await open(60)
  const before = current(store)
  await shown(store.rowCaches, before, range(1, 61))
  await store.catalog.alterKnowledgeBase(before, {
    declaredColumns: [{ name: 'whole', type: 'DECIMAL(10,2)' }],
  })
  const kb = current(store)
  expect(await shown(store.rowCaches, kb, [1, 2])).toEqual(await shown(fresh(), kb, [1, 2]))
  expect(await shown(store.rowCaches, before, [1, 2])).toBeUndefined()
})

test('without memory for rows, none are cached', async () => {
  await open(10, 0)
  expect(await shown(store.rowCaches, current(store), [1])).toBeUndefined()
})
