/** Each statement over remote tables gives the rows that it gives over copies of these tables. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type DuckDBSources, duckdbSources } from '../../support/duckdb-sources.ts'
import { isEverything } from '../../support/sample.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { compareWithCopies, copyTables } from './pushdown-statements.ts'

let app: TestApp
let sources: DuckDBSources

beforeAll(async () => {
  sources = await duckdbSources('far')
  app = await createTestApp({ sources })
  await app.store.dataSourceCatalog.createDataSource({
    name: 'far',
    engine: 'duckdb',
    parameters: {},
  })
  await sources.run('far', TABLES)
  await copyTables(app, 'far')
})

afterAll(() => app.close())

const TABLES = `
  CREATE TABLE a (id BIGINT NOT NULL, i INTEGER, d DECIMAL(10,2), f DOUBLE, t VARCHAR, day DATE, ts TIMESTAMP,
    ok BOOLEAN, u UUID, r FLOAT);
  INSERT INTO a SELECT range, CASE WHEN range % 7 = 0 THEN NULL ELSE range % 5 - 1 END,
    CASE WHEN range % 11 = 0 THEN NULL ELSE (range % 9)::DECIMAL(10,2) / 4 END,
    CASE range % 8 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN 'inf'::DOUBLE WHEN 3 THEN '-inf'::DOUBLE
      ELSE (range % 6)::DOUBLE / 10 END,
    (['a', 'A', 'a ', 'b', 'é', 'E', '', NULL, 'a%', 'ab', '😀', 'z'])[1 + range % 12],
    CASE WHEN range % 6 = 0 THEN NULL ELSE DATE '2024-01-01' + (range % 4)::INTEGER END,
    CASE WHEN range % 5 = 0 THEN NULL ELSE TIMESTAMP '2024-01-01' + INTERVAL (range % 3) HOUR END,
    CASE WHEN range % 4 = 0 THEN NULL ELSE range % 3 = 0 END,
    ('00000000-0000-0000-0000-00000000000' || (range % 5))::UUID, (range % 3)::FLOAT / 10
    FROM range(120);
  CREATE TABLE b (id BIGINT, i INTEGER, t VARCHAR);
  INSERT INTO b SELECT range * 3, CASE WHEN range % 4 = 0 THEN NULL ELSE range % 6 END,
    (['a', 'b', NULL, 'é', 'a '])[1 + range % 5] FROM range(25);`

test('statements over remote tables and over their copies', async () => {
  await compareWithCopies(app, 'far', isEverything ? 600 : 200)
  expect(sources.held.size).toBe(0)
}, 180_000)
