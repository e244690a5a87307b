import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { KnownChunks } from '../../src/core/domain/ports/search-ports.ts'
import { runQuery } from '../../src/query/run/run-query.ts'
import { openSqlFixture, type SqlFixture } from '../sql/sql-fixture.ts'

let fixture: SqlFixture

beforeAll(async () => {
  fixture = await openSqlFixture()
})

afterAll(() => fixture.close())

async function rowsOf(sql: string, known?: KnownChunks) {
  const deps = known === undefined ? fixture.deps : { ...fixture.deps, known }
  const request = { sql, db: 'mindsdb', params: {} }
  const result = await runQuery(request, deps, new AbortController().signal)
  if (result.kind !== 'table') return result.kind
  const rows: (readonly unknown[])[] = []
  for await (const batch of result.rows.batches) rows.push(...batch)
  expect(result.rows.ready ?? rows).toEqual(rows)
  return { columns: result.rows.columns, rows }
}

const known = knownCount(12_345)
const unknown = knownCount(null)

function knownCount(count: number | null): KnownChunks {
  return { chunkCount: async () => count, keysOfDocument: async () => null }
}

test.each(['SELECT count(*) FROM kb', 'select COUNT(*) as "how many" from mindsdb.kb as k'])(
  '%s is answered by what is known',
  async (sql) => {
    const before = await rowsOf(sql)
    expect(await rowsOf(sql, known)).toEqual({ ...Object(before), rows: [[12_345]] })
    expect(await rowsOf(sql, unknown)).toEqual(before)
    expect(await rowsOf(sql)).toEqual(before)
  },
)

test.each([
  'SELECT count(id) FROM kb',
  'SELECT count(DISTINCT id) FROM kb',
  'SELECT count(*) + 0 FROM kb',
  'SELECT count(*), 1 FROM kb',
  'SELECT count(*) FILTER (WHERE id > $$d$$) FROM kb',
  'SELECT count(*) OVER () FROM kb',
  'SELECT count(*) FROM kb WHERE true',
  'SELECT count(*) FROM kb WHERE id > $$d$$',
  "SELECT count(*) FROM kb WHERE content = 'text 5' AND relevance > 0.9",
  'SELECT count(*) FROM kb GROUP BY price',
  'SELECT count(*) FROM kb GROUP BY ALL',
  'SELECT count(*) FROM kb HAVING count(*) > 1000',
  'SELECT count(*) FROM kb LIMIT 0',
  'SELECT count(*) FROM kb OFFSET 1',
  'SELECT count(*) FROM kb ORDER BY 1',
  'SELECT DISTINCT count(*) FROM kb',
  'SELECT count(*) FROM kb, kb AS other',
  'SELECT count(*) FROM kb TABLESAMPLE reservoir(5 ROWS)',
  'SELECT count(*) FROM (SELECT id FROM kb)',
  'SELECT (SELECT count(*) FROM kb)',
  'SELECT count(*) FROM kb UNION ALL SELECT count(*) FROM kb',
  'WITH w AS (SELECT count(*) AS n FROM kb) SELECT n FROM w',
  'WITH w AS (SELECT 1) SELECT count(*) FROM kb',
  'SELECT count(*) FROM files.people',
])('%s is answered by the database', async (sql) => {
  const before = await rowsOf(sql).catch(String)
  expect(await rowsOf(sql, known).catch(String)).toEqual(before)
})

test('a count is up to date after each write', async () => {
  const count = 'SELECT count(*) FROM kb'
  await rowsOf(count)
  const writes = [
    "INSERT INTO kb (id, content) VALUES ('new 1', 'text 301'), ('new 2', 'text 302')",
    "INSERT INTO kb (id, content) VALUES ('new 1', 'text 303')",
    "DELETE FROM kb WHERE id = 'new 2'",
    "DELETE FROM kb WHERE id = 'nobody'",
    "UPDATE kb SET content = 'text 304' WHERE id = 'new 1'",
    'DELETE FROM kb WHERE price < 3',
  ]
  for (const write of writes) {
    expect(await fixture.answer(write)).not.toStartWith('error')
    const measured = await rowsOf(count, unknown)
    expect(await rowsOf(count)).toEqual(measured)
  }
})

test('counts during a write are from before or after it', async () => {
  const counts = new Set<unknown>()
  const first = Number(Object(await rowsOf('SELECT count(*) FROM kb')).rows[0][0])
  for (let round = 0; round < 10; round += 1) {
    const pair = `('pair ${round} a', 'text 7'), ('pair ${round} b', 'text 8')`
    const write = fixture.answer(`INSERT INTO kb (id, content) VALUES ${pair}`)
    let isOver = false
    const over = write.then(() => {
      isOver = true
    })
    while (!isOver) {
      counts.add(Object(await rowsOf('SELECT count(*) FROM kb')).rows[0][0])
      await new Promise((resolve) => setImmediate(resolve))
    }
    await over
    const { rows } = Object(await rowsOf('SELECT count(*) FROM kb'))
    expect(rows).toEqual([[first + 2 * (round + 1)]])
  }
  for (const count of counts) expect((Number(count) - first) % 2).toBe(0)
})
