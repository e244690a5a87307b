/**
 * The requests about databases, knowledge bases and jobs that the two official clients of the API sent when they were run
 * against a server: mindsdb_sdk 3.5.0 for Python and mindsdb-js-sdk for JavaScript.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { fakeSources, fakeTable } from '../support/fake-sources.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp

beforeEach(async () => {
  const orders = fakeTable('orders', { id: 'BIGINT', city: 'VARCHAR' })
  const things = fakeTable('things', { id: 'BIGINT' }, 'other')
  app = await createTestApp({ sources: fakeSources({ pg: [orders, things], jspg: [orders] }) })
  expect(await sql(CREATE)).toMatchObject({ type: 'ok' })
})

afterEach(() => app.close())

async function sql(query: unknown, db = 'mindsdb') {
  const { body } = await app.send('POST', '/api/sql/query', { query, context: { db } })
  return body as {
    readonly type: string
    readonly column_names?: readonly string[]
    readonly data?: readonly unknown[][]
    readonly error_code?: number
    readonly error_message?: string
  }
}

const CREATE =
  "CREATE DATABASE pg ENGINE = 'postgres' , PARAMETERS = {'host': 'h', 'port': 5432, 'user': 'u', 'password': 's3''x', 'database': 'd'}"
const DATABASES =
  "select NAME, ENGINE, CONNECTION_DATA from information_schema.databases where TYPE='data'"

test('databases', async () => {
  expect(await sql(CREATE)).toMatchObject({ error_message: 'Database with name pg already exists' })
  const listed = await sql(DATABASES)
  expect(listed.column_names).toEqual(['NAME', 'ENGINE', 'CONNECTION_DATA'])
  expect(listed.data?.map(([name]) => name)).toEqual(['files', 'pg'])
  expect(await sql(`ALTER DATABASE pg parameters={'password': "s3'y"}`)).toMatchObject({
    type: 'ok',
  })
  const params = '{"host":"h","port":5432,"user":"u","password":"s3\'x","database":"d"}'
  const other = `CREATE DATABASE jspg\nWITH ENGINE = 'postgres',\nPARAMETERS = ${params}`
  expect(await sql(other)).toMatchObject({ type: 'ok' })
  const full = await sql('SHOW FULL DATABASES')
  expect(full.column_names?.map((name) => name.toLowerCase())).toEqual([
    'database',
    'type',
    'engine',
  ])
  expect(full.data).toContainEqual(['jspg', 'data', 'postgres'])
  expect(await sql('DROP DATABASE `jspg`')).toMatchObject({ type: 'ok' })
  expect(await sql('DROP DATABASE jspg')).toMatchObject({
    error_message: 'Database with name jspg does not exist',
  })
})

test('tables and trees of a database', async () => {
  const tables = await sql('show tables', 'pg')
  expect(tables.data?.map(([name]) => name)).toEqual(['orders', 'other.things'])
  // The name as it was listed, in quotes.
  expect((await sql('DESCRIBE pg.`other.things`')).error_code).not.toBe(4003)
  const { body } = await app.send('GET', '/api/tree/pg?all_schemas=true')
  const nodes = body as readonly { readonly name: string; readonly children: unknown[] }[]
  // The client iterates over the children of every node as soon as one node has children.
  expect(nodes.map(({ name, children }) => [name, children.length])).toEqual([
    ['orders', 0],
    ['other', 1],
  ])
})

test('everything that would write says that the database is read only', async () => {
  for (const statement of [
    "INSERT INTO pg.orders(id, city) VALUES (1000, 'X')",
    'INSERT INTO pg.orders SELECT * FROM pg (select 1)',
    'DELETE FROM pg.orders WHERE id = 1',
    "update pg.orders set city='Z' where id = 1",
    'CREATE TABLE pg.t2  SELECT * FROM pg (select 1 a)',
    'create or replace table pg.t2 (SELECT * FROM pg.orders)',
    'CREATE TABLE `pg`.`t9`\n(SELECT * FROM pg.orders)',
    'DROP  TABLE  pg.orders',
    'DROP TABLE IF EXISTS pg.orders',
  ]) {
    const { error_code, error_message } = await sql(statement)
    expect([error_code, error_message]).toEqual([4002, expect.stringContaining('is read-only')])
  }
  expect((await sql('DELETE FROM orders', 'pg')).error_message).toContain('is read-only')
  const joined = await sql('UPDATE pg.orders ON id FROM (SELECT * FROM pg.orders)')
  expect(joined.error_message).toContain('UPDATE … ON … FROM is not supported')
  const native = await sql('SELECT * FROM pg (commit)')
  expect([native.error_code, native.error_message]).toEqual([
    4002,
    'FROM pg (SELECT …) takes one SELECT in the SQL of that database, and nothing else: it is read only here',
  ])
  const view = await sql('CREATE VIEW pg.v AS (SELECT 1)')
  expect(view.error_message).toContain('pg is a connected database')
})

test.each([
  'SELECT * FROM mindsdb.orders WHERE id > last',
  'CREATE JOB j (SELECT * FROM orders WHERE id > LAST AND id < LAST)',
])('rows since the last time are for jobs, and read once: %s', async (statement) => {
  await sql('CREATE TABLE IF NOT EXISTS orders AS SELECT 1 AS id')
  expect((await sql(statement)).error_message).toContain(
    'each statement of CREATE JOB can compare it once, as column > LAST',
  )
})

const KB = '/api/projects/mindsdb/knowledge_bases'

test('knowledge bases take how to insert in their params', async () => {
  const knowledge_base = {
    name: 'kb',
    content_columns: ['city'],
    metadata_columns: ['total'],
    id_column: 'id',
  }
  expect((await app.send('POST', KB, { knowledge_base })).status).toBe(201)
  const insert = async (params: Record<string, unknown>) => {
    const rows = [{ id: 'x9', city: 'Lima' }]
    return app.send('PUT', `${KB}/kb`, { knowledge_base: { rows, params } })
  }
  expect((await insert({ error: 'skip' })).status).toBe(200)
  expect((await insert({ background: true })).status).toBe(202)
  expect(await insert({ error: 'often' })).toMatchObject({ status: 400 })
  expect(await insert({ zzz: 1 })).toMatchObject({
    status: 400,
    body: { detail: "Problem with knowledge base parameters: Parameter 'zzz' is not allowed" },
  })
  const misspelled = await app.send('PUT', `${KB}/kb`, { knowledge_base: { row: [] } })
  expect(misspelled).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('Did you mean "rows"?') },
  })
})

test('a database that is only read stores no vectors', async () => {
  const storage = { database: 'pg', table: 'vecs' }
  const { status, text } = await app.send('POST', KB, { knowledge_base: { name: 'k', storage } })
  expect(status).toBe(400)
  expect(text).toContain('a connected database, which stores no vectors')
})

test('jobs', async () => {
  await sql('CREATE KNOWLEDGE_BASE kb USING id_column = "id"')
  const statements =
    'INSERT INTO mindsdb.kb (SELECT * FROM pg.orders WHERE id > last); INSERT INTO mindsdb.kb SELECT * FROM pg (select * from orders); show models'
  const times = "START '2099-01-01 00:00:00' END '2099-02-01 00:00:00'"
  for (const statement of [
    `CREATE JOB  j1 (${statements}) ${times} EVERY '5 minutes'`,
    `CREATE JOB  j2 (select 'it''s; x') ${times} EVERY '1 hour'`,
  ]) {
    expect(await sql(statement)).toMatchObject({ type: 'ok' })
  }
  const found = await sql("SELECT * FROM jobs WHERE name = 'j1'")
  const columns = found.column_names?.map((name) => name.toLowerCase()) ?? []
  for (const needed of ['name', 'query', 'start_at', 'end_at', 'next_run_at', 'schedule_str']) {
    expect(columns).toContain(needed)
  }
  expect(found.data?.[0]?.[columns.indexOf('query')]).toBe(statements)
  expect((await sql("SELECT * FROM jobs_history WHERE name = 'j1'")).data).toEqual([])
  for (const name of ['j1', 'j2']) expect((await sql(`DROP JOB ${name}`)).type).toBe('ok')
  expect((await sql('SELECT * FROM jobs')).data).toEqual([])
})
