import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chunkTables } from '../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { ResultValue } from '../../src/core/domain/query-result.ts'
import type { Store } from '../../src/store/store.ts'
import { documentOf, draftOf, openMemoryStore, rowsOf } from '../support/store-fixture.ts'

let store: Store
let kb: KnowledgeBase

beforeEach(async () => {
  store = await openMemoryStore()
  kb = await store.catalog.createKnowledgeBase(draftOf('kb'))
})

afterEach(() => store.close())

function put(id: string, price: number | null, colour: string) {
  return store.chunks.replaceDocuments(kb, [
    documentOf({ id, texts: ['x'], metadata: { price, colour } }),
  ])
}

// DuckDB plans with statistics of the values in the tables, and an outdated plan returns wrong rows.
const STATEMENTS: readonly (readonly [string, readonly (readonly ResultValue[])[]])[] = [
  ['SELECT document_id FROM t WHERE m1 > 10', [['much longer']]],
  ['SELECT document_id FROM t WHERE m1 <= 10', [['a'], ['b']]],
  ['SELECT document_id FROM t WHERE m1 IS NULL', [['none']]],
  ["SELECT document_id FROM t WHERE m2 = 'turquoise'", [['much longer']]],
  ['SELECT m2 FROM t ORDER BY document_id', [['red'], ['red'], ['turquoise'], ['x']]],
  ['SELECT DISTINCT m1 FROM t ORDER BY m1', [[1], [2], [1_000_000], [null]]],
  [
    'SELECT m1, count(*) FROM t GROUP BY m1 ORDER BY m1',
    [
      [1, 1],
      [2, 1],
      [1_000_000, 1],
      [null, 1],
    ],
  ],
]

test('a statement sees what was written since it last ran', async () => {
  await put('a', 1, 'red')
  await put('b', 2, 'red')
  const ask = () => {
    return Promise.all(
      STATEMENTS.map(([sql]) => rowsOf(store, sql.replace(' t ', ` ${chunkTables(kb).chunks} `))),
    )
  }
  // Runs it on every connection.
  for (let round = 0; round < 5; round += 1) await ask()
  await put('much longer', 1_000_000, 'turquoise')
  await put('none', null, 'x')
  for (let round = 0; round < 5; round += 1) {
    expect(await ask()).toEqual(STATEMENTS.map(([, rows]) => rows))
  }
})
