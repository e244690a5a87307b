/** Rows without content are not stored, and the client learns how many there were. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { endOf, type JobBody } from './jobs-fixture.ts'

const KB = '/api/projects/mindsdb/knowledge_bases/k'
const HEADER = 'x-eider-skipped-rows'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  const list = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', list, { knowledge_base: { name: 'k' } })
})
afterAll(() => t.close())

const ROWS = [{ id: 'a', content: 'Green tea' }, { id: 'b', content: '  \n ' }, { content: '' }]

async function lastAudit() {
  const { body } = await t.send('GET', '/api/audit?limit=1')
  return (body as { readonly items: readonly { readonly skipped_rows: number }[] }).items[0]
}

test('a PUT answers "" and counts them in a header, the knowledge base and the audit log', async () => {
  const { text, headers } = await t.send('PUT', KB, { knowledge_base: { rows: ROWS } })
  expect([text, headers.get(HEADER)]).toEqual(['""', '2'])
  const { body } = await t.send('GET', KB)
  expect(body).toMatchObject({ processed_rows: 1, insert_skipped_rows: 2 })
  expect(await lastAudit()).toMatchObject({ outcome: 'ok', skipped_rows: 2 })
  const sql = 'SELECT skipped_rows FROM information_schema.audit_log ORDER BY number DESC LIMIT 1'
  expect(await t.rows(sql)).toEqual([[2]])
  const whole = await t.send('PUT', KB, { knowledge_base: { rows: ROWS.slice(0, 1) } })
  expect(whole.headers.get(HEADER)).toBe('0')
  const renamed = await t.send('PUT', KB, { knowledge_base: { hybrid_search: true } })
  expect(renamed.headers.get(HEADER)).toBeNull()
})

test('a sent file counts as the last insert, too', async () => {
  const form = new FormData()
  form.set('file', new File(['Green tea comes from Uji.'], 'tea.txt'))
  const { status } = await t.send('POST', `${KB}/files`, form)
  expect(status).toBe(200)
  const { body } = await t.send('GET', KB)
  expect(body).toMatchObject({ processed_rows: 1, insert_error: null })
})

test('INSERT INTO counts them too', async () => {
  const query = "INSERT INTO k (id, content) VALUES ('c', 'Black tea'), ('d', ''), ('e', NULL)"
  const { body, headers } = await t.send('POST', '/api/sql/query', { query })
  expect(body).toMatchObject({ type: 'ok', affected_rows: 1 })
  expect(headers.get(HEADER)).toBe('2')
  expect(await lastAudit()).toMatchObject({ skipped_rows: 2 })
})

test('a job counts all of them and lists the first 100', async () => {
  const many = Array.from({ length: 250 }, (_, index) => ({ id: `empty ${index}`, content: ' ' }))
  const insert = { rows: [...ROWS, ...many], background: true }
  const { body } = await t.send('PUT', KB, { knowledge_base: insert })
  const job = await endOf(body as JobBody, t)
  expect(job).toMatchObject({
    ...{ state: 'done', rows: 253, documents: 1, skipped_rows: 252, error_count: 252 },
  })
  const { errors } = job
  expect(errors).toHaveLength(100)
  const message = 'Skipped: its content is empty'
  expect(errors.slice(0, 3)).toEqual([
    { item: 'b', message },
    { item: 'row 3', message },
    { item: 'empty 0', message },
  ])
  const sql = `SELECT processed_rows, skipped_rows FROM information_schema.queries
    WHERE id = ${job.id}`
  expect(await t.rows(sql)).toEqual([[1, 252]])
})

test('the files of a form say it in the header as well', async () => {
  const form = new FormData()
  form.set('file', new File(['id,content\n1,Oolong\n2,\n'], 'teas.csv'))
  const { status, headers } = await t.send('POST', `${KB}/files`, form)
  expect([status, headers.get(HEADER)]).toEqual([200, '1'])
})

test('INSERT INTO warns of columns that metadata_columns leaves out', async () => {
  const list = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', list, { knowledge_base: { name: 'few', metadata_columns: ['price'] } })
  const inserted = async (query: string) => (await t.send('POST', '/api/sql/query', { query })).body
  const warnings = ['Not stored, because "metadata_columns" of few leaves them out: colour, origin']
  const values = "(id, content, Price, colour, origin) VALUES ('a', 'Green tea', 3, 'green', 'Uji')"
  expect(await inserted(`INSERT INTO few ${values}`)).toMatchObject({ affected_rows: 1, warnings })
  const select =
    "SELECT 'b' AS id, 'tea' AS content, 1 AS colour, 2 AS origin, {'a': 1} AS metadata"
  expect(await inserted(`INSERT INTO few ${select}`)).toMatchObject({ affected_rows: 1, warnings })
  for (const stored of ['k (id, content, colour)', 'few (id, content, price)']) {
    expect(await inserted(`INSERT INTO ${stored} VALUES ('a', 'tea', 1)`)).not.toHaveProperty(
      'warnings',
    )
  }
  const copied = await inserted("INSERT INTO few SELECT * FROM k WHERE id = 'a'")
  expect(copied).not.toHaveProperty('warnings')
})
