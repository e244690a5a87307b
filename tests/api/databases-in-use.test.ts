import { afterAll, beforeAll, expect, test } from 'bun:test'
import { namesDatabase } from '../../src/sql/lexer/database-names.ts'
import { fakeSources, fakeTable } from '../support/fake-sources.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp
beforeAll(async () => {
  const tables = [fakeTable('orders', { id: 'BIGINT', content: 'VARCHAR' })]
  app = await createTestApp({ sources: fakeSources({ shop: tables }) })
  await sql('CREATE DATABASE shop ENGINE = \'postgres\', PARAMETERS = {"host": "h"}')
  await sql('CREATE KNOWLEDGE_BASE kb')
})
afterAll(() => app.close())

async function sql(query: string) {
  return (await app.send('POST', '/api/sql/query', { query })).body
}

test('a database that is read automatically is not dropped, and the message names its reader', async () => {
  const job = 'INSERT INTO kb SELECT id, content FROM Shop.orders WHERE id > LAST'
  await sql(`CREATE JOB nightly (${job}) START '2099-01-01' EVERY day`)
  const source = { name: 'rows', kind: 'query', query: 'SELECT * FROM shop."orders"' }
  const sources = '/api/projects/mindsdb/knowledge_bases/kb/sources'
  expect(await app.send('POST', sources, { source })).toMatchObject({ status: 201 })
  const why =
    'Database shop is used by job mindsdb.nightly, source rows of mindsdb.kb: drop or change that first'
  expect(await sql('DROP DATABASE shop')).toMatchObject({ type: 'error', error_message: why })
  expect(await app.send('DELETE', '/api/databases/shop')).toMatchObject({
    status: 409,
    body: { code: 'database_in_use', detail: why },
  })
  await sql('DROP JOB nightly')
  await app.send('DELETE', `${sources}/rows`)
  expect(await sql('DROP DATABASE shop')).toMatchObject({ type: 'ok' })
})

test.each([
  ['SELECT * FROM shop.orders', true],
  ['SELECT * FROM "SHOP" . orders', true],
  ['SELECT * FROM shop (SELECT 1)', true],
  ['shop.public.orders', true],
  ['SELECT shop FROM other.shop', false],
  ["SELECT 'shop.orders' -- shop.orders", false],
  ['SELECT * FROM other.shop.orders', false],
  ["SELECT 'shop.orders", true],
])('%p names it: %p', (text, expected) => {
  expect(namesDatabase(text, 'shop')).toBe(expected)
})
