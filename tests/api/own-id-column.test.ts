/** A knowledge base with a custom name for its id column. */
import { afterAll, beforeEach, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
let t: TestApp | undefined
let app: TestApp

beforeEach(async () => {
  await t?.close()
  app = await createTestApp()
  t = app
  const knowledge_base = { name: 'k', id_column: 'Sku', content_columns: ['text'] }
  await app.send('POST', KBS, { knowledge_base })
  const rows = [
    { Sku: 'a1', text: 'Green tea', price: 3 },
    { Sku: '7', text: 'Black tea', price: 9 },
    { Sku: 'c3', text: 'Cold coffee', price: 5 },
  ]
  await app.send('PUT', `${KBS}/k`, { knowledge_base: { rows } })
})
afterAll(() => t?.close())

test.each([
  ["SELECT sku FROM k WHERE sku = 'a1'", [['a1']]],
  ['SELECT SKU, id FROM k WHERE Sku = 7', [['7', '7']]],
  ["SELECT k.sku AS s FROM k WHERE k.sku IN ('a1', 'c3') ORDER BY k.sku DESC", [['c3'], ['a1']]],
  ['SELECT count(DISTINCT sku) FROM k', [[3]]],
  ["SELECT sku FROM k WHERE content = 'tea' AND sku != 'c3' ORDER BY sku LIMIT 5", [['7'], ['a1']]],
  ["SELECT sku FROM k WHERE content = 'green tea' AND price < 4 LIMIT 1", [['a1']]],
  ['SELECT x.sku FROM k x JOIN k y ON x.sku = y.sku WHERE y.price = 5', [['c3']]],
  ['SELECT sku, sum(price) FROM k GROUP BY sku HAVING sum(price) > 8', [['7', 9]]],
])('%s', async (sql, rows) => {
  expect(await app.rows(sql)).toEqual(rows)
})

test('it is not a column of *', async () => {
  const { body } = await app.send('POST', '/api/sql/query', {
    query: "SELECT * FROM k WHERE sku = 'a1'",
  })
  expect((body as { readonly column_names: readonly string[] }).column_names).toEqual([
    ...['id', 'chunk_id', 'chunk_content', 'metadata', 'relevance', 'distance'],
  ])
})

test('UPDATE and DELETE find rows by it, and it cannot be set', async () => {
  const run = async (query: string) => (await app.send('POST', '/api/sql/query', { query })).body
  expect(await run("UPDATE k SET price = 4 WHERE sku = 'a1'")).toMatchObject({ affected_rows: 1 })
  expect(await run("UPDATE k SET text = 'Cold milk' WHERE sku = 'c3'")).toMatchObject({
    affected_rows: 1,
  })
  expect(await run('DELETE FROM k WHERE sku = 7')).toMatchObject({ affected_rows: 1 })
  expect(await app.rows('SELECT sku, price, chunk_content FROM k ORDER BY sku')).toEqual([
    ['a1', 4, 'Green tea'],
    ['c3', 5, 'Cold milk'],
  ])
  expect(await run("UPDATE k SET sku = 'x' WHERE sku = 'a1'")).toMatchObject({ type: 'error' })
})
