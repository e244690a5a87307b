/** SQLite and DuckDB files as data sources, through SQL. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const folder = mkdtempSync(join(tmpdir(), 'eider-files-'))
let app: TestApp

beforeAll(async () => {
  const sqlite = new Database(join(folder, 'shop.db'))
  sqlite.run('CREATE TABLE teas (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL)')
  sqlite.run(`INSERT INTO teas VALUES (1, 'green', 3.5), (2, 'black', 2), (3, 'Green', NULL)`)
  sqlite.run('CREATE VIEW cheap AS SELECT name FROM teas WHERE price < 3')
  sqlite.close()
  const instance = await DuckDBInstance.create(join(folder, 'orders.duckdb'))
  const connection = await instance.connect()
  await connection.run(`CREATE TABLE orders AS
    SELECT range AS id, 1 + range % 3 AS tea, 'note ' || range AS note FROM range(3000);
    CREATE TABLE folded (t VARCHAR COLLATE nocase); INSERT INTO folded VALUES ('a'), ('A');
    CREATE VIEW late AS SELECT range AS id, CASE WHEN range > 500000
      THEN CAST('late' || range AS INTEGER) ELSE 5 END AS x FROM range(1000000)`)
  connection.closeSync()
  instance.closeSync()
  app = await createTestApp({ environment: { EIDER_SOURCES_DIR: folder } })
  await done(`CREATE DATABASE shop ENGINE = 'sqlite', PARAMETERS = {"path": "shop.db"}`)
  await done(
    `CREATE DATABASE crm WITH ENGINE = 'duckdb', PARAMETERS = {"db_file": "orders.duckdb"}`,
  )
}, 180_000)

afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

async function refusal(sql: string): Promise<string | undefined> {
  const { body } = await app.send('POST', '/api/sql/query', { query: sql })
  return (body as { readonly error_message?: string }).error_message
}

async function done(sql: string): Promise<void> {
  expect(await refusal(sql)).toBeUndefined()
}

describe('SELECT', () => {
  test('of either, in joins with each other and with tables of a project', async () => {
    expect(await app.rows('SELECT name, price FROM shop.teas WHERE id < 3 ORDER BY id')).toEqual([
      ['green', 3.5],
      ['black', 2],
    ])
    expect(await app.rows("SELECT id FROM crm.orders WHERE note = 'note 42'")).toEqual([[42]])
    expect(await app.rows("SELECT id FROM shop.teas WHERE name = 'green'")).toEqual([[1]])
    expect(await app.rows('SELECT * FROM shop.cheap')).toEqual([['black']])
    await done(`CREATE TABLE kinds AS SELECT 1 AS tea, 'leaf' AS kind`)
    expect(
      await app.rows(`SELECT t.name, k.kind, count(*) FROM crm.orders o JOIN shop.teas t ON t.id = o.tea
        LEFT JOIN kinds k ON k.tea = t.id GROUP BY ALL ORDER BY 1`),
    ).toEqual([
      ['Green', null, 1000],
      ['black', null, 1000],
      ['green', 'leaf', 1000],
    ])
    expect(readdirSync(folder).sort()).toEqual(['orders.duckdb', 'shop.db'])
  })

  test('streams thousands of rows', async () => {
    const rows = await app.rows('SELECT id FROM crm.orders')
    expect([rows.length, rows.at(-1)]).toEqual([3000, [2999]])
  })

  test('that fails after its first rows is reported as failed', async () => {
    expect(await refusal('SELECT * FROM crm.late')).toMatch(/failed|late/i)
  })

  test('conditions of DuckDB files are sent, not those on a column with a collation', async () => {
    const sent = async (sql: string) => JSON.stringify(await app.rows(`EXPLAIN ${sql}`))
    expect(await sent("SELECT id FROM crm.orders WHERE note = 'a' AND id > 5")).toMatch(
      /WHERE .*note.*\$1.* AND .*id.* > 5/,
    )
    expect(await sent("SELECT t FROM crm.folded WHERE t = 'a'")).not.toContain('WHERE')
    expect(await app.rows("SELECT t FROM crm.folded WHERE t = 'a'")).toEqual([['a']])
    expect(await sent("SELECT id FROM shop.teas WHERE name = 'green'")).not.toMatch(/source.*WHERE/)
  })

  test('native SQL', async () => {
    expect(
      await app.rows(
        'SELECT n + 1, least FROM shop (SELECT count(*) AS n, min([name]) AS least FROM teas)',
      ),
    ).toEqual([[4, 'Green']])
    expect(await app.rows('SELECT sum(i) FROM crm (SELECT range AS i FROM range(5))')).toEqual([
      [10],
    ])
  })

  test('SHOW and information_schema', async () => {
    expect(
      await app.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY 1",
      ),
    ).toEqual([['cheap'], ['teas']])
    expect(JSON.stringify(await app.rows('SHOW TABLES FROM crm'))).toContain('orders')
    expect(
      await app.rows(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'shop' AND table_name = 'teas' ORDER BY ordinal_position",
      ),
    ).toEqual([
      ['id', 'BIGINT'],
      ['name', 'VARCHAR'],
      ['price', 'DOUBLE'],
    ])
  })
})

describe('beside SELECT', () => {
  test('a check says in a sentence what is wrong', async () => {
    await done(`CREATE DATABASE gone ENGINE = 'sqlite', PARAMETERS = {"path": "gone.db"}`)
    const check = async (name: string) =>
      (await app.send('POST', `/api/databases/${name}/check`, {})).body
    expect(await check('shop')).toEqual({ success: true, error_message: null })
    expect(await check('gone')).toEqual({
      success: false,
      error_message:
        'Data source gone (sqlite file gone.db): there is no such file in the folder of EIDER_SOURCES_DIR',
    })
  })

  test('rows go into a knowledge base', async () => {
    await done("CREATE KNOWLEDGE_BASE kb USING content_columns = ['name'], id_column = 'id'")
    await done('INSERT INTO kb SELECT id, name FROM shop.teas')
    const sql = `SELECT k.id, t.price FROM kb k JOIN shop.teas t ON t.id = k.id::BIGINT WHERE k.content = 'black' LIMIT 1`
    expect(await app.rows(sql)).toEqual([['2', 2]])
  })
})

describe('what is refused', () => {
  test.each([
    ["ATTACH 'shop.db' AS other"],
    ['PRAGMA query_only = OFF'],
    ['DELETE FROM teas'],
    ['WITH a AS (SELECT 1) DELETE FROM teas'],
    ["SELECT load_extension('x')"],
    ["SELECT 1; ATTACH 'shop.db' AS other"],
    ["SELECT 1 AS [(], 2); ATTACH 'shop.db' AS other"],
  ])('by SQLite: %s', async (sql) => {
    expect(await refusal(`SELECT * FROM shop (${sql})`)).toBeDefined()
    expect(await app.rows('SELECT count(*) FROM shop.teas')).toEqual([[3]])
  })

  test.each([
    ['SET threads = 4'],
    ["COPY orders TO 'x.csv'"],
    ['CREATE TEMP TABLE t AS SELECT 1'],
    ['LOAD json'],
    ["ATTACH 'orders.duckdb' AS other"],
    ["SELECT * FROM read_text('/etc/hostname')"],
    ["SELECT * FROM glob('/etc/*')"],
  ])('by DuckDB: %s', async (sql) => {
    expect(await refusal(`SELECT * FROM crm (${sql})`)).toBeDefined()
  })
})
