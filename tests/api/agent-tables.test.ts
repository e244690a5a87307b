import { afterAll, beforeAll, expect, test } from 'bun:test'
import { askForTables } from '../agents/asks-for-tables.ts'
import { duckdbSources } from '../support/duckdb-sources.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp
beforeAll(async () => {
  const sources = await duckdbSources('shop')
  app = await createTestApp({ sources, environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
  const source = { name: 'shop', engine: 'duckdb', parameters: {} } as const
  await app.store.dataSourceCatalog.createDataSource(source)
  await sources.run(
    'shop',
    `CREATE TABLE orders (name VARCHAR, total DECIMAL(10,2));
     INSERT INTO orders VALUES ('ann', 3.5), ('bob', 1.25), ('ann', 2);
     CREATE SCHEMA extra; CREATE TABLE extra.notes (tea BIGINT, note VARCHAR);
     INSERT INTO extra.notes VALUES (1, 'grassy');
     CREATE SCHEMA staff; CREATE TABLE staff.wages (name VARCHAR, wage INTEGER)`,
  )
})
afterAll(() => app.close())

test('an agent reads only those database tables that its data names', async () => {
  const { seen, answer } = await askForTables(app, ['shop.orders', 'shop.extra.*', 'gone.*'])
  expect(seen[0]).toBe('["shop.orders","shop.extra.notes"]')
  expect(seen[1]).toContain('Columns: name VARCHAR, total DECIMAL(10,2)')
  expect(seen[1]).toContain('Columns: tea BIGINT, note VARCHAR')
  expect(seen[1]).toContain('1,grassy')
  expect(seen[2]).toContain('ann,5.5')
  expect(seen[3]).toContain('shop.staff.wages is not available here')
  expect(answer).toContain('No table found: gone.*')
})
