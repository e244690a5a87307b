/** GET /api/sql/query on the whole product: what a link may do, and with which rights. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { AppLog } from '../../src/app.ts'
import { makeKey } from '../support/access-keys.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp
let locked: TestApp
const logged: unknown[] = []

const LOGIN = { username: 'ada', password: 'right' }

beforeAll(async () => {
  const log: AppLog = {
    request: (entry) => logged.push(entry),
    failure: (error) => logged.push(error),
  }
  app = await createTestApp()
  const environment = {
    EIDER_USERNAME: LOGIN.username,
    EIDER_PASSWORD: LOGIN.password,
    EIDER_URL_KEYS: '1',
  }
  locked = await createTestApp({ environment, log })
  await app.rows('CREATE TABLE mindsdb.sales AS SELECT range AS id FROM range(3)').catch(() => [])
  await app.send('POST', '/api/projects/mindsdb/agents', { agent: { name: 'helper' } })
})

afterAll(async () => {
  await app.close()
  await locked.close()
})

function get(query: string, more = '') {
  return app.send('GET', `/api/sql/query?query=${encodeURIComponent(query)}${more}`)
}

test.each([
  ['SELECT max(id) FROM sales', 2],
  ['WITH a AS (SELECT 1 AS x) SELECT x FROM a', 1],
])('%s', async (query, value) => {
  expect((await get(query)).body).toMatchObject({ data: [[value]] })
})

test.each(['SHOW DATABASES', 'DESCRIBE sales', 'DESCRIBE AGENT helper', 'EXPLAIN SELECT 1'])(
  '%s',
  async (query) => {
    expect(await get(query, '&format=csv')).toMatchObject({ status: 200 })
    expect(await get(query, '&format=arrow')).toMatchObject({ status: 200 })
  },
)

test('a placeholder', async () => {
  const { body } = await get('SELECT id FROM sales WHERE id > :low ORDER BY id', '&p.low=1')
  expect(body).toMatchObject({ data: [[2]] })
})

test.each([
  'DROP TABLE sales',
  'INSERT INTO sales VALUES (9)',
  'UPDATE sales SET id = 0',
  'DELETE FROM sales',
  'CREATE TABLE t AS SELECT 1 AS x',
  'CREATE VIEW v AS SELECT 1',
  'CREATE PROJECT p',
  'SET @a = 1',
  'USE files',
  'BEGIN',
  'EVALUATE KNOWLEDGE_BASE kb USING test_table = files.x',
  "SELECT answer FROM helper WHERE question = 'what?'",
  "SELECT * FROM (SELECT answer FROM helper WHERE question = 'what?')",
  "EXPLAIN ANALYZE SELECT answer FROM helper WHERE question = 'what?'",
])('%s is not for a link', async (query) => {
  for (const format of [
    'json',
    'csv',
    'arrow',
    ...(query.startsWith('EXPLAIN') ? [] : ['parquet']),
  ]) {
    const { status, body } = await get(query, `&format=${format}`)
    expect([status, body]).toMatchObject([400, { code: 'sql_not_a_query' }])
  }
  expect((await get('SELECT count(*) FROM sales')).body).toMatchObject({ data: [[3]] })
})

test('two statements are none', async () => {
  expect((await get('SELECT 1; DROP TABLE sales')).status).toBe(400)
  expect((await get('SELECT count(*) FROM sales')).body).toMatchObject({ data: [[3]] })
})

test('a key in the address: only where the setting allows it', async () => {
  const { key } = await makeKey(app, ['read'])
  const { status, body } = await get('SELECT 1', `&key=${key}`)
  expect([status, body]).toMatchObject([403, { code: 'url_key_refused' }])
  expect(JSON.stringify(body)).not.toContain(key)
})

test('a key in the address: only one that reads and does nothing else', async () => {
  const { body } = await locked.send('POST', '/api/login', LOGIN)
  const admin = { authorization: `Bearer ${Object(body).token}` }
  const statusWith = async (key: string, headers = {}) => {
    const path = `/api/sql/query?query=SELECT+42&format=csv&key=${key}`
    const { status, text } = await locked.send('GET', path, undefined, headers)
    expect(text).not.toContain(key)
    return status
  }
  const { key } = await makeKey(locked, ['read'], {}, admin)
  expect(await statusWith(key)).toBe(200)
  // A caller with a key need not be a browser.
  expect(await statusWith(key, { 'sec-fetch-site': 'cross-site' })).toBe(200)
  expect(await statusWith(`${key}x`)).toBe(401)
  expect(await statusWith('nonsense')).toBe(401)
  for (const scopes of [['read', 'write'], ['ask'], ['admin']] as const) {
    const other = await makeKey(locked, scopes, {}, admin)
    expect(await statusWith(other.key)).toBe(403)
  }
  const elsewhere = await locked.send('GET', `/api/projects?key=${key}`)
  expect(elsewhere.status).toBe(401)
  const posted = await locked.send('POST', `/api/sql/query?key=${key}`, { query: 'SELECT 1' })
  expect(posted.status).toBe(401)
  expect(logged.length).toBeGreaterThan(0)
  expect(JSON.stringify(logged)).not.toContain(key)
})

test.each([
  ['DROP TABLE sales', 'error'],
  ["SELECT answer FROM helper WHERE question = 'x'", 'error'],
  ['SELECT max(id) FROM sales', 'table'],
])('a POST that is to read only: %s', async (query, type) => {
  const { body } = await app.send('POST', '/api/sql/query', { query, read_only: true })
  expect(body).toMatchObject(type === 'error' ? { type, error_code: 4101 } : { type })
})
