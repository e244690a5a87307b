/** Each name that reaches out of SQL, in each place where a name or a function can be. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

/**
 * Functions that return a value, and table functions that read files, settings, secrets or the
 * catalog.
 */
const VALUES = [
  `getenv('HOME')`,
  `current_setting('memory_limit')`,
  `getvariable('x')`,
  `nextval('s')`,
  `sleep_ms(10)`,
  `write_log('x')`,
  `json_serialize_sql('SELECT 1')`,
  `has_table_privilege('kb', 'SELECT')`,
  `eider_steps_total(1, 'x')`,
  `eider_steps(1, 'x')`,
] as const
const TABLES = [
  `read_text('/etc/passwd')`,
  `read_csv('/etc/passwd')`,
  `read_json_auto('/etc/hosts')`,
  `parquet_scan('x.parquet')`,
  `glob('/*')`,
  `duckdb_secrets()`,
  `duckdb_settings()`,
  `duckdb_tables()`,
  `pragma_database_size()`,
  `query('SELECT 1')`,
  `query_table('kb')`,
] as const

/** `?` is replaced with the value. */
const PLACES = [
  'SELECT ?',
  'SELECT 1 AS a, upper((?)::VARCHAR)',
  'SELECT 1 WHERE (?) IS NULL',
  'SELECT count(*) FROM kb GROUP BY (?)',
  'SELECT count(*) FROM kb HAVING (?) IS NULL',
  'SELECT id FROM kb ORDER BY (?)',
  'SELECT id FROM kb LIMIT (?)',
  'SELECT row_number() OVER (ORDER BY (?)) FROM kb',
  'SELECT id FROM kb QUALIFY row_number() OVER (PARTITION BY (?)) = 1',
  'SELECT sum(price) FILTER (WHERE (?) IS NULL) FROM kb',
  "SELECT string_agg(id, ',' ORDER BY (?)) FROM kb",
  'WITH x AS (SELECT (?) AS v) SELECT * FROM x',
  'WITH RECURSIVE x AS (SELECT 1 AS v UNION ALL SELECT v + 1 FROM x WHERE (?) IS NULL) SELECT * FROM x',
  'SELECT (SELECT (SELECT (?)))',
  'SELECT * FROM (SELECT (?)) t',
  'SELECT * FROM kb a JOIN kb b ON (?) IS NULL',
  'SELECT * FROM kb a, LATERAL (SELECT (?)) b',
  'SELECT 1 UNION ALL SELECT (?)',
  'SELECT 1 EXCEPT SELECT (?)',
  'VALUES (1), ((?))',
  'SELECT CASE WHEN (?) IS NULL THEN 1 END',
  'SELECT [(?)], {a: (?)}, MAP {1: (?)}',
  'SELECT * REPLACE ((?) AS id) FROM kb',
  'SELECT DISTINCT ON ((?)) 1',
  'SELECT * FROM range(coalesce((?)::INT, 1))',
  'SELECT * FROM unnest([(?)])',
  "SELECT id FROM kb WHERE content = 'x' AND (?) IS NULL",
  "SELECT id FROM kb WHERE content = 'x' AND relevance > (?)",
  'PIVOT (SELECT 1 AS k, 2 AS v) ON k IN (1) USING sum((?)::INT)',
  'EXPLAIN SELECT (?)',
  'EXPLAIN ANALYZE SELECT (?)',
  'DESCRIBE SELECT (?)',
  'SUMMARIZE SELECT (?)',
  'CREATE VIEW v AS SELECT (?) AS x',
  'CREATE TABLE t AS SELECT (?) AS x',
  'INSERT INTO kb SELECT (?) AS content',
  "INSERT INTO kb (id, content) VALUES ('x', (?))",
  'UPDATE kb SET price = (?)',
  'DELETE FROM kb WHERE (?) IS NULL',
  'SET @x = (?)',
] as const

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  const kbs = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', kbs, { knowledge_base: { name: 'kb' } })
  const rows = [{ id: 'a', content: 'one', price: 1 }]
  await t.send('PUT', `${kbs}/kb`, { knowledge_base: { rows } })
})
afterAll(() => t.close())

const values = [...VALUES, ...TABLES.map((table) => `SELECT count(*) FROM ${table}`)]

test('there are hundreds of them', () => {
  expect(values.length * PLACES.length).toBeGreaterThan(800)
})

describe('nothing reaches out of', () => {
  for (const place of PLACES) {
    test(place, async () => {
      const through: unknown[] = []
      for (const value of values) {
        const query = place.replaceAll('?', value)
        const { body, text } = await t.send('POST', '/api/sql/query', { query })
        const { error_code: code } = body as { readonly error_code?: number }
        // A place that takes no such value gives a syntax error or an unknown kind of statement.
        const isRefused = code === 4004 || code === 4001 || code === 4002 || code === 4005
        if (!isRefused || text.includes('root:')) through.push([query, body])
      }
      expect(through).toEqual([])
      expect(await t.rows('SELECT id, price FROM kb')).toEqual([['a', 1]])
    }, 60_000)
  }
})

describe('no request that contains SQL escapes the restrictions', () => {
  const kb = '/api/projects/mindsdb/knowledge_bases/kb'
  for (const value of values) {
    test(value, async () => {
      const query = `SELECT 'x' AS id, (${value}) AS content`
      const put = await t.send('PUT', kb, { knowledge_base: { query } })
      expect([put.status, (put.body as { code?: string }).code]).toEqual([400, 'invalid_select'])
    })
  }
})
