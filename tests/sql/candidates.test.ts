import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { NearestChunks } from '../../src/core/domain/ports/search-ports.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { NOTHING_NEAR, openSqlFixture, type SqlFixture } from './sql-fixture.ts'

let fixture: SqlFixture

beforeAll(async () => {
  fixture = await openSqlFixture()
})

afterAll(() => fixture.close())

async function rowsOf(sql: string, nearest?: NearestChunks) {
  const deps = nearest === undefined ? fixture.deps : { ...fixture.deps, nearest }
  const request = { sql, db: 'mindsdb', params: {} }
  const result = await runQuery(request, deps, new AbortController().signal)
  if (result.kind !== 'table') throw new Error('a table was asked for')
  const rows: (readonly unknown[])[] = []
  for await (const batch of result.rows.batches) rows.push(...batch)
  return rows
}

/** Returns how the searches of a statement find their chunks. */
async function choices(sql: string, nearest?: NearestChunks) {
  const rows = await rowsOf(`EXPLAIN ${sql}`, nearest)
  return rows.filter(([key]) => key === 'search').map(([, choice]) => choice)
}

const MEMORY = 'of 200 vectors in memory, scanned exactly'
const SCAN = 'mindsdb.kb, by meaning: the database measures every vector, because'

test.each([
  [
    "SELECT id FROM kb WHERE content = 'text 5'",
    `mindsdb.kb, by meaning: the nearest 10 ${MEMORY}`,
  ],
  [
    "SELECT id FROM kb WHERE content = 'text 5' AND relevance > 0.5 LIMIT 3 OFFSET 2",
    `mindsdb.kb, by meaning: the nearest 5 ${MEMORY}`,
  ],
  [
    "SELECT id FROM kb WHERE content = 'text 5' AND price < 4 AND 0.2 >= distance LIMIT 3",
    `mindsdb.kb, by meaning: the nearest 3 ${MEMORY}, among the chunks that the conditions keep`,
  ],
  [
    "SELECT count(*) FROM (SELECT id FROM kb WHERE content = 'text 5' LIMIT 7)",
    `mindsdb.kb, by meaning: the nearest 7 ${MEMORY}`,
  ],
  [
    "SELECT id FROM kb WHERE content = 'text 5' AND hybrid_search = true AND price < 4 LIMIT 3",
    `mindsdb.kb, by meaning and keywords (convex, weight of meaning 0.5, with feedback): the nearest 100 ${MEMORY}, and the best by their words, among the chunks that the conditions keep`,
  ],
  ["SELECT count(*) FROM kb WHERE content = 'text 5'", `${SCAN} all of its rows may count`],
  [
    "SELECT id FROM kb WHERE content = 'text 5' AND relevance < 0.9 LIMIT 3",
    `${SCAN} a condition is about more than the columns of its chunks`,
  ],
  [
    "SELECT id FROM kb WHERE content = 'text 5' AND price < random() LIMIT 3",
    `${SCAN} a condition is about more than the columns of its chunks`,
  ],
  [
    "SELECT id FROM kb WHERE content IN ('text 5', 'text 6') LIMIT 3",
    `${SCAN} it searches for several texts`,
  ],
  [
    "SELECT id FROM kb WHERE content = 'text 5' AND content != 'text 6' LIMIT 3",
    `${SCAN} it excludes a text`,
  ],
  [
    "SELECT id FROM kb WHERE content = 'text 5' ORDER BY price LIMIT 3",
    `${SCAN} all of its rows may count`,
  ],
])('EXPLAIN %s', async (sql, choice) => {
  expect(await choices(sql)).toEqual([choice])
})

test('a statement may take the chunks of one search from memory and scan for another', async () => {
  const sql = `SELECT (SELECT count(*) FROM kb WHERE content = 'text 5') AS n, id
    FROM (SELECT id FROM kb WHERE content = 'text 7' LIMIT 2)`
  expect(await choices(sql)).toEqual([
    `mindsdb.kb, by meaning: the nearest 2 ${MEMORY}`,
    `${SCAN} all of its rows may count`,
  ])
  expect(await rowsOf(sql)).toHaveLength(2)
})

test('without vectors in memory the database scans, and gives the same rows', async () => {
  const sql = "SELECT * FROM kb WHERE content = 'text 5' AND price < 4 LIMIT 6"
  expect(await choices(sql, NOTHING_NEAR)).toEqual([`${SCAN} this is a test`])
  expect(await rowsOf(sql, NOTHING_NEAR)).toEqual(await rowsOf(sql))
})

test('outdated candidates are searched again, and finally not used', async () => {
  let asked = 0
  const behind: NearestChunks = {
    nearest: async (search, signal) => {
      asked += 1
      const found = await fixture.deps.nearest.nearest(search, signal)
      return found === null ? null : { neighbours: [], isCurrent: () => false }
    },
    access: (kb) => fixture.deps.nearest.access(kb),
  }
  const sql = "SELECT id, distance FROM kb WHERE content = 'text 5' LIMIT 6"
  expect(await rowsOf(sql, behind)).toEqual(await rowsOf(sql))
  expect(asked).toBe(6)
})
