/**
 * A statement that fails after its first rows. DuckDB's library ends the stream as if all rows had
 * come.
 */
import { expect, test } from 'bun:test'
import { createTestApp } from '../support/test-app.ts'

const LATE = `SELECT range AS id, CASE WHEN range > 90000 THEN CAST('late' || range AS INTEGER) ELSE 5 END AS x
  FROM range(1000000)`

test('a failure after the first rows is reported in every format', async () => {
  const { app, send, close } = await createTestApp()
  const { body } = await send('POST', '/api/sql/query', { query: LATE })
  expect(body).toMatchObject({
    type: 'error',
    error_message: expect.stringContaining("Could not convert string 'late90001'"),
  })
  for (const format of ['csv', 'ndjson', 'arrow']) {
    const query = new URLSearchParams({ query: LATE, format })
    const response = await app.handle(new Request(`http://localhost/api/sql/query?${query}`))
    // If rows have already been sent, the body breaks off.
    const end = await response.bytes().then(
      () => response.status,
      () => 'cut off',
    )
    expect([400, 'cut off']).toContain(end)
  }
  const after = await send('POST', '/api/sql/query', { query: 'SELECT count(*) FROM range(5000)' })
  expect(after.body).toMatchObject({ data: [[5000]] })
  await close()
})

test('a table or knowledge base is never created from only some of such rows', async () => {
  const { send, rows, close } = await createTestApp()
  const made = await send('POST', '/api/sql/query', { query: `CREATE TABLE mindsdb.t AS ${LATE}` })
  expect(made.body).toMatchObject({ type: 'error' })
  await send('POST', '/api/projects/mindsdb/knowledge_bases', {
    knowledge_base: { name: 'kb', content_columns: ['content'] },
  })
  const insert = `INSERT INTO kb SELECT id, 'text ' || x AS content FROM (${LATE.replace('90000', '5000').replace('1000000', '20000')})`
  const inserted = await send('POST', '/api/sql/query', { query: insert })
  expect(inserted.body).toMatchObject({ type: 'error' })
  expect(await rows('SELECT count(*) FROM kb')).toEqual([[0]])
  await close()
})
