import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { askForTables } from '../../agents/asks-for-tables.ts'
import { testPostgres } from '../../support/database-servers.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const server = await testPostgres()
let app: TestApp

const TABLES = `
  CREATE TABLE orders (name text, total numeric(10,2));
  INSERT INTO orders VALUES ('ann', 3.5), ('bob', 1.25), ('ann', 2);
  CREATE SCHEMA extra; CREATE TABLE extra.notes (tea bigint, note text, seen timestamptz);
  INSERT INTO extra.notes VALUES (1, 'grassy', '2026-01-01 00:00:00Z');
  CREATE SCHEMA staff; CREATE TABLE staff.wages (name text, wage integer)`

describe.skipIf(server === null)('an agent over PostgreSQL', () => {
  beforeAll(async () => {
    await server?.run(TABLES)
    app = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
    const database = { name: 'shop', engine: 'postgres', parameters: server?.parameters }
    expect((await app.send('POST', '/api/databases', { database })).status).toBe(201)
  }, 180_000)

  afterAll(async () => {
    await app.close()
    await server?.stop()
  })

  test('reads the tables that its data names, with their types', async () => {
    const { seen } = await askForTables(app, ['shop.orders', 'shop.extra.*'])
    expect(seen[0]).toBe('["shop.orders","shop.extra.notes"]')
    expect(seen[1]).toContain('Columns: name VARCHAR, total DECIMAL(10,2)')
    expect(seen[1]).toContain('Columns: tea BIGINT, note VARCHAR, seen TIMESTAMP WITH TIME ZONE')
    expect(seen[2]).toContain('ann,5.5')
    expect(seen[3]).toContain('shop.staff.wages is not available here')
  })
})
