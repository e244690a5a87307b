import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runQuery } from '../../src/query/run/run-query.ts'
import type { QueryDeps } from '../../src/query/select/query-deps.ts'
import { openSqlFixture, type SqlFixture } from '../sql/sql-fixture.ts'

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

/** Returns the statements that the database ran for one statement of Eider. */
async function statementsFor(sql: string, params = {}): Promise<readonly string[]> {
  const ran: string[] = []
  const { engine } = fixture.deps
  const deps: QueryDeps = {
    ...fixture.deps,
    engine: {
      parse: (text) => engine.parse(text),
      print: (tree) => engine.print(tree),
      exportParquet: (...select) => engine.exportParquet(...select),
      withEncoding: (rows) => engine.withEncoding(rows),
      run: (statement, ...others) => {
        ran.push(statement.sql)
        return engine.run(statement, ...others)
      },
    },
  }
  const result = await runQuery({ sql, db: 'mindsdb', params }, deps, new AbortController().signal)
  if (result.kind === 'table') for await (const _ of result.rows.batches);
  return ran
}

test.each([
  "SELECT * FROM kb WHERE content = '60' LIMIT 5",
  "SELECT id AS a, K.relevance FROM kb AS k WHERE content = '60' AND relevance >= 0.1 OFFSET 3",
  'SELECT metadata.price, colour, chunk_content FROM mindsdb.kb WHERE content = :q',
  "SELECT id FROM kb WHERE content = '60' AND price < 100 LIMIT 3",
  "SELECT id, relevance FROM kb WHERE content = '60' AND hybrid_search = true LIMIT 3",
])('the database runs no statement for %s', async (sql) => {
  const params = { q: '60' }
  // The additional statement asks for the columns.
  expect(await statementsFor(sql, params)).toHaveLength(1)
  expect(await statementsFor(sql, params)).toEqual([])
})

test.each([
  "SELECT upper(id) FROM kb WHERE content = '60' LIMIT 5",
  "SELECT id FROM kb WHERE content = '60' ORDER BY id LIMIT 5",
  "SELECT DISTINCT id FROM kb WHERE content = '60' LIMIT 5",
  "SELECT count(*) FROM kb WHERE content = '60'",
  "SELECT id FROM (SELECT * FROM kb WHERE content = '60' LIMIT 5)",
  "SELECT * EXCLUDE (id) FROM kb WHERE content = '60' LIMIT 5",
  "SELECT COLUMNS('id') FROM kb WHERE content = '60' LIMIT 5",
  "SELECT a FROM kb AS k(a) WHERE content = '60' LIMIT 5",
  "SELECT id FROM kb WHERE content = '60' AND relevance > 0.1 + 0.1 LIMIT 5",
  'SELECT id FROM kb LIMIT 5',
])('the database runs the statement for %s', async (sql) => {
  await statementsFor(sql)
  expect(await statementsFor(sql)).toHaveLength(1)
})

test.each([
  "SELECT * FROM kb WHERE id = 'd7'",
  'SELECT id, price, relevance FROM kb AS k WHERE k.id = :id LIMIT 1',
  "SELECT chunk_content FROM kb WHERE id = 'no such document'",
  "SELECT id FROM kb WHERE id = 'd8' OFFSET 1",
])('memory shows the chunks of one document as the database does: %s', async (sql) => {
  const params = { id: 'd9' }
  const fromDatabase = await rowsOf(sql, params)
  expect(await statementsFor(sql, params)).toEqual([])
  expect(await rowsOf(sql, params)).toEqual(fromDatabase)
})

async function rowsOf(sql: string, params = {}): Promise<readonly unknown[]> {
  const { signal } = new AbortController()
  const result = await runQuery({ sql, db: 'mindsdb', params }, fixture.deps, signal)
  if (result.kind !== 'table') throw new Error('a SELECT has rows')
  const rows: unknown[] = []
  for await (const batch of result.rows.batches) rows.push(...batch)
  return [result.rows.columns, rows]
}

test.each([
  "SELECT id FROM kb WHERE id = 'd7' AND price < 100",
  "SELECT id FROM kb WHERE id = 'd7' ORDER BY price",
  "SELECT DISTINCT id FROM kb WHERE id = 'd7'",
  "SELECT count(*) FROM kb WHERE id = 'd7'",
  "SELECT id FROM (SELECT * FROM kb WHERE id = 'd7')",
  "SELECT id FROM kb WHERE id = upper('d7')",
])('the database shows the chunks of one document for %s', async (sql) => {
  await statementsFor(sql)
  expect(await statementsFor(sql)).toHaveLength(1)
})
