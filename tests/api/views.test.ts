import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const VIEWS = '/api/projects/mindsdb/views'

let t: TestApp
beforeEach(async () => {
  t = await createTestApp()
})
afterEach(() => t.close())

test('a view is created, listed, read, changed and deleted', async () => {
  const view = { name: 'numbers', query: 'SELECT range AS n FROM range(3)' }
  const created = await t.send('POST', VIEWS, { view })
  expect(created.status).toBe(201)
  const columns = [{ name: 'n', type: 'BIGINT' }]
  expect(created.body).toMatchObject({ ...view, project: 'mindsdb', columns })
  expect((await t.send('GET', VIEWS)).body).toMatchObject([view])
  expect(await t.rows('SELECT sum(n) FROM numbers')).toEqual([[3]])
  const query = 'SELECT 7 AS n'
  const altered = await t.send('PUT', `${VIEWS}/Numbers`, { view: { query } })
  expect(altered).toMatchObject({ status: 200, body: { name: 'numbers', query } })
  expect(await t.rows('SELECT n FROM mindsdb.numbers')).toEqual([[7]])
  const renamed = await t.send('PUT', `${VIEWS}/numbers`, { view: { name: 'other', query } })
  expect(renamed).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
  expect((await t.send('GET', `/api/tree/mindsdb`)).body).toMatchObject([
    { name: 'models', type: 'table', deletable: false },
    { name: 'numbers', type: 'view' },
  ])
  expect(await t.send('DELETE', `${VIEWS}/numbers`)).toMatchObject({ status: 204, text: '' })
  expect((await t.send('GET', `${VIEWS}/numbers`)).status).toBe(404)
})

test('an invalid view is refused, and nothing is stored', async () => {
  const refused: readonly (readonly [unknown, number, string])[] = [
    [{ name: 'v', query: 'DROP TABLE x' }, 400, 'sql_not_supported'],
    [{ name: 'v', query: 'SELECT nope' }, 400, 'sql_unknown_name'],
    [{ name: 'v', query: 'SELECT :p' }, 400, 'sql_not_supported'],
    [{ name: 'a.b', query: 'SELECT 1' }, 400, 'invalid_name'],
    [{ name: 'v' }, 400, 'missing_parameter'],
    [{ name: 'v', query: 'SELECT 1', extra: 1 }, 400, 'unknown_field'],
  ]
  for (const [view, status, code] of refused) {
    expect(await t.send('POST', VIEWS, { view })).toMatchObject({ status, body: { code } })
  }
  expect((await t.send('GET', VIEWS)).body).toEqual([])
  await t.send('POST', VIEWS, { view: { name: 'v', query: 'SELECT 1 AS a' } })
  const again = await t.send('POST', VIEWS, { view: { name: 'V', query: 'SELECT 2' } })
  expect(again).toMatchObject({ status: 409, body: { code: 'relation_exists' } })
})
