/** Rows in a project's tables, written by statements and by several clients at once. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp

beforeEach(async () => {
  app = await createTestApp()
})

afterEach(() => app.close())

interface SqlAnswer {
  readonly type: string
  readonly affected_rows?: number
  readonly data?: unknown[][]
  readonly column_names?: readonly string[]
  readonly error_code?: number
  readonly error_message?: string
}

async function sql(query: string, params = {}, headers: HeadersInit = {}): Promise<SqlAnswer> {
  const { body } = await app.send('POST', '/api/sql/query', { query, params }, headers)
  return body as SqlAnswer
}

/** @throws if a statement fails */
async function run(...statements: readonly string[]): Promise<SqlAnswer> {
  let last: SqlAnswer = { type: 'none' }
  for (const query of statements) {
    last = await sql(query)
    if (last.type === 'error') throw new Error(`${query}: ${last.error_message}`)
  }
  return last
}

async function rows(query: string): Promise<unknown[][] | undefined> {
  return (await run(query)).data
}

const WRITERS = 12

test('concurrent statements on one table lose no changes', async () => {
  await run('CREATE TABLE t AS SELECT 0 AS i')
  await Promise.all(
    Array.from({ length: WRITERS }, (_, at) => {
      const grown = `SELECT * FROM t UNION ALL SELECT ${at + 1}`
      return run(`CREATE OR REPLACE TABLE t AS ${grown}`)
    }),
  )
  const written = Array.from({ length: WRITERS + 1 }, (_, i) => [i])
  expect(await rows('SELECT i FROM t ORDER BY i')).toEqual(written)
})

test('INSERT adds rows, with defaults, conflicts and what it returns', async () => {
  await run("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR NOT NULL DEFAULT 'new', d DOUBLE)")
  expect(await sql("INSERT INTO t VALUES (1, 'a', 0.5), (2, DEFAULT, NULL)")).toMatchObject({
    type: 'ok',
    affected_rows: 2,
  })
  await run('INSERT INTO t (id, d) SELECT range + 3, range / 2 FROM range(2)')
  expect(await rows('SELECT * FROM t ORDER BY id')).toEqual([
    [1, 'a', 0.5],
    [2, 'new', null],
    [3, 'new', 0],
    [4, 'new', 0.5],
  ])
  const upsert = `INSERT INTO t AS old (id, s) VALUES (1, 'b'), (9, 'c')
    ON CONFLICT (id) DO UPDATE SET s = old.s || excluded.s RETURNING id, upper(s) AS loud`
  expect(await sql(upsert)).toMatchObject({
    column_names: ['id', 'loud'],
    data: [
      [1, 'AB'],
      [9, 'C'],
    ],
  })
  expect(await sql("INSERT OR IGNORE INTO t (id, s) VALUES (1, 'z'), (10, 'z')")).toMatchObject({
    affected_rows: 1,
  })
  const commented = await sql('INSERT INTO t (id) VALUES (21) -- a note\n RETURNING id')
  expect(commented.data).toEqual([[21]])
  expect(await sql('INSERT INTO t (id) VALUES (:id) RETURNING *', { id: 20 })).toMatchObject({
    data: [[20, 'new', null]],
  })
  expect(await sql("INSERT INTO t VALUES (1, 'a', 1)")).toMatchObject({
    error_code: 4010,
    error_message: 'Constraint Error: Duplicate key "id: 1" violates primary key constraint.',
  })
  expect(await sql('INSERT INTO t VALUES (50, NULL, 1)')).toMatchObject({
    error_code: 4010,
    error_message: 'Constraint Error: NOT NULL constraint failed: t.s',
  })
  expect(await sql('INSERT INTO t VALUES (50)')).toMatchObject({ error_code: 4007 })
})

test('UPDATE and DELETE change what their SELECT would find', async () => {
  await run(
    'CREATE TABLE t (id INT, n INT DEFAULT 7, s VARCHAR)',
    "INSERT INTO t SELECT range, range * 10, 'x' || range FROM range(6)",
    'CREATE TABLE other AS SELECT 1 AS k, 100 AS v UNION ALL SELECT 2, 200',
  )
  expect(await sql('UPDATE t SET n = n + 1, s = upper(s) WHERE id < 2')).toMatchObject({
    type: 'ok',
    affected_rows: 2,
  })
  const joined = 'UPDATE t AS a SET n = v FROM other AS o WHERE a.id = o.k RETURNING id, a.n'
  expect((await sql(joined)).data).toEqual([
    [1, 100],
    [2, 200],
  ])
  await run('UPDATE t SET n = DEFAULT WHERE id = 5')
  expect(await rows('SELECT * FROM t ORDER BY id')).toEqual([
    [0, 1, 'X0'],
    [1, 100, 'X1'],
    [2, 200, 'x2'],
    [3, 30, 'x3'],
    [4, 40, 'x4'],
    [5, 7, 'x5'],
  ])
  expect(
    (await sql('DELETE FROM t USING other WHERE id = k RETURNING id, n - 1 AS less')).data,
  ).toEqual([
    [1, 99],
    [2, 199],
  ])
  expect(await sql('DELETE FROM t WHERE n > (SELECT avg(n) FROM t)')).toMatchObject({
    affected_rows: 2,
  })
  expect(await sql('TRUNCATE TABLE t')).toMatchObject({ affected_rows: 2 })
  expect(await rows('SELECT count(*) FROM t')).toEqual([[0]])
})

test('ALTER TABLE adds, drops and renames', async () => {
  await run(
    'CREATE TABLE t (id INT, a INT)',
    'INSERT INTO t VALUES (1, 2)',
    "ALTER TABLE t ADD COLUMN note VARCHAR DEFAULT 'none'",
    'ALTER TABLE t DROP COLUMN a',
    'ALTER TABLE t RENAME COLUMN id TO number',
    'ALTER TABLE t RENAME TO u',
    'INSERT INTO u (number) VALUES (2)',
  )
  expect(await rows('SELECT * FROM u ORDER BY number')).toEqual([
    [1, 'none'],
    [2, 'none'],
  ])
  expect(
    await rows(
      "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'u'",
    ),
  ).toEqual([
    ['number', 'INTEGER'],
    ['note', 'VARCHAR'],
  ])
  expect(await sql('SELECT * FROM t')).toMatchObject({ error_code: 4003 })
})

test('information_schema, DESCRIBE and SHOW know columns, defaults and keys', async () => {
  await run(
    `CREATE TABLE t (id BIGINT, part INT, name VARCHAR NOT NULL DEFAULT 'x', mail VARCHAR UNIQUE,
      PRIMARY KEY (id, part), CHECK (part > 0))`,
    'INSERT INTO t VALUES (1, 1, DEFAULT, NULL), (1, 2, DEFAULT, NULL)',
  )
  const columns = `SELECT column_name, column_type, is_nullable, column_key, column_default
    FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position`
  expect(await rows(columns)).toEqual([
    ['id', 'BIGINT', 'NO', 'PRI', null],
    ['part', 'INTEGER', 'NO', 'PRI', null],
    ['name', 'VARCHAR', 'NO', '', "'x'"],
    ['mail', 'VARCHAR', 'YES', 'UNI', null],
  ])
  expect(await rows("SHOW COLUMNS FROM t LIKE 'name'")).toEqual([
    ['name', 'VARCHAR', 'NO', '', "'x'", ''],
  ])
  const constraints = `SELECT constraint_name, constraint_type FROM information_schema.table_constraints
    WHERE table_schema = 'mindsdb' AND table_name = 't' ORDER BY ALL`
  expect(await rows(constraints)).toEqual([
    ['PRIMARY', 'PRIMARY KEY'],
    ['t_mail_key', 'UNIQUE'],
    ['t_part_check', 'CHECK'],
  ])
  const keys = `SELECT constraint_name, column_name, ordinal_position
    FROM information_schema.key_column_usage WHERE table_name = 't' ORDER BY ALL`
  expect(await rows(keys)).toEqual([
    ['PRIMARY', 'id', 1],
    ['PRIMARY', 'part', 2],
    ['t_mail_key', 'mail', 1],
  ])
  const count = "SELECT table_rows FROM information_schema.tables WHERE table_name = 't'"
  expect(await rows(count)).toEqual([[2]])
  await run('DELETE FROM t WHERE part = 1')
  expect(await rows(count)).toEqual([[1]])
})

test('views, searches and parameters are part of what is written', async () => {
  await run(
    "CREATE KNOWLEDGE_BASE kb USING id_column = 'id'",
    "INSERT INTO kb (id, content) VALUES ('a', 'red leaf tea'), ('b', 'green stone')",
    'CREATE TABLE t (id VARCHAR, text VARCHAR, near DOUBLE)',
    'CREATE VIEW v AS SELECT id, text FROM t',
    `INSERT INTO t SELECT id, chunk_content, relevance FROM kb WHERE content = 'leaf tea' LIMIT 1`,
  )
  expect(await rows('SELECT * FROM v')).toEqual([['a', 'red leaf tea']])
  const params = { text: 'it is :text', id: 'a', ids: ['a', 'z'] }
  const update = 'UPDATE t SET text = :text WHERE id IN :ids RETURNING text, :id AS given'
  expect((await sql(update, params)).data).toEqual([['it is :text', 'a']])
  const session = { 'x-session': 'one' }
  await sql("SET @who = 'z'", {}, session)
  const insert = 'INSERT INTO t (id) VALUES (@who) RETURNING id'
  expect((await sql(insert, {}, session)).data).toEqual([['z']])
  await run("UPDATE t SET near = k.relevance FROM kb k WHERE k.content = 'stone' AND k.id = 'b'")
  expect(await rows('SELECT count(*) FROM t WHERE near > 0')).toEqual([[2]])
  await run('ALTER TABLE t DROP COLUMN near', 'CREATE OR REPLACE TABLE t AS SELECT * FROM v')
  expect(await rows('SELECT * FROM v ORDER BY id')).toEqual([
    ['a', 'it is :text'],
    ['z', null],
  ])
})
