/** Notebooks read rows by link and as Arrow: pandas, polars, pyarrow and DuckDB, against a real server. */
import { afterAll, beforeAll, expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, startServer } from '../../scripts/server-process.ts'
import { clientResult, clientTest } from './client-programs.ts'

let server: ServerProcess
const dataDirectory = mkdtempSync(join(tmpdir(), 'eider-columns-'))

const SALES = `CREATE TABLE mindsdb.sales AS SELECT range AS id, 'north,' || (range % 2) AS region,
  (range / 4)::DECIMAL(10,2) AS amount, TIMESTAMPTZ '2026-01-01 00:00:00Z' + to_hours(range::INT) AS sold_at
  FROM range(100)`
const BIG = `CREATE TABLE mindsdb.big AS SELECT range AS id, 'row number ' || range || ' of all' AS name FROM range(100000)`
/** One row with a value in each column, one with other values, and one of nulls. */
const ALL_TYPES = `CREATE TABLE mindsdb.all_types AS
  SELECT true AS bool, (-128)::TINYINT AS tinyint, (-32768)::SMALLINT AS smallint, (-2147483648)::INTEGER AS int,
    (-9223372036854775808)::BIGINT AS bigint, (-99999999999999999999999999999999999999)::HUGEINT AS hugeint,
    255::UTINYINT AS utinyint, 65535::USMALLINT AS usmallint, 4294967295::UINTEGER AS uint,
    18446744073709551615::UBIGINT AS ubigint, 1.5::FLOAT AS float, 0.1::DOUBLE AS double,
    (-999.9)::DECIMAL(4,1) AS dec_4_1, (-99999.9999)::DECIMAL(9,4) AS dec_9_4,
    (-999999999999.999999)::DECIMAL(18,6) AS dec_18_6,
    (-1234567890123456789012345678.0123456789)::DECIMAL(38,10) AS dec_38_10,
    'a text with a "quote", longer' AS varchar, '\\xAA\\x00'::BLOB AS blob, DATE '1969-12-31' AS date,
    TIME '23:59:59.123456' AS time, TIMESTAMP '2026-01-02 03:04:05.678901' AS timestamp,
    TIMESTAMP_S '2026-01-02 03:04:05' AS timestamp_s, TIMESTAMP_MS '2026-01-02 03:04:05.678' AS timestamp_ms,
    TIMESTAMP_NS '2026-01-02 03:04:05.678901234' AS timestamp_ns,
    TIMESTAMPTZ '2026-01-02 03:04:05+02' AS timestamp_tz, INTERVAL '1 month 2 days 3 seconds' AS interval,
    '6f3b0f4e-0000-4000-8000-000000000001'::UUID AS uuid, '{"a": [1, null]}'::JSON AS json,
    'green'::ENUM('red', 'green') AS enum, [1, NULL, 3] AS list, [['a long text of a list', NULL], [], NULL] AS lists,
    [1.5, 2.5]::DOUBLE[2] AS array, {'a': 1, 'b': ['x']} AS struct, MAP {'k': 1, 'l': NULL} AS map,
    union_value(n := 5)::UNION(n INTEGER, t VARCHAR) AS union, '0101'::BIT AS bit
  UNION ALL BY NAME SELECT false AS bool, '' AS varchar, 'ü🦆' AS uuid_text, [] AS list, 7 AS int
  UNION ALL BY NAME SELECT NULL AS bool`
const TEAS = [
  { id: 'sencha', content: 'Sencha is a green tea from Japan.' },
  { id: 'assam', content: 'Assam is a black tea from India.' },
]

beforeAll(async () => {
  server = await startServer({ dataDirectory, environment: { EIDER_URL_KEYS: '1' } })
  const call = async (method: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const url = `${server.baseUrl}${path}`
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (!answer.ok || text.includes('"type":"error"')) throw new Error(text)
    return text
  }
  for (const query of [SALES, BIG, ALL_TYPES]) {
    await call('POST', '/api/sql/query', { query })
  }
  const bases = '/api/projects/mindsdb/knowledge_bases'
  await call('POST', bases, { knowledge_base: { name: 'kb' } })
  await call('PUT', `${bases}/kb`, { knowledge_base: { rows: TEAS } })
  const made = await call('POST', '/api/keys', { name: 'notebook', scopes: ['read'] })
  key = JSON.parse(made).key
})

let key = ''

afterAll(async () => {
  await server.stop()
  rmSync(dataDirectory, { recursive: true })
})

clientTest('rows arrive with their types', async () => {
  const seen = await clientResult('columns.py', { EIDER_URL: server.baseUrl, EIDER_KEY: key })
  expect(seen).toMatchSnapshot()
})

clientTest('the examples of docs/notebooks.md', async () => {
  const environment = { EIDER_URL: server.baseUrl, EIDER_KEY: key }
  expect(await clientResult('notebook-page.py', environment)).toBe(4)
})
