/**
 * What writes assume without asking the database must be right: ids of documents, the catalog row,
 * and loaded vectors.
 */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { chunkTables } from '../../src/core/domain/document.ts'
import type { ChunkChanges } from '../../src/core/domain/ports/retrieval-ports.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import {
  current,
  documentOf,
  draftOf,
  failureOf,
  newVector,
  rowsOf,
  temporaryFolder,
} from '../support/store-fixture.ts'

type Step =
  | { readonly kind: 'put'; readonly ids: readonly number[]; readonly texts: number }
  | { readonly kind: 'fail'; readonly ids: readonly number[] }
  | { readonly kind: 'delete'; readonly id: number }
  | { readonly kind: 'reopen' }

const ids = fc.uniqueArray(fc.nat(11), { minLength: 1, maxLength: 5 })
const part = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('put' as const), ids, texts: fc.nat(2) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('fail' as const), ids }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), id: fc.nat(11) }) },
  ),
  { minLength: 3, maxLength: 7 },
)
const steps = fc.tuple(part, part).map(([before, after]): readonly Step[] => {
  return [...before, { kind: 'reopen' }, ...after]
})

/** The vectors known to a listener that is informed of every commit. */
class ToldVectors {
  readonly byKey = new Map<bigint, readonly number[]>()
  revision = 0

  apply(revision: number, changed: ChunkChanges): void {
    this.revision = revision
    for (const key of changed.removedKeys ?? []) this.byKey.delete(key)
    const { keys = new BigInt64Array(), vectors = new Float32Array() } = changed
    const dimensions = vectors.length / Math.max(1, keys.length)
    for (const [index, key] of keys.entries()) {
      this.byKey.set(key, [...vectors.slice(index * dimensions, (index + 1) * dimensions)])
    }
  }
}

async function opened(directory: string, told: ToldVectors): Promise<Store> {
  const store = await openStore({ directory, threadPoolSize: 6 })
  store.setListener({
    needsChange: () => true,
    beginCommit: () => {},
    endCommit: (_, write) => {
      if (write?.changed) told.apply(write.revision, write.changed)
    },
    catalogChanged: () => {},
  })
  return store
}

/** A lone surrogate is stored as U+FFFD, so similar IDs become equal. */
function idOf(id: number): string {
  return id === 11 ? 'd-\ud800' : `d-ü-${id}`
}

test('after every write, removal, refusal and reopening', async () => {
  await fc.assert(fc.asyncProperty(steps, follow), { numRuns: 5 })
}, 60_000)

async function follow(taken: readonly Step[]): Promise<void> {
  using folder = temporaryFolder()
  const told = new ToldVectors()
  let store = await opened(folder.path, told)
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const model = new Map<string, readonly string[]>()
  let number = 0
  for (const step of taken) {
    if (step.kind === 'reopen') {
      await store.close()
      store = await opened(folder.path, told)
    } else if (step.kind === 'delete') {
      const stored = await store.chunks.storedTexts(current(store), [idOf(step.id)])
      const keys = stored.map(({ chunkKey }) => chunkKey)
      if (keys.length > 0) await store.chunks.removeChunks(current(store), keys)
      model.delete(idOf(step.id).toWellFormed())
    } else if (step.kind === 'fail') {
      if (current(store).dimensions === null) continue
      const refused = step.ids.map((id) => {
        return documentOf({ id: idOf(id), texts: ['x'], vectors: [newVector(1, 1)] })
      })
      const write = store.chunks.replaceDocuments(current(store), refused)
      expect((await failureOf(write)).code).toBe('dimension_mismatch')
    } else {
      const documents = step.ids.map((id) => {
        number += 1
        const texts = Array.from({ length: step.texts + (id % 2) }, (_, at) => `t${number}-${at}`)
        const vectors = texts.map((_, at) => newVector(number, at + 1, id))
        return { id: idOf(id), texts, vectors, metadata: { [`c${number % 3}`]: number } }
      })
      await store.chunks.replaceDocuments(current(store), documents.map(documentOf))
      for (const { id, texts } of documents) model.set(id.toWellFormed(), texts)
    }
  }
  await compare(store, { model, told })
  await store.close()
}

async function compare(
  store: Store,
  { model, told }: { model: ReadonlyMap<string, readonly string[]>; told: ToldVectors },
): Promise<void> {
  const kb = current(store)
  const { chunks, vectors } = chunkTables(kb)
  const stored = await rowsOf(store, `SELECT document_id, chunk_content FROM ${chunks}`)
  const expected = [...model].flatMap(([id, texts]) => texts.map((text) => [id, text]))
  expect(stored.map(String).toSorted()).toEqual(expected.map(String).toSorted())
  const texts = await store.chunks.storedTexts(kb, [...model.keys(), 'unknown'])
  expect(texts).toHaveLength(expected.length)
  const [row] = await rowsOf(store, 'SELECT revision FROM eider.knowledge_bases')
  expect(row).toEqual([kb.revision])
  if (kb.dimensions === null) return
  const rows = await rowsOf(store, `SELECT chunk_key, vector FROM ${vectors} ORDER BY chunk_key`)
  const known = [...told.byKey].toSorted(([a], [b]) => Number(a - b))
  expect(known.map(([key, vector]) => [Number(key), vector])).toEqual(
    rows.map(([key, vector]) => [Number(key), vector as number[]]),
  )
  expect(told.revision).toBe(kb.revision)
}
