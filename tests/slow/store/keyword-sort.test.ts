import { expect, test } from 'bun:test'
import { chunkTables } from '../../../src/core/domain/document.ts'
import { keywordScores } from '../../store/keyword-fixture.ts'
import {
  current,
  documentOf,
  draftOf,
  openMemoryStore,
  rowsOf,
} from '../../support/store-fixture.ts'

/** Returns a word of letters only, because one with digits has further terms. */
function wordOf(number: number): string {
  return `${number.toString(26).replaceAll(/\d/g, (digit) => 'qrstuvwxyz'.charAt(Number(digit)))}q`
}

const text = [31, 38, 4999].map(wordOf).join(' ')

test('many recent postings are sorted after the insert, and every search stays the same', async () => {
  const store = await openMemoryStore()
  const kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
  const { postings, recentPostings } = chunkTables(kb)
  const put = (first: number, count: number) => {
    const documents = Array.from({ length: count }, (_, index) => {
      const number = first + index
      const words = Array.from({ length: 60 }, (__, word) =>
        wordOf((number * 31 + word * 7) % 5000),
      )
      return documentOf({ id: `d${number}`, texts: [words.join(' ')] })
    })
    return store.chunks.replaceDocuments(kb, documents)
  }
  const rows = async () => {
    const counts = `SELECT (SELECT count(*) FROM ${postings}), (SELECT count(*) FROM ${recentPostings})`
    return (await rowsOf(store, counts))[0]
  }
  await put(0, 4000)
  expect(await rows()).toEqual([0, 240_000])
  const before = await keywordScores(store, current(store), { text })
  await put(10_000, 200)
  // After a pause in the inserts, they are sorted a few seconds later.
  while (Number((await rows())?.[1]) > 0) await Bun.sleep(100)
  expect(await rows()).toEqual([252_000, 0])
  const [disorder] = await rowsOf(
    store,
    `SELECT count(*) FROM (SELECT term < lag(term) OVER () AS isBefore FROM ${postings}) WHERE isBefore`,
  )
  expect(disorder).toEqual([0])
  await store.chunks.replaceDocuments(
    kb,
    Array.from({ length: 200 }, (_, index) => documentOf({ id: `d${10_000 + index}`, texts: [] })),
  )
  expect(await rows()).toEqual([240_000, 0])
  const after = await keywordScores(store, current(store), { text })
  expect(after.size).toBeGreaterThan(50)
  expect([...after].map(([text, score]) => [text, score.toFixed(9)])).toEqual(
    [...before].map(([text, score]) => [text, score.toFixed(9)]),
  )
  await store.close()
}, 180_000)
