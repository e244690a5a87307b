import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type DuckDBSources, duckdbSources, knowingSources } from '../support/duckdb-sources.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp
let sources: DuckDBSources

beforeAll(async () => {
  sources = await duckdbSources('shop', 'crm')
  app = await createTestApp({ sources })
  for (const name of ['shop', 'crm']) {
    await app.store.dataSourceCatalog.createDataSource({ name, engine: 'duckdb', parameters: {} })
  }
  await sources.run(
    'shop',
    `CREATE TABLE teas (id BIGINT NOT NULL, name VARCHAR, price DECIMAL(10,2), sold DATE, stock DOUBLE);
     INSERT INTO teas VALUES (1, 'green', 3.50, '2024-01-01', 1.5), (2, 'black', 2.00, '2024-02-01', 'nan'),
       (3, 'Green', 9.99, NULL, 'inf'), (4, NULL, NULL, '2023-12-31', NULL), (5, 'white ', 3.50, '2024-01-01', 0);
     CREATE TABLE "My Table" ("A b" INTEGER, "select" VARCHAR);
     INSERT INTO "My Table" VALUES (7, 'seven');
     CREATE SCHEMA extra; CREATE TABLE extra.notes (tea BIGINT, note VARCHAR);
     INSERT INTO extra.notes VALUES (1, 'grassy'), (1, 'fresh'), (2, 'malty')`,
  )
  await sources.run(
    'crm',
    `CREATE TABLE orders (tea BIGINT, count INTEGER);
     INSERT INTO orders SELECT 1 + range % 5, range FROM range(20)`,
  )
  await app
    .rows("CREATE TABLE kinds AS SELECT * FROM (VALUES (1, 'leaf'), (3, 'bag')) AS v(id, kind)")
    .catch(() => {})
})

afterAll(() => app.close())

beforeEach(() => {
  sources.sent.length = 0
})

async function sentFor(sql: string, params: Readonly<Record<string, unknown>> = {}) {
  sources.sent.length = 0
  const rows = await app.rows(sql, params)
  const sent = sources.sent.map(({ sql: text, rowsMax }) => `${rowsMax ?? 'all'}: ${text}`)
  return { rows, sent }
}

describe('names', () => {
  test('a table of a data source, its schema, and names in quotes', async () => {
    expect(await app.rows('SELECT name FROM shop.teas WHERE id = 1')).toEqual([['green']])
    expect(await app.rows('SELECT NAME FROM SHOP.Teas WHERE Teas.ID = 1')).toEqual([['green']])
    expect(
      await app.rows('SELECT shop.teas.id FROM shop.main.teas ORDER BY 1 LIMIT 1').catch(String),
    ).toContain('shop')
    expect(
      await app.rows('SELECT shop.extra.notes.note FROM shop.extra.notes WHERE tea = 2'),
    ).toEqual([['malty']])
    expect(await app.rows('SELECT "A b", "select" FROM "shop"."My Table"')).toEqual([[7, 'seven']])
    expect(await app.rows('SELECT `A b` FROM shop.`My Table`')).toEqual([[7]])
  })

  test('an unknown table or column names the nearest one', async () => {
    const { body } = await app.send('POST', '/api/sql/query', { query: 'SELECT * FROM shop.tea' })
    expect(body).toMatchObject({
      type: 'error',
      error_message: expect.stringContaining('Did you mean "teas"?'),
    })
    expect(app.rows('SELECT * FROM shopp.teas')).rejects.toThrow('Did you mean "shop"?')
    expect(app.rows('SELECT nmae FROM shop.teas')).rejects.toThrow('nmae')
  })
})

describe('what is sent', () => {
  test('a statement that is one read', async () => {
    const { rows, sent } = await sentFor(
      'SELECT id, name AS n FROM shop.teas WHERE price < 3 LIMIT 5',
    )
    expect(rows).toEqual([[2, 'black']])
    expect(sent).toEqual([
      'all: SELECT "id", "name", "price" FROM "teas" WHERE ("price" < 3) LIMIT 5',
    ])
  })

  test('only useful columns, conditions and rows', async () => {
    const { rows, sent } = await sentFor(
      "SELECT upper(name) FROM shop.teas WHERE id > :least AND name LIKE 'b%' AND length(name) > 2 ORDER BY id",
      { least: 1 },
    )
    expect(rows).toEqual([['BLACK']])
    expect(sent).toEqual([
      'all: SELECT "id", "name" FROM "teas" WHERE ("id" > 1) AND ("name" LIKE $1)',
    ])
  })

  test('the first rows of an order, where all conditions are sent', async () => {
    const { rows, sent } = await sentFor(
      'SELECT id + 1 FROM shop.teas ORDER BY name DESC, id LIMIT 2 OFFSET 1',
    )
    expect(rows).toEqual([[2], [3]])
    expect(sent).toEqual([
      'all: SELECT "id", "name" FROM "teas" ORDER BY "name" DESC NULLS LAST, "id" LIMIT 3',
    ])
  })

  test('no LIMIT where a condition stays here', async () => {
    const { sent } = await sentFor('SELECT id FROM shop.teas WHERE length(name) = 5 LIMIT 1')
    expect(sent).toEqual(['all: SELECT "id", "name" FROM "teas"'])
  })

  test('how old rows may be at most, by the clock', async () => {
    await sources.run(
      'shop',
      `CREATE OR REPLACE TABLE seen (id INTEGER, moment TIMESTAMP, day DATE, zone TIMESTAMPTZ);
       INSERT INTO seen SELECT range, now()::TIMESTAMP - to_days(range::INTEGER), current_date - range::INTEGER, now() - to_days(range::INTEGER) FROM range(100)`,
    )
    const conditions = [
      "moment > now() - INTERVAL '7 days'",
      'day >= current_date - 7',
      'zone > current_timestamp - INTERVAL 7 DAY',
      'today() - 7 < day',
      "moment >= date_trunc('day', now()) - INTERVAL 1 WEEK",
      "moment BETWEEN now() - INTERVAL '7 days' AND now()",
    ]
    for (const condition of conditions) {
      const { rows, sent } = await sentFor(`SELECT max(id) FROM shop.seen WHERE ${condition}`)
      expect(rows[0]?.[0]).toBeOneOf([6, 7])
      expect(sent[0]).toMatch(/ >= (DATE|TIMESTAMP|TIMESTAMPTZ) '/)
    }
    const others = [
      'moment < now()',
      'NOT moment > now()',
      'moment = now()',
      "moment > now() + INTERVAL '1 day'",
    ]
    for (const condition of others) {
      const { sent } = await sentFor(`SELECT max(id) FROM shop.seen WHERE ${condition}`)
      expect(sent).toEqual(['all: SELECT "id", "moment" FROM "seen"'])
    }
  })

  test('no value of a condition that is left out', async () => {
    const { rows, sent } = await sentFor(
      "SELECT id FROM shop.teas WHERE NOT (name NOT LIKE 'g%' AND length(name) > 2) AND id < 3 ORDER BY id",
    )
    expect(rows).toEqual([[1]])
    expect(sent).toEqual(['all: SELECT "id", "name" FROM "teas" WHERE ("id" < 3)'])
  })

  test('conditions of an outer join narrow the side that may be narrowed', async () => {
    const { rows, sent } = await sentFor(
      `SELECT t.id, n.note FROM shop.teas t LEFT JOIN shop.extra.notes n ON n.tea = t.id AND n.note <> 'fresh'
        WHERE t.id < 3 AND n.note IS NULL`,
    )
    expect(rows).toEqual([])
    expect(sent.toSorted()).toEqual([
      'all: SELECT "id" FROM "teas" WHERE ("id" < 3)',
      'all: SELECT "tea", "note" FROM "extra"."notes" WHERE ("note" <> $1)',
    ])
  })

  test('two databases, a CTE, a sub-query, a window and a UNION', async () => {
    const { rows } = await sentFor(
      `WITH cheap AS (SELECT * FROM shop.teas WHERE price < 5)
       SELECT c.name, sum(o.count)::INT AS total, rank() OVER (ORDER BY sum(o.count) DESC) AS r
         FROM cheap c JOIN crm.orders o ON o.tea = c.id
        WHERE EXISTS (SELECT 1 FROM shop.extra.notes n WHERE n.tea = c.id)
        GROUP BY c.name
       UNION ALL SELECT 'all', (SELECT count(*) FROM crm.orders)::INT, 0 ORDER BY r`,
    )
    expect(rows).toEqual([
      ['all', 20, 0],
      ['black', 34, 1],
      ['green', 30, 2],
    ])
    expect(sources.held.size).toBe(0)
  })
})

describe('what is said of a sub-query, a CTE or a view', () => {
  test('is sent to the table that it reads', async () => {
    const { rows, sent } = await sentFor(
      `SELECT upper(n) FROM (SELECT id AS key, name AS n FROM shop.teas WHERE price < 9) AS t
        WHERE t.key > 1 AND n LIKE 'b%' ORDER BY key LIMIT 1`,
    )
    expect(rows).toEqual([['BLACK']])
    expect(sent).toEqual([
      'all: SELECT "id", "name", "price" FROM "teas" WHERE ("price" < 9) AND ("id" > 1) AND ("name" LIKE $1) ORDER BY "id" LIMIT 1',
    ])
    const cte = await sentFor(
      'WITH a AS (SELECT * FROM shop.teas), b AS (SELECT id AS i FROM a WHERE stock > 0) SELECT count(*) FROM b WHERE i < 3',
    )
    expect(cte.rows).toEqual([[2]])
    expect(cte.sent).toEqual([
      `all: SELECT "id", "stock" FROM "teas" WHERE ("stock" > '0e+0'::DOUBLE) AND ("id" < 3)`,
    ])
  })

  test('goes through views within views', async () => {
    const run = async (query: string) => (await app.send('POST', '/api/sql/query', { query })).body
    await run('CREATE VIEW every AS SELECT * FROM shop.teas')
    await run('CREATE VIEW renamed AS SELECT id AS tea, name AS "The Name" FROM every ORDER BY id')
    const { rows, sent } = await sentFor(
      'SELECT "the name" FROM renamed WHERE tea >= :least LIMIT 2',
      { least: 2 },
    )
    expect(rows).toEqual([['black'], ['Green']])
    expect(sent).toEqual([
      'all: SELECT "id", "name" FROM "teas" WHERE ("id" >= 2) ORDER BY "id" LIMIT 2',
    ])
    const joined = await sentFor(
      'SELECT r.tea FROM renamed r LEFT JOIN every e ON e.id = r.tea AND e.id = 2 WHERE r.tea < 3 AND e.name IS NULL',
    )
    expect(joined.rows).toEqual([[1]])
    expect(joined.sent.toSorted()).toEqual([
      'all: SELECT "id", "name" FROM "teas" WHERE ("id" < 3)',
      'all: SELECT "id", "name" FROM "teas" WHERE ("id" = 2)',
    ])
  })

  test('stays where it is if it would give other rows', async () => {
    const all = async (sql: string) => (await sentFor(sql)).sent
    const whole = ['all: SELECT "id", "name" FROM "teas"']
    expect(
      await all(
        'SELECT n FROM (SELECT name AS n, id, rank() OVER (ORDER BY id) FROM shop.teas) WHERE id = 5',
      ),
    ).toEqual(whole)
    expect(
      await all(
        'SELECT n FROM (SELECT name AS n, id FROM shop.teas ORDER BY id, n LIMIT 2) WHERE id = 5',
      ),
    ).toEqual(['all: SELECT "id", "name" FROM "teas" ORDER BY "id", "name" NULLS LAST LIMIT 2'])
    expect(
      await all(
        'WITH t AS (SELECT id, name FROM shop.teas) SELECT a.id FROM t a, t b WHERE a.id = 5',
      ),
    ).toEqual(whole)
    expect(
      await all('SELECT a FROM (SELECT id + 1 AS a, name FROM shop.teas) WHERE a = 5 LIMIT 1'),
    ).toEqual(whole)
  })
})

describe('in every case', () => {
  test('rows are released when the statement fails', async () => {
    expect(app.rows('SELECT CAST(name AS INTEGER) FROM shop.teas')).rejects.toThrow()
    await Bun.sleep(0)
    expect(sources.held.size).toBe(0)
  })

  test('cached facts are requested again after the table changed', async () => {
    await sources.run('shop', 'CREATE TABLE moving (a INTEGER); INSERT INTO moving VALUES (1)')
    expect(await app.rows('SELECT * FROM shop.moving')).toEqual([[1]])
    await sources.run(
      'shop',
      "DROP TABLE moving; CREATE TABLE moving (b VARCHAR, a INTEGER); INSERT INTO moving VALUES ('x', 2)",
    )
    expect(await app.rows('SELECT * FROM shop.moving')).toEqual([['x', 2]])
  })

  test('views, tables and EXPLAIN over remote tables', async () => {
    const run = async (query: string) => (await app.send('POST', '/api/sql/query', { query })).body
    expect(
      await run('CREATE VIEW cheap AS SELECT id, name FROM shop.teas WHERE price < 3'),
    ).toMatchObject({ type: 'ok' })
    expect(await app.rows('SELECT name FROM cheap')).toEqual([['black']])
    expect(await run('CREATE TABLE copied AS SELECT * FROM shop.teas')).toMatchObject({
      type: 'ok',
    })
    expect(await app.rows('SELECT count(*) FROM copied')).toEqual([[5]])
    sources.sent.length = 0
    const plan = await app.rows('EXPLAIN SELECT upper(name) FROM shop.teas WHERE id = 1')
    expect(plan[0]).toEqual([
      'source',
      'shop: SELECT "id", "name" FROM "teas" WHERE ("id" = 1); no row more than needed',
    ])
    expect(sources.sent).toEqual([])
    expect(sources.held.size).toBe(0)
  })
})

describe("a database's own SQL", () => {
  test('goes to it as it is, and its rows are those of a table', async () => {
    const { rows, sent } = await sentFor(
      `SELECT count(*) AS n, t.kind FROM shop (SELECT CASE WHEN name = 'it''s ) (' THEN 1 ELSE 2 END AS kind -- ) "
         FROM teas /* ( */) AS t WHERE t.kind = 2 GROUP BY ALL`,
    )
    expect(rows).toEqual([[5, 2]])
    expect(sent).toHaveLength(1)
    expect(sent[0]).toStartWith("all: SELECT CASE WHEN name = 'it''s ) (' THEN")
  })

  test('is read no further than a LIMIT asks for', async () => {
    const sql = 'SELECT id, name FROM teas ORDER BY id'
    const all = await sentFor(`SELECT * FROM shop (${sql})`)
    expect([all.rows.length, all.sent]).toEqual([5, [`all: ${sql}`]])
    const most = { most: 1 }
    const some = await sentFor(`SELECT id AS tea, name FROM shop (${sql}) AS t LIMIT :most`, most)
    expect(some).toEqual({ rows: [[1, 'green']], sent: [`1: ${sql}`] })
    expect((await sentFor(`SELECT * FROM shop (${sql}) LIMIT 0`)).rows).toEqual([])
    const after = await sentFor(`SELECT name FROM shop (${sql}) LIMIT 2 OFFSET 1`)
    expect(after).toEqual({ rows: [['black'], ['Green']], sent: [`3: ${sql}`] })
    for (const rest of ['WHERE id > 1 LIMIT 1', 'ORDER BY name LIMIT 1', '']) {
      expect((await sentFor(`SELECT * FROM shop (${sql}) ${rest}`)).sent).toEqual([`all: ${sql}`])
    }
  })

  test('joins other tables, without a name of its own as well', async () => {
    const { rows } = await sentFor(
      'SELECT shop.id, o.count FROM shop (SELECT id FROM teas WHERE id = 1) JOIN crm.orders o ON o.tea = shop.id ORDER BY 2 LIMIT 2',
    )
    expect(rows).toEqual([
      [1, 0],
      [1, 5],
    ])
  })
})

describe('groups and totals', () => {
  test('are made by the source where it makes the same', async () => {
    const { rows, sent } = await sentFor(
      `SELECT price, count(*), sum(id) + 1, avg(id) FROM shop.teas WHERE id > 0 GROUP BY price
        HAVING count(*) > 1 ORDER BY 1`,
    )
    expect(rows).toEqual([[3.5, 2, 7, 3]])
    expect(sent).toEqual([
      'all: SELECT "price", count(*), CAST(sum("id") AS DECIMAL(38,0)), count("id") FROM "teas" WHERE ("id" > 0) GROUP BY "price"',
    ])
  })
})

test('a view keeps the SQL of a database as it was written', async () => {
  const select = "SELECT id FROM shop (SELECT id, ') \"' AS odd FROM teas WHERE id < 3) AS t"
  const { body } = await app.send('POST', '/api/sql/query', {
    query: `CREATE VIEW odd AS ${select}`,
  })
  expect(body).toMatchObject({ type: 'ok' })
  expect(await app.rows('SELECT * FROM odd ORDER BY id')).toEqual([[1], [2]])
  const { body: shown } = await app.send('GET', '/api/projects/mindsdb/views/odd')
  expect(JSON.stringify(shown)).toContain(JSON.stringify(select).slice(1, -1))
})

describe('with knowledge bases', () => {
  const put = (query: string) => app.send('POST', '/api/sql/query', { query })

  test('rows go into one, are searched for, and join a search', async () => {
    expect((await put('CREATE KNOWLEDGE_BASE notes')).body).toMatchObject({ type: 'ok' })
    const insert =
      'INSERT INTO notes SELECT tea || note AS id, note AS content, tea FROM shop.extra.notes'
    expect((await put(insert)).body).toMatchObject({ type: 'ok' })
    const joined = `SELECT t.id, n.chunk_content FROM notes n JOIN shop.teas t ON t.id = n.tea
      WHERE n.content = 'malty' AND t.name IS NOT NULL ORDER BY n.distance LIMIT 1`
    expect(await app.rows(joined)).toEqual([[2, 'malty']])
    const lateral = `SELECT s.note, n.chunk_content FROM shop.extra.notes s,
      LATERAL (SELECT chunk_content FROM notes WHERE content = s.note LIMIT 1) AS n WHERE s.tea = 1 ORDER BY 1`
    expect(await app.rows(lateral)).toEqual([
      ['fresh', 'fresh'],
      ['grassy', 'grassy'],
    ])
    const filtered = `SELECT id FROM notes WHERE content = 'tea' AND tea IN (SELECT id FROM shop.teas WHERE price < 3)`
    expect(await app.rows(filtered)).toEqual([['2malty']])
    expect(sources.held.size).toBe(0)
  })

  test('a query that is sent as a source', async () => {
    const body = {
      query: 'SELECT id::VARCHAR AS id, name AS content FROM shop.teas WHERE name IS NOT NULL',
    }
    const { status } = await app.send('PUT', '/api/projects/mindsdb/knowledge_bases/notes', {
      knowledge_base: body,
    })
    expect(status).toBe(200)
    expect(await app.rows("SELECT count(*) FROM notes WHERE id IN ('1', '2')")).toEqual([[2]])
  })
})

test('a table that was changed after it was described is described again', async () => {
  const known = await knowingSources('far')
  const other = await createTestApp({ sources: known })
  try {
    const source = { name: 'far', engine: 'duckdb', parameters: {} } as const
    await other.store.dataSourceCatalog.createDataSource(source)
    await known.run('far', 'CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 2)')
    expect(await other.rows('SELECT * FROM far.t')).toEqual([[1, 2]])
    await known.run('far', 'ALTER TABLE t DROP b')
    expect(await other.rows('SELECT * FROM far.t')).toEqual([[1]])
    expect(await other.rows('SELECT a + 1 FROM far.t')).toEqual([[2]])
    await known.run('far', "ALTER TABLE t RENAME a TO c; ALTER TABLE t ADD d VARCHAR DEFAULT 'd'")
    expect(await other.rows('SELECT c + 1, d FROM far.t')).toEqual([[2, 'd']])
    expect(other.rows('SELECT a FROM far.t')).rejects.toThrow('a')
    await known.run('far', 'DROP TABLE t')
    expect(other.rows('SELECT c FROM far.t')).rejects.toThrow('t')
    expect(known.held.size).toBe(0)
  } finally {
    await other.close()
  }
})
