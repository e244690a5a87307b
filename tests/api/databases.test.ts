import { afterEach, beforeEach, expect, test } from 'bun:test'
import { findDataSource } from '../../src/core/domain/access/catalog-snapshot.ts'
import { AppError } from '../../src/core/errors.ts'
import { type FakeSources, fakeSources, fakeTable } from '../support/fake-sources.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp
let sources: FakeSources

beforeEach(async () => {
  sources = fakeSources({
    shop: [
      fakeTable('orders', { id: 'BIGINT', total: 'DECIMAL(10,2)' }),
      fakeTable('old orders', { day: 'DATE' }, 'archive'),
    ],
    down: new AppError('source_failed', 'connect ECONNREFUSED 10.0.0.1:5432'),
    status: [],
  })
  app = await createTestApp({ sources })
})

afterEach(() => app.close())

const SHOP = { name: 'shop', engine: 'postgres', parameters: { host: 'h', password: 'geheim' } }

function stored(name = 'shop') {
  return findDataSource(app.store.catalog.snapshot(), name)
}

interface SqlAnswer {
  readonly type: string
  readonly data?: unknown[][]
  readonly error_code?: number
  readonly error_message?: string
  readonly warnings?: readonly string[]
  readonly context: { readonly db: string }
}

async function sql(query: string, db?: string): Promise<SqlAnswer> {
  const body = { query, ...(db === undefined ? {} : { context: { db } }) }
  return (await app.send('POST', '/api/sql/query', body)).body as SqlAnswer
}

test('clients write CREATE DATABASE in several ways', async () => {
  const json = `{"host": "h", "password": "a\\"b\\\\c\\u00e9"}`
  const statements = [
    [`CREATE DATABASE d0 ENGINE = 'postgres' , PARAMETERS = ${json}`, 'a"b\\cé'],
    [`CREATE DATABASE d1\nWITH ENGINE = 'postgresql',\nPARAMETERS = ${json};`, 'a"b\\cé'],
    [`create database if not exists d2 with engine 'mariadb' parameters ${json}`, 'a"b\\cé'],
    [
      `CREATE OR REPLACE DATABASE d3 ENGINE "mysql" PARAMETERS {host: 'h', password: 'it''s'}`,
      "it's",
    ],
    [
      "CREATE DATABASE `d4` ENGINE = mysql, PARAMETERS = {'host': 'h', 'password': None}",
      undefined,
    ],
  ] as const
  for (const [index, [statement, password]] of statements.entries()) {
    expect(await sql(statement)).toMatchObject({ type: 'ok' })
    expect(stored(`d${index}`)?.parameters.password).toBe(password as string)
  }
  expect(stored('d1')?.engine).toBe('postgres')
  expect(stored('d2')?.engine).toBe('mysql')
})

test('CREATE DATABASE stores a database that does not answer, and says so', async () => {
  const create = (name: string) =>
    `CREATE DATABASE ${name} ENGINE = 'postgres' PARAMETERS {"host": "h"}`
  const down = await sql(create('down'))
  const reason = 'connect ECONNREFUSED 10.0.0.1:5432'
  expect(down).toMatchObject({
    type: 'ok',
    warnings: [`down was created, but cannot connect: ${reason}`],
  })
  expect(stored('down')?.engine).toBe('postgres')
  expect((await sql(create('shop'))).warnings).toBeUndefined()
  expect(sources.asked).toEqual(['check down', 'check shop'])
})

test('an unknown engine or parameter is refused with a list of the known ones', async () => {
  const { error_code, error_message } = await sql("CREATE DATABASE x ENGINE = 'oracle'")
  expect([error_code, error_message]).toEqual([
    2606,
    'Unknown engine "oracle". Available engines: postgres, mysql, sqlite, duckdb, mindsdb',
  ])
  const parameters = `PARAMETERS = {"hots": "geheim"}`
  const unknown = await sql(`CREATE DATABASE x ENGINE = 'postgres', ${parameters}`)
  expect(unknown.error_message).toStartWith('Engine postgres has no parameter "hots"; it has: url')
  expect(unknown.error_message).not.toContain('geheim')
})

test('a statement that does not parse shows nothing of its parameters', async () => {
  const broken = `CREATE DATABASE x ENGINE = 'postgres', PARAMETERS = {"password": "geheim" "host"}`
  const answer = await app.send('POST', '/api/sql/query', { query: broken })
  expect(answer.body).toMatchObject({ type: 'error', error_code: 4001 })
  expect(answer.text).not.toContain('geheim')
  const strayed = `CREATE DATABASE x ENGINE = 'postgres', PARAMETERS = {"password": 1} "geheim"`
  expect((await app.send('POST', '/api/sql/query', { query: strayed })).text).not.toContain(
    'geheim',
  )
})

test('databases, projects and files share their names', async () => {
  await sql(`CREATE DATABASE shop ENGINE = 'postgres', PARAMETERS = {"host": "h"}`)
  expect((await sql('CREATE PROJECT SHOP')).error_code).toBe(2602)
  expect(
    (await sql(`CREATE DATABASE Shop ENGINE = 'mysql' PARAMETERS {"host": "h"}`)).error_code,
  ).toBe(2602)
  expect(
    (await sql(`CREATE DATABASE mindsdb ENGINE = 'mysql' PARAMETERS {"host": "h"}`)).error_code,
  ).toBe(2002)
  for (const name of ['files', 'information_schema', 'LOG']) {
    const statement = `CREATE DATABASE ${name} ENGINE = 'mysql' PARAMETERS {"host": "h"}`
    expect((await sql(statement)).error_message).toContain('is reserved')
  }
  expect(await sql("CREATE DATABASE p ENGINE = 'mindsdb'")).toMatchObject({ type: 'ok' })
  expect(await sql('DROP PROJECT shop')).toMatchObject({ error_code: 2001 })
  expect(await sql('DROP DATABASE p')).toMatchObject({ type: 'ok' })
  expect(await sql('DROP DATABASE shop')).toMatchObject({ type: 'ok' })
  expect(await sql('DROP DATABASE shop')).toMatchObject({ error_code: 2601 })
  expect(await sql('DROP DATABASE IF EXISTS shop')).toMatchObject({ type: 'ok' })
})

test('ALTER merges parameters, null removes one, and old connections are closed', async () => {
  await app.send('POST', '/api/databases', { database: SHOP })
  const id = stored()?.id
  await sql("ALTER DATABASE shop parameters={'user': 'u', 'port': 5433, 'password': 'new'}")
  expect(stored()?.parameters).toEqual({ host: 'h', user: 'u', port: 5433, password: 'new' })
  await sql('ALTER DATABASE shop PARAMETERS = {"user": null, "password": "******"}')
  expect(stored()?.parameters).toEqual({ host: 'h', port: 5433, password: 'new' })
  expect(sources.asked).toEqual([`forget ${id}`, `forget ${id}`])
})

test('a stored password is not sent to another server than the one it was given for', async () => {
  await app.send('POST', '/api/databases', { database: SHOP })
  for (const parameters of [{ host: 'evil' }, { host: 'evil', password: '******' }, { port: 1 }]) {
    const answer = await app.send('PUT', '/api/databases/shop', { database: { parameters } })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_database' } })
  }
  const parameters = { host: 'other', password: 'known' }
  const answer = await app.send('PUT', '/api/databases/shop', { database: { parameters } })
  expect(answer.status).toBe(200)
  expect(stored()?.parameters).toEqual(parameters)
})

test('no secret is shown anywhere', async () => {
  await app.send('POST', '/api/databases', { database: SHOP })
  const answers = [
    await app.send('GET', '/api/databases'),
    await app.send('GET', '/api/databases/shop?check_connection=1'),
    await app.send('PUT', '/api/databases/shop', { database: { parameters: { user: 'u' } } }),
    await app.send('POST', '/api/databases', { database: SHOP }),
    await app.send('GET', '/api/tree'),
    await app.send('POST', '/api/sql/query', { query: 'DESCRIBE DATABASE shop' }),
    await app.send('POST', '/api/sql/query', { query: 'SHOW FULL DATABASES' }),
    await app.send('POST', '/api/sql/query', {
      query: 'SELECT * FROM information_schema.databases',
    }),
    await app.send('POST', '/api/sql/query', {
      query: 'EXPLAIN SELECT * FROM information_schema.databases',
    }),
  ]
  for (const { text } of answers) expect(text).not.toContain('geheim')
  expect(answers[5]?.text).toContain('******')
})

test('the result of a check is one sentence', async () => {
  const down = { ...SHOP, name: 'down' }
  const failed = await app.send('POST', '/api/databases', {
    database: down,
    check_connection: true,
  })
  expect(failed).toMatchObject({
    status: 200,
    body: { status: 'connection_error', detail: 'connect ECONNREFUSED 10.0.0.1:5432' },
  })
  expect(stored('down')).toBeUndefined()
  expect((await app.send('POST', '/api/databases', { database: down })).status).toBe(201)
  expect((await app.send('POST', '/api/databases/down/check', {})).body).toEqual({
    success: false,
    error_message: 'connect ECONNREFUSED 10.0.0.1:5432',
  })
  const created = await app.send('POST', '/api/databases', {
    database: SHOP,
    check_connection: true,
  })
  expect(created).toMatchObject({
    status: 201,
    body: {
      name: 'shop',
      type: 'data',
      engine: 'postgres',
      connection_data: { password: '******' },
    },
  })
  expect((await app.send('GET', '/api/databases/shop?check_connection=1')).body).toMatchObject({
    connection_status: { success: true, error_message: null },
  })
  const status = { engine: 'mysql', host: 'h' }
  expect((await app.send('POST', '/api/databases/status', status)).body).toEqual({
    status: 'success',
  })
  const change = { database: { parameters: { user: 'x' } }, check_connection: true }
  expect(await app.send('PUT', '/api/databases/down', change)).toMatchObject({
    status: 400,
    body: { title: 'Connection error' },
  })
  expect(stored('down')?.parameters.user).toBeUndefined()
})

test('tables and columns of a data source by REST and in SQL', async () => {
  await app.send('POST', '/api/databases', { database: SHOP })
  expect((await app.send('GET', '/api/databases/shop/tables')).body).toEqual([
    { name: 'orders', type: 'data' },
    { name: 'archive.old orders', type: 'data' },
  ])
  expect(
    (await app.send('GET', '/api/databases/shop/tables/archive.old%20orders')).body,
  ).toMatchObject({
    columns: [{ name: 'day', type: 'DATE', nullable: true }],
  })
  expect((await app.send('GET', '/api/databases/shop/tables/nope')).status).toBe(404)
  expect((await app.send('GET', '/api/tree/shop')).body).toMatchObject([
    { name: 'orders', class: 'table' },
  ])
  expect((await app.send('GET', '/api/tree/shop?all_schemas=true')).body).toMatchObject([
    { name: 'orders' },
    { name: 'archive', class: 'schema', children: [{ name: 'old orders', schema: 'archive' }] },
  ])
  expect((await sql('show tables', 'shop')).data).toEqual([['orders'], ['archive.old orders']])
  expect((await sql("SHOW FULL TABLES FROM shop LIKE 'ord%'")).data).toEqual([
    ['orders', 'BASE TABLE'],
  ])
  const columns = [
    ['id', 'BIGINT', 'NO'],
    ['total', 'DECIMAL(10,2)', 'YES'],
  ]
  for (const statement of ['DESCRIBE shop.orders', 'SHOW COLUMNS FROM orders FROM shop']) {
    expect((await sql(statement)).data?.map((row) => row.slice(0, 3))).toEqual(columns)
  }
  expect((await sql('DESCRIBE shop.archive."old orders"')).data?.[0]?.[0]).toBe('day')
  expect((await sql('DESCRIBE archive."old orders"', 'shop')).data?.[0]?.[0]).toBe('day')
  expect((await sql('USE SHOP')).context.db).toBe('shop')
})

test('information_schema leaves out what does not answer, and says so', async () => {
  await app.send('POST', '/api/databases', { database: SHOP })
  await app.send('POST', '/api/databases', { database: { ...SHOP, name: 'down' } })
  const of = "WHERE table_schema NOT IN ('information_schema') ORDER BY ALL"
  const tables = await sql(`SELECT table_schema, table_name FROM information_schema.tables ${of}`)
  expect(tables.data).toEqual([
    ['shop', 'archive.old orders'],
    ['shop', 'orders'],
  ])
  const why = 'Database down is left out: connect ECONNREFUSED 10.0.0.1:5432'
  expect(tables.warnings).toEqual([why])
  const columns = await sql(`SELECT column_name, data_type FROM information_schema.columns ${of}`)
  expect(columns.data).toEqual([
    ['day', 'DATE'],
    ['id', 'BIGINT'],
    ['total', 'DECIMAL(10,2)'],
  ])
  const schemata = await sql('SELECT schema_name FROM information_schema.schemata')
  expect(schemata.data).toContainEqual(['down'])
  sources.asked.length = 0
  // Listing the catalog waits for no database.
  expect((await sql('SHOW TABLES')).type).toBe('table')
  expect(sources.asked).toEqual([])
  expect((await sql('SHOW TABLES FROM down')).error_code).toBe(2610)
  const lists = (await app.send('GET', '/api/sql/list_databases')).body as { data: unknown[] }
  expect(lists.data).toContainEqual({ name: 'shop', tables: ['orders', 'archive.old orders'] })
  expect(lists.data).toContainEqual({ name: 'down', tables: [] })
})

test('a view on information_schema sees the tables that exist when it is read', async () => {
  await app.send('POST', '/api/databases', { database: SHOP })
  await sql(
    "CREATE VIEW v AS (SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop')",
  )
  expect((await sql('SELECT count(*) FROM v')).data).toEqual([[2]])
})

test('SQL keywords are not accepted as engines', async () => {
  for (const engine of ['constructor', '__proto__', 'toString']) {
    const database = { name: 'x', engine, parameters: {} }
    const { body } = await app.send('POST', '/api/databases', { database })
    expect(body).toMatchObject({ status: 400, code: 'unknown_engine' })
  }
})

test('of many databases that do not answer the first are named', async () => {
  for (let index = 0; index < 100; index += 1) {
    await sql(`CREATE DATABASE d${index} ENGINE 'postgres' PARAMETERS {"host": "h"}`)
  }
  const { warnings = [] } = await sql('SELECT count(*) FROM information_schema.tables')
  expect(warnings.length).toBe(21)
  expect(warnings.at(-1)).toBe('80 more databases are left out')
})
