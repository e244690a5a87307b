import { expect, test } from 'bun:test'
import { scoresFromMemory, scoresFromTables } from '../../retrieval/keyword-search-fixture.ts'
import { openSearchableStore } from '../../support/searchable-store.ts'
import {
  current,
  documentOf,
  draftOf,
  newVector,
  type TestDocument,
} from '../../support/store-fixture.ts'

test('conditions that keep most chunks are checked for the best alone', async () => {
  const count = 21_000
  const texts = Array.from({ length: count }, (_, index) => {
    return index < 17_500 ? 'milk' : `tea ${'leaf '.repeat(index % 5)}`
  })
  const angle = (index: number) => (index / count) * 1.5
  const vectors = texts.map((_, index) => {
    return newVector(Math.cos(angle(index)), Math.sin(angle(index)), 0)
  })
  const store = await openSearchableStore({ threadPoolSize: 6 })
  await store.catalog.createKnowledgeBase(draftOf('kb'))
  const put = (document: TestDocument) => {
    return store.chunks.replaceDocuments(current(store), [documentOf(document)])
  }
  const base = () => ({ store, kb: current(store) })
  await put({ id: 'a', texts, vectors })
  await store.vectorCaches.settled()
  const where = 'chunk_key % 50 != 0'
  // Too many chunks have the same score for an answer from memory.
  expect(await scoresFromMemory(base(), { text: 'milk', where })).toBeUndefined()
  const query = { text: 'tea cup', count: 2, where }
  expect(await scoresFromMemory(base(), query)).toEqual(await scoresFromTables(base(), query))
  await put({ id: 'b', texts: ['tea cup', 'cup', 'cup and cup of tea'] })
  for (const each of [query, { ...query, count: 1, where: 'chunk_key != 21003' }]) {
    expect(await scoresFromMemory(base(), each)).toEqual(await scoresFromTables(base(), each))
  }
  await store.close()
})
