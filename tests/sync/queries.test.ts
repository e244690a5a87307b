import { afterEach, expect, test } from 'bun:test'
import { type SyncFixture, syncFixture } from './sync-fixture.ts'

let fixture: SyncFixture

afterEach(() => fixture.close())

test('a table syncs by the ids of its rows', async () => {
  fixture = await syncFixture()
  const { app } = fixture
  await app.send('POST', '/api/sql/query', {
    query:
      "CREATE TABLE teas AS SELECT * FROM (VALUES (1, 'green tea'), (2, 'black tea')) t(id, content)",
  })
  await fixture.addSource({ name: 'teas', kind: 'table', table: 'mindsdb.teas' })
  expect(await fixture.run('teas')).toMatchObject({ state: 'done', added: 2 })
  await app.send('POST', '/api/sql/query', {
    query:
      "CREATE OR REPLACE TABLE teas AS SELECT * FROM (VALUES (1, 'green tea'), (3, 'white tea')) t(id, content)",
  })
  expect(await fixture.run('teas')).toMatchObject({ added: 1, unchanged: 1, removed: 1 })
  expect(await fixture.documents()).toEqual({ '1': 'green tea', '3': 'white tea' })
})

test('a table that is gone is named', async () => {
  fixture = await syncFixture()
  await fixture.app.send('POST', '/api/sql/query', {
    query: "CREATE TABLE gone AS SELECT 1 AS id, 'a' AS content",
  })
  await fixture.addSource({ name: 'gone', kind: 'table', table: 'mindsdb.gone' })
  await fixture.app.send('POST', '/api/sql/query', { query: 'DROP TABLE gone' })
  expect(await fixture.run('gone')).toMatchObject({
    state: 'failed',
    error: "Reading the table mindsdb.gone failed: Table 'gone' not found in database: mindsdb",
  })
})

test('a table without the content column fails once, not for each row', async () => {
  fixture = await syncFixture()
  const query = (sql: string) => fixture.app.send('POST', '/api/sql/query', { query: sql })
  await query("CREATE TABLE teas AS SELECT 1 AS id, 'green tea' AS content")
  await fixture.addSource({ name: 'teas', kind: 'table', table: 'teas' })
  expect(await fixture.run('teas')).toMatchObject({ state: 'done', added: 1 })
  await query("CREATE OR REPLACE TABLE teas AS SELECT 1 AS id, 'green tea' AS text")
  expect(await fixture.run('teas')).toMatchObject({
    state: 'failed',
    failed: 0,
    error: 'Content column "content" not found; columns: id, text',
  })
  expect(await fixture.documents()).toEqual({ '1': 'green tea' })
})

test('rows that have lost their id column replace no documents', async () => {
  fixture = await syncFixture()
  const query = (sql: string) => fixture.app.send('POST', '/api/sql/query', { query: sql })
  await query('DROP KNOWLEDGE_BASE docs')
  await query("CREATE KNOWLEDGE_BASE docs USING id_column = 'id'")
  await query("CREATE TABLE teas AS SELECT 1 AS id, 'green tea' AS content")
  await fixture.addSource({ name: 'teas', kind: 'table', table: 'teas' })
  expect(await fixture.run('teas')).toMatchObject({ state: 'done', added: 1 })
  await query("CREATE OR REPLACE TABLE teas AS SELECT 1 AS nr, 'green tea' AS content")
  expect(await fixture.run('teas')).toMatchObject({
    state: 'failed',
    removed: 0,
    error: 'Id column "id" not found; columns: nr, content',
  })
  expect(await fixture.documents()).toEqual({ '1': 'green tea' })
})

test('a job of a source counts all that it left out, and names the first', async () => {
  fixture = await syncFixture()
  const { app } = fixture
  await app.send('POST', '/api/sql/query', {
    query:
      "CREATE TABLE long AS SELECT i || repeat('x', 5000) AS id, 'a' AS content FROM range(150) t(i)",
  })
  await fixture.addSource({ name: 'long', kind: 'table', table: 'mindsdb.long' })
  const run = await fixture.run('long')
  expect(run).toMatchObject({ state: 'done', failed: 150 })
  const job = (await app.send('GET', `/api/jobs/${run.job_id}`)).body
  expect(job).toMatchObject({ error_count: 150 })
  expect((job as { errors: unknown[] }).errors).toHaveLength(100)
})

test('of a column that only grows, only new rows are read', async () => {
  fixture = await syncFixture()
  const query = (sql: string) => fixture.app.send('POST', '/api/sql/query', { query: sql })
  await query("CREATE TABLE news AS SELECT 1 AS id, 'first' AS content, 10 AS version")
  const source = {
    name: 'news',
    kind: 'query',
    query: 'SELECT * FROM news',
    track_column: 'version',
  }
  await fixture.addSource(source)
  expect(await fixture.run('news')).toMatchObject({ state: 'done', added: 1 })
  await query(
    "CREATE OR REPLACE TABLE news AS SELECT * FROM (VALUES (1, 'changed', 10), (2, 'second', 9), (3, 'third', 11)) t(id, content, version)",
  )
  expect(await fixture.run('news')).toMatchObject({ added: 1, changed: 1, removed: 0 })
  expect(Object.keys(await fixture.documents())).toEqual(['1', '3'])
})

test('a document in two sources stays as long as one of them has it', async () => {
  fixture = await syncFixture()
  const query = (sql: string) => fixture.app.send('POST', '/api/sql/query', { query: sql })
  await query("CREATE TABLE one AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) t(id, content)")
  await query("CREATE TABLE two AS SELECT * FROM (VALUES (2, 'b'), (3, 'c')) t(id, content)")
  await fixture.addSource({ name: 'one', kind: 'table', table: 'one' })
  await fixture.addSource({ name: 'two', kind: 'table', table: 'two' })
  await fixture.run('one')
  await fixture.run('two')
  await query("CREATE OR REPLACE TABLE one AS SELECT 1 AS id, 'a' AS content")
  expect(await fixture.run('one')).toMatchObject({ removed: 1 })
  expect(Object.keys(await fixture.documents())).toEqual(['1', '2', '3'])
})
