import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const BYTES_MAX = 2048
const KBS = '/api/projects/mindsdb/knowledge_bases'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ environment: { EIDER_STATEMENT_BYTES_MAX: String(BYTES_MAX) } })
  await t.send('POST', KBS, { knowledge_base: { name: 'kb' } })
})
afterAll(() => t.close())

/** A text that makes a statement too large. */
const LONG = 'x'.repeat(BYTES_MAX)

const STATEMENTS = [
  `SELECT '${LONG}'`,
  `SELECT 1 /* ${LONG} */`,
  `SELECT 1 ${';'.repeat(BYTES_MAX)}`,
  `'${LONG}`,
  `SELECT 1 AS "${LONG}`,
  `SELECT 'it\\'s ${LONG}'`,
  `EXPLAIN SELECT '${LONG}'`,
  `INSERT INTO kb (id, content) VALUES ('a', '${LONG}')`,
  `INSERT INTO kb (id, content) SELECT 'a', '${LONG}'`,
  `CREATE VIEW v AS SELECT '${LONG}'`,
  `CREATE TABLE t AS SELECT '${LONG}'`,
  `UPDATE kb SET content = '${LONG}' WHERE id = 'a'`,
  `DELETE FROM kb WHERE id = '${LONG}'`,
  `EVALUATE KNOWLEDGE_BASE kb USING test_table = '${LONG}'`,
  `CREATE AGENT a USING prompt_template = '${LONG}'`,
  `SET @x = '${LONG}'`,
  `SHOW TABLES LIKE '${LONG}'`,
]

for (const query of STATEMENTS) {
  test(`${query.slice(0, 40)}… is refused before it is read`, async () => {
    const { status, body } = await t.send('POST', '/api/sql/query', { query })
    expect(status).toBe(200)
    expect(body).toMatchObject({ type: 'error', error_code: 4008 })
    expect(JSON.stringify(body)).toContain(`more than ${BYTES_MAX} bytes`)
    expect(JSON.stringify(body)).not.toContain('xxxx')
  })
}

test('bytes are counted, not characters', async () => {
  const query = (letters: number) => `SELECT length('${'ü'.repeat(letters)}')`
  const room = (BYTES_MAX - query(0).length) / 2
  expect(await t.rows(query(Math.floor(room)))).toEqual([[Math.floor(room)]])
  const { body } = await t.send('POST', '/api/sql/query', { query: query(Math.floor(room) + 1) })
  expect(body).toMatchObject({ error_code: 4008 })
})

test('values are not part of the statement’s text', async () => {
  expect(await t.rows('SELECT length(:text)', { text: LONG })).toEqual([[LONG.length]])
})

test('the query of an insert, a view and a Parquet answer are statements', async () => {
  const sql = `SELECT 'a' AS id, '${LONG}' AS content`
  const problem = { status: 413, code: 'statement_too_large' }
  const insert = await t.send('PUT', `${KBS}/kb`, { knowledge_base: { query: sql } })
  expect(insert.body).toMatchObject(problem)
  const views = '/api/projects/mindsdb/views'
  expect((await t.send('POST', views, { view: { name: 'v', query: sql } })).body).toMatchObject(
    problem,
  )
  await t.send('POST', views, { view: { name: 'v', query: 'SELECT 1 AS one' } })
  expect((await t.send('PUT', `${views}/v`, { view: { query: sql } })).body).toMatchObject(problem)
  const accept = { accept: 'application/vnd.apache.parquet' }
  const parquet = await t.send('POST', '/api/sql/query', { query: sql }, accept)
  expect(parquet.text).not.toContain('xxxx')
  expect(parquet.text).toContain('more than')
  expect(await t.rows('SELECT id FROM kb')).toEqual([])
})
