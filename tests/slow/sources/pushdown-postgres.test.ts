/** What is pushed down to a real PostgreSQL gives the rows that DuckDB gives over copies of the tables. */
import { afterAll, beforeAll, describe, test } from 'bun:test'
import { testPostgres } from '../../support/database-servers.ts'
import { isEverything } from '../../support/sample.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { compareWithCopies, copyTables } from '../sql/pushdown-statements.ts'

const server = await testPostgres()
let app: TestApp

const TABLES = `
  CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
  CREATE TABLE a (id bigint NOT NULL, i integer, d numeric(10,2), f double precision, t text COLLATE blind, day date,
    ts timestamp, ok boolean, u uuid, r real);
  INSERT INTO a SELECT n, CASE WHEN n % 7 = 0 THEN NULL ELSE n % 5 - 1 END,
    CASE WHEN n % 11 = 0 THEN NULL WHEN n % 13 = 0 THEN 'NaN' ELSE (n % 9)::numeric / 4 END,
    CASE n % 8 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity'
      ELSE (n % 6)::float8 / 10 END,
    (ARRAY['a', 'A', 'a ', 'b', 'é', 'E', '', NULL, 'a%', 'ab', '😀', 'z'])[1 + n % 12],
    CASE WHEN n % 6 = 0 THEN NULL WHEN n % 17 = 0 THEN 'infinity' ELSE date '2024-01-01' + (n % 4)::integer END,
    CASE WHEN n % 5 = 0 THEN NULL ELSE timestamp '2024-01-01' + (n % 3) * interval '1 hour' END,
    CASE WHEN n % 4 = 0 THEN NULL ELSE n % 3 = 0 END,
    ('00000000-0000-0000-0000-00000000000' || (n % 5))::uuid, (n % 3)::real / 10
    FROM generate_series(0, 119) AS n;
  CREATE TABLE b (id bigint, i integer, t varchar(10));
  INSERT INTO b SELECT n * 3, CASE WHEN n % 4 = 0 THEN NULL ELSE n % 6 END,
    (ARRAY['a', 'b', NULL, 'é', 'a '])[1 + n % 5] FROM generate_series(0, 24) AS n`

describe.skipIf(server === null)('PostgreSQL', () => {
  beforeAll(async () => {
    await server?.run(TABLES)
    app = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
    const parameters = server?.parameters ?? {}
    await app.store.dataSourceCatalog.createDataSource({
      name: 'far',
      engine: 'postgres',
      parameters,
    })
    await copyTables(app, 'far')
  }, 180_000)

  afterAll(async () => {
    await app.close()
    await server?.stop()
  })

  test('statements over its tables and over their copies', async () => {
    await compareWithCopies(app, 'far', isEverything ? 600 : 200)
  }, 240_000)
})
