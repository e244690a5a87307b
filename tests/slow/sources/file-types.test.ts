/** The types of SQLite and DuckDB files: how answers show their values, and how they are staged. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import {
  dataSource,
  LIMITS,
  readRows,
  stagedTexts,
  type TestSources,
  testSources,
} from '../../support/test-sources.ts'

const folder = mkdtempSync(join(tmpdir(), 'eider-files-'))
let tested: TestSources
const { signal } = new AbortController()

beforeAll(async () => {
  tested = testSources({ folder })
  const sqlite = new Database(join(folder, 'shop.db'))
  sqlite.run(`CREATE TABLE kinds (
    i INTEGER NOT NULL, r REAL, t TEXT, b BLOB, n DECIMAL(10,2), ok BOOLEAN, day DATE, at DATETIME, u UUID, x)`)
  sqlite.run(`INSERT INTO kinds VALUES
    (9007199254740993, 1.5, 'it''s "quoted", ' || char(10) || 'né', x'00ff', 3.5, 1, '2024-02-29', '2024-05-06 07:08:09.5', 'a-b', 1),
    (-1, 9e999, '', x'', 2, 0, '0001-01-01', '2024-05-06T07:08', 12, 2.5),
    (0, 1e300, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
  sqlite.run('CREATE TABLE dirty (i INTEGER, day DATE)')
  sqlite.run(`INSERT INTO dirty VALUES (1, 1700000000), ('n/a', '2024-01-01')`)
  sqlite.run('CREATE TABLE late (i INTEGER)')
  sqlite.run(
    `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 2000) INSERT INTO late SELECT i FROM s`,
  )
  sqlite.run(`INSERT INTO late VALUES ('oops')`)
  sqlite.run('CREATE TABLE odd (t TEXT, "q""x" TEXT, "" TEXT)')
  sqlite.run(
    `INSERT INTO odd VALUES ('a' || char(0) || 'b', 'c' || char(13, 10) || ' , "', 'none')`,
  )
  sqlite.run('CREATE TABLE wide (x BLOB); INSERT INTO wide VALUES (zeroblob(10000000))')
  sqlite.run(`CREATE VIRTUAL TABLE found USING fts5(body); INSERT INTO found VALUES ('green tea')`)
  sqlite.run('CREATE VIEW counted AS SELECT count(*) AS n, min(t) AS least FROM kinds')
  sqlite.close()
  const instance = await DuckDBInstance.create(join(folder, 'shop.duckdb'))
  const connection = await instance.connect()
  await connection.run(DUCKDB_TABLES)
  connection.closeSync()
  instance.closeSync()
})

const DUCKDB_TABLES = `
  CREATE TABLE kinds (i TINYINT NOT NULL, h HUGEINT, u UBIGINT, d DECIMAL(38,10), f FLOAT, t VARCHAR, b BLOB, day DATE,
    moment TIMESTAMP, ns TIMESTAMP_NS, tz TIMESTAMPTZ, tm TIME, iv INTERVAL, id UUID, j JSON, l INTEGER[], s STRUCT(a INTEGER, b VARCHAR),
    m MAP(VARCHAR, INTEGER), e ENUM('x', 'y'), bits BIT, a FLOAT[2]);
  INSERT INTO kinds VALUES (1, 170141183460469231731687303715884105727, 18446744073709551615, 1234567890123456789012345678.0123456789,
    1.5, 'it''s "q", é', '\\x00\\xFF'::BLOB, '2024-02-29', '2024-05-06 07:08:09.5', '2024-05-06 07:08:09.123456789',
    '2024-05-06 07:08:09+02', '01:02:03', INTERVAL '1 year 2 days 3 seconds', '00000000-0000-0000-0000-000000000001', '{"a": 1}',
    [1, NULL], {'a': 1, 'b': 'x'}, MAP {'k': 1}, 'y', '101'::BIT, [1, 2.5]::FLOAT[2]),
   (0, 0, 0, 0, 'nan', '', '', 'infinity', '-infinity', NULL, 'infinity', '00:00:00', INTERVAL '0', NULL, 'null', [], NULL, MAP {}, NULL, NULL, NULL);
  CREATE TABLE folded (t VARCHAR COLLATE nocase);
  CREATE SCHEMA extra; CREATE TABLE extra.notes (note VARCHAR); INSERT INTO extra.notes VALUES ('grassy');
  CREATE VIEW doubled AS SELECT i * 2 AS twice FROM kinds`

afterAll(async () => {
  await tested.close()
  rmSync(folder, { recursive: true, force: true })
})

const sqlite = dataSource('sqlite', { path: 'shop.db' })
const duckdb = dataSource('duckdb', { db_file: 'shop.duckdb' })

async function both(source: typeof sqlite, sql: string) {
  const select = { sql, values: [] }
  const read = await readRows(tested.sources, [source, select], LIMITS, signal)
  const staged = await tested.sources.stage(source, select, LIMITS, signal)
  const texts = await stagedTexts(staged)
  await staged.release()
  return { columns: read.columns, shown: read.rows, staged: staged.columns, texts }
}

describe('SQLite', () => {
  test('columns have the types that they declare', async () => {
    const columns = await tested.sources.columns(sqlite, { schema: null, name: 'kinds' }, signal)
    expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'i BIGINT',
      'r DOUBLE',
      't VARCHAR',
      'b BLOB',
      'n DOUBLE',
      'ok BOOLEAN',
      'day DATE',
      'at TIMESTAMP',
      'u VARCHAR',
      'x DOUBLE',
    ])
    expect(columns.map(({ isNullable }) => isNullable).indexOf(true)).toBe(1)
    const tables = await tested.sources.describeTables(sqlite, signal)
    expect(tables.map(({ name, kind, columns: { length } }) => [name, kind, length])).toEqual([
      ['counted', 'view', 2],
      ['dirty', 'table', 2],
      ['found', 'table', 1],
      ['kinds', 'table', 10],
      ['late', 'table', 1],
      ['odd', 'table', 2],
      ['wide', 'table', 1],
    ])
  })

  test('values', async () => {
    const { shown, texts } = await both(sqlite, 'SELECT * FROM kinds')
    const text = 'it\'s "quoted", \nné'
    const moment = '2024-05-06 07:08:09.500000'
    expect(shown).toEqual([
      ['9007199254740993', 1.5, text, 'AP8=', 3.5, true, '2024-02-29', moment, 'a-b', 1],
      [-1, null, '', '', 2, false, '0001-01-01', '2024-05-06 07:08:00.000000', '12', 2.5],
      [0, 1e300, null, null, null, null, null, null, null, null],
    ])
    const stagedMoment = '2024-05-06 07:08:09.5'
    expect(texts).toEqual([
      // biome-ignore format: a row of a table
      ['9007199254740993', '1.5', text, '\\x00\\xFF', '3.5', 'true', '2024-02-29', stagedMoment, 'a-b', '1.0'],
      ['-1', 'inf', '', '', '2.0', 'false', '0001-01-01', '2024-05-06 07:08:00', '12', '2.5'],
      ['0', '1e+300', null, null, null, null, null, null, null, null],
    ])
  })

  test('first values that do not fit make a column of texts, later ones are reported', async () => {
    const { columns, shown, texts } = await both(sqlite, 'SELECT * FROM dirty')
    expect(columns.map(({ type }) => type)).toEqual(['VARCHAR', 'VARCHAR'])
    const rows = [
      ['1', '1700000000'],
      ['n/a', '2024-01-01'],
    ]
    expect([shown, texts]).toEqual([rows, rows])
    expect(await both(sqlite, 'SELECT * FROM late').catch(String)).toContain(
      'column i is BIGINT by its first rows and then holds a value of type TEXT',
    )
    const all = await both(sqlite, 'SELECT CAST(i AS TEXT) AS i FROM late')
    expect([all.shown.length, all.texts.at(-1)]).toEqual([2001, ['oops']])
  })

  test('odd names, long values, full-text search', async () => {
    const odd = await both(sqlite, 'SELECT * FROM odd')
    const row = ['a\0b', 'c\r\n , "', 'none']
    expect([odd.shown, odd.texts]).toEqual([[row], [row]])
    expect(odd.columns.map(({ name }) => name)).toEqual(['t', 'q"x', 'column_3'])
    const wide = await both(sqlite, 'SELECT x FROM wide')
    expect(String(wide.shown[0]?.[0])).toHaveLength(13_333_336)
    expect(String(wide.texts[0]?.[0])).toHaveLength(40_000_000)
    const found = await both(sqlite, "SELECT body FROM found WHERE found MATCH 'tea'")
    expect([found.shown, found.texts]).toEqual([[['green tea']], [['green tea']]])
  })

  test('computed columns, placeholders, names that are the same', async () => {
    const counted = await both(sqlite, 'SELECT * FROM counted')
    expect([counted.columns.map(({ type }) => type), counted.shown]).toEqual([
      ['BIGINT', 'VARCHAR'],
      [[3, '']],
    ])
    const select = { sql: 'SELECT i, i FROM kinds WHERE i < ? ORDER BY i', values: [0] }
    const read = await readRows(tested.sources, [sqlite, select], LIMITS, signal)
    expect(read.rows).toEqual([[-1, -1]])
    expect(await tested.sources.describe(sqlite, 'SELECT 1 AS a, 2.5 AS b', signal)).toMatchObject([
      { name: 'a', type: 'BIGINT' },
      { name: 'b', type: 'DOUBLE' },
    ])
  })
})

describe('DuckDB', () => {
  test('columns and values', async () => {
    const columns = await tested.sources.columns(duckdb, { schema: null, name: 'kinds' }, signal)
    const { shown, texts } = await both(duckdb, 'SELECT * FROM kinds')
    const cells = columns.map(({ name, type }, index) => [
      name,
      type,
      JSON.stringify(shown[0]?.[index]),
      texts[0]?.[index],
    ])
    expect(cells).toEqual(DUCKDB_CELLS)
    // biome-ignore format: a row of a table
    expect(shown[1]).toEqual([0, 0, 0, 0, null, '', '', 'infinity', '-infinity', null, 'infinity', '00:00:00.000000', '00:00:00',
      null, null, [], null, {}, null, null, null])
    // biome-ignore format: a row of a table
    expect(texts[1]).toEqual(['0', '0', '0', '0.0000000000', 'nan', '', '', 'infinity', '-infinity', null, 'infinity', '00:00:00',
      '00:00:00', null, 'null', '[]', null, '{}', null, null, null])
  })

  test('tables, placeholders', async () => {
    const tables = await tested.sources.describeTables(duckdb, signal)
    expect(tables.map(({ schema, name, kind }) => [schema, name, kind])).toEqual([
      [null, 'doubled', 'view'],
      [null, 'folded', 'table'],
      [null, 'kinds', 'table'],
      ['extra', 'notes', 'table'],
    ])
    const select = { sql: 'SELECT i, i FROM kinds WHERE i > $1', values: [0] }
    const staged = await tested.sources.stage(duckdb, select, LIMITS, signal)
    expect(await stagedTexts(staged)).toEqual([['1', '1']])
    await staged.release()
    const read = await readRows(tested.sources, [duckdb, select], LIMITS, signal)
    expect(read.rows).toEqual([[1, 1]])
  })
})

/** Column, type, as answers show its value, and as DuckDB reads what was staged. */
const DUCKDB_CELLS = [
  ['i', 'TINYINT', '1', '1'],
  [
    'h',
    'HUGEINT',
    '"170141183460469231731687303715884105727"',
    '170141183460469231731687303715884105727',
  ],
  ['u', 'UBIGINT', '"18446744073709551615"', '18446744073709551615'],
  ['d', 'DECIMAL(38,10)', '1.2345678901234569e+27', '1234567890123456789012345678.0123456789'],
  ['f', 'FLOAT', '1.5', '1.5'],
  ['t', 'VARCHAR', '"it\'s \\"q\\", é"', 'it\'s "q", é'],
  ['b', 'BLOB', '"AP8="', '\\x00\\xFF'],
  ['day', 'DATE', '"2024-02-29"', '2024-02-29'],
  ['moment', 'TIMESTAMP', '"2024-05-06 07:08:09.500000"', '2024-05-06 07:08:09.5'],
  ['ns', 'TIMESTAMP_NS', '"2024-05-06 07:08:09.123456"', '2024-05-06 07:08:09.123456789'],
  ['tz', 'TIMESTAMP WITH TIME ZONE', '"2024-05-06 05:08:09.000000"', '2024-05-06 05:08:09+00'],
  ['tm', 'TIME', '"01:02:03.000000"', '01:02:03'],
  ['iv', 'INTERVAL', '"1 year 2 days 00:00:03"', '1 year 2 days 00:00:03'],
  ['id', 'UUID', '"00000000-0000-0000-0000-000000000001"', '00000000-0000-0000-0000-000000000001'],
  ['j', 'JSON', '{"a":1}', '{"a": 1}'],
  ['l', 'INTEGER[]', '[1,null]', '[1, NULL]'],
  ['s', 'STRUCT("a" INTEGER, "b" VARCHAR)', '{"a":1,"b":"x"}', "{'a': 1, 'b': x}"],
  ['m', 'MAP(VARCHAR, INTEGER)', '{"k":1}', '{k=1}'],
  ['e', 'VARCHAR', '"y"', 'y'],
  ['bits', 'VARCHAR', '"101"', '101'],
  ['a', 'FLOAT[2]', '[1,2.5]', '[1.0, 2.5]'],
]
