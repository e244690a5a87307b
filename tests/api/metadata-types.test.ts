import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { type Answer, createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

const embeddedTexts: string[] = []
const embedders: EmbedderRegistry = {
  ...wordEmbedders,
  embedder: (ref) => ({
    embed: async (texts, signal) => {
      embeddedTexts.push(...texts)
      return wordEmbedders.embedder(ref).embed(texts, signal)
    },
  }),
}

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ embedders })
})
afterAll(() => t.close())

async function create(name: string, fields: object = {}): Promise<void> {
  const made = await t.send('POST', KBS, { knowledge_base: { name, ...fields } })
  expect([made.status, made.status === 201 ? '' : made.text]).toEqual([201, ''])
}

function put(name: string, fields: object): Promise<Answer> {
  return t.send('PUT', `${KBS}/${name}`, { knowledge_base: fields })
}

async function stored(name: string, fields: object): Promise<void> {
  const answer = await put(name, fields)
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
}

async function run(query: string): Promise<void> {
  const { text } = await t.send('POST', '/api/sql/query', { query })
  expect(text).toContain('"type":"ok"')
}

async function record(name: string): Promise<{
  readonly metadata_columns: readonly string[]
  readonly metadata_types: Readonly<Record<string, string>>
  readonly params: { readonly warnings?: readonly string[] }
}> {
  return (await t.send('GET', `${KBS}/${name}`)).body as Awaited<ReturnType<typeof record>>
}

/** For each type, a SELECT of one value and its form in the response. */
const TYPED: readonly (readonly [type: string, sql: string, shown: unknown])[] = [
  ['BOOLEAN', 'true', true],
  ['TINYINT', '(-8)::TINYINT', -8],
  ['INTEGER', '70000', 70_000],
  ['BIGINT', '9007199254740993', '9007199254740993'],
  ['UBIGINT', "'18446744073709551615'::UBIGINT", '18446744073709551615'],
  [
    'HUGEINT',
    '-170141183460469231731687303715884105727',
    '-170141183460469231731687303715884105727',
  ],
  [
    'UHUGEINT',
    "'340282366920938463463374607431768211455'::UHUGEINT",
    '340282366920938463463374607431768211455',
  ],
  ['DECIMAL(10,2)', '9.90::DECIMAL(10,2)', 9.9],
  ['DOUBLE', '2::DOUBLE', 2],
  ['DATE', "DATE '2024-02-29'", '2024-02-29'],
  ['TIME', "TIME '10:11:12.5'", '10:11:12.500000'],
  ['TIMESTAMP', "TIMESTAMP '2024-02-29 10:11:12.123456'", '2024-02-29 10:11:12.123456'],
  ['TIMESTAMP_NS', "'2024-02-29 10:11:12.123456789'::TIMESTAMP_NS", '2024-02-29 10:11:12.123456'],
  [
    'TIMESTAMP WITH TIME ZONE',
    "TIMESTAMPTZ '2024-02-29 10:00:00+02'",
    '2024-02-29 08:00:00.000000',
  ],
  ['INTERVAL', 'INTERVAL 3 DAY', '3 days'],
  ['UUID', "UUID '4ac7a9e9-607c-4c8a-84f3-843f0191e3fd'", '4ac7a9e9-607c-4c8a-84f3-843f0191e3fd'],
  ['BLOB', "'\\xAA\\x00'::BLOB", 'qgA='],
  ['VARCHAR', "'b'::ENUM('a', 'b')", 'b'],
  ['VARCHAR[]', "['x', 'y']", ['x', 'y']],
  ['INTEGER[2]', '[1, 2]::INTEGER[2]', [1, 2]],
  [
    'STRUCT("a" INTEGER, "b c" DATE)',
    "{'a': 1, 'b c': DATE '2024-01-01'}",
    { a: 1, 'b c': '2024-01-01' },
  ],
  ['MAP(VARCHAR, INTEGER)', "MAP {'k': 1}", { k: 1 }],
  ['JSON', `'{"n": [1]}'::JSON`, { n: [1] }],
  ['JSON', 'list_zip([1], [2])[1]', [1, 2]],
]

describe('values from a SELECT keep their types', () => {
  beforeAll(async () => {
    await create('typed')
    const list = TYPED.map(([, sql], index) => `${sql} AS t${index}`)
    await stored('typed', { query: `SELECT 'a' AS id, 'tea' AS content, ${list.join(', ')}` })
  })

  test.each(TYPED.map(([type, , shown], index) => [type, index, shown] as const))(
    '%s',
    async (type, index, shown) => {
      const { metadata_types: types } = await record('typed')
      expect(types[`t${index}`]).toBe(type)
      const [row] = await t.rows(`SELECT t${index}, metadata, typeof(t${index}) FROM typed`)
      expect(row?.[0]).toEqual(shown)
      expect(row?.[1]).toMatchObject({ [`t${index}`]: shown })
    },
  )

  test('to the last digit', async () => {
    const sql = `SELECT t12::VARCHAR, t6::VARCHAR, t12 = '2024-02-29 10:11:12.123456789'::TIMESTAMP_NS FROM typed`
    expect(await t.rows(sql)).toEqual([
      ['2024-02-29 10:11:12.123456789', '340282366920938463463374607431768211455', true],
    ])
  })

  test('and in an INSERT INTO … SELECT and from an uploaded Parquet file', async () => {
    await create('inserted')
    await run(
      `INSERT INTO inserted SELECT 'a' AS id, 'tea' AS content, DATE '2024-01-05' AS day, 1.25 AS price`,
    )
    expect((await record('inserted')).metadata_types).toEqual({
      day: 'DATE',
      price: 'DECIMAL(3,2)',
    })
    await run(
      `CREATE TABLE files.orders AS SELECT 'b' AS id, 'x' AS content, DATE '2025-01-05' AS day`,
    )
    await stored('inserted', { files: ['orders'] })
    const years = await t.rows('SELECT id, year(day) FROM inserted ORDER BY day')
    expect(years).toEqual([
      ['a', 2024],
      ['b', 2025],
    ])
  })
})

describe('typed columns', () => {
  beforeAll(async () => {
    await create('orders')
    await stored('orders', {
      query: `SELECT i::VARCHAR AS id, 'tea ' || i AS content, DATE '2024-01-28' + i::INTEGER AS day,
        (i * 1.1)::DECIMAL(10,2) AS price, ['t' || i, 'all'] AS tags,
        {'city': 'c' || i % 2, 'zip': i} AS place FROM range(1, 7) AS r(i)`,
    })
  })

  test.each([
    ["SELECT id FROM orders WHERE day = '2024-02-01'", [['4']]],
    ["SELECT id FROM orders WHERE day < DATE '2024-01-30'", [['1']]],
    ["SELECT count(*) FROM orders WHERE day BETWEEN '2024-01-30' AND '2024-02-01'", [[3]]],
    ['SELECT (day - INTERVAL 7 DAY)::DATE FROM orders WHERE id = 1', [['2024-01-22']]],
    [
      'SELECT month(day), count(*) FROM orders GROUP BY 1 ORDER BY 1',
      [
        [1, 3],
        [2, 3],
      ],
    ],
    [
      "SELECT DISTINCT date_trunc('month', day)::DATE AS m FROM orders ORDER BY m",
      [['2024-01-01'], ['2024-02-01']],
    ],
    ["SELECT id FROM orders WHERE list_contains(tags, 't3')", [['3']]],
    ["SELECT (price * 1.1)::VARCHAR FROM orders WHERE id = '3'", [['3.630']]],
    [
      'SELECT place.city, max(place.zip) FROM orders GROUP BY 1 ORDER BY 1',
      [
        ['c0', 6],
        ['c1', 5],
      ],
    ],
    ['SELECT id FROM orders ORDER BY day DESC LIMIT 1', [['6']]],
    [
      "SELECT id FROM orders WHERE content = 'tea 5' AND day > '2024-02-01' ORDER BY day LIMIT 1",
      [['5']],
    ],
    ["SELECT id FROM orders WHERE metadata.day = '2024-02-01'", [['4']]],
  ])('%s', async (sql, rows) => {
    expect(await t.rows(sql)).toEqual(rows)
  })

  test('a parameter is compared with them', async () => {
    const answer = await t.send('POST', '/api/sql/query', {
      query: 'SELECT id FROM orders WHERE day >= :since AND price < :price',
      params: { since: '2024-02-02', price: 6 },
    })
    expect(answer.body).toMatchObject({ data: [['5']] })
  })

  test.each([
    [{ day: '2024-02-01' }, ['4']],
    [{ day: { '>=': '2024-02-02' } }, ['5', '6']],
    [{ day: { in: ['2024-01-29', '2024-01-30'] } }, ['1', '2']],
    [{ day: { not: '2024-01-29' }, price: { '<=': 3.3 } }, ['2', '3']],
    [{ tags: { contains: 't2' } }, ['2']],
    [{ tags: { contains: 'all' }, id: { in: [1, 2] } }, ['1', '2']],
  ])('a filter %j', async (filters, ids) => {
    const answer = await t.send('POST', `${KBS}/orders/search`, { query: 'tea', filters, k: 9 })
    expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
    const { results } = answer.body as { readonly results: readonly { readonly id: string }[] }
    expect(results.map(({ id }) => id).toSorted()).toEqual(ids)
  })

  test('a filter that its column cannot hold says so', async () => {
    const search = (filters: object) =>
      t.send('POST', `${KBS}/orders/search`, { query: 'x', filters })
    expect((await search({ day: 'soon' })).text).toContain('day holds dates')
    expect((await search({ day: { contains: 'x' } })).text).toContain('needs a column of lists')
    expect((await search({ tags: 'all' })).text).toContain('tags holds lists: use contains')
  })

  test('DESCRIBE, SHOW COLUMNS and information_schema show them', async () => {
    const described = await t.rows('DESCRIBE orders')
    expect(described.map(([name, type]) => `${name} ${type}`)).toEqual([
      'id VARCHAR',
      'chunk_id VARCHAR',
      'chunk_content VARCHAR',
      'metadata JSON',
      'relevance DOUBLE',
      'distance DOUBLE',
      'day DATE',
      'price DECIMAL(10,2)',
      'tags VARCHAR[]',
      'place STRUCT("city" VARCHAR, "zip" BIGINT)',
      'content VARCHAR',
    ])
    const sql = `SELECT data_type FROM information_schema.columns
      WHERE table_schema = 'mindsdb' AND table_name = 'orders' AND column_name = 'day'`
    expect(await t.rows(sql)).toEqual([['DATE']])
  })

  test('UPDATE sets them, and a new text leaves them as they are', async () => {
    await create('changed')
    await stored('changed', {
      query: `SELECT 'a' AS id, 'tea' AS content, DATE '2024-01-01' AS day,
        12345678901234567.89::DECIMAL(38,2) AS price, '\\xAA'::BLOB AS bytes`,
    })
    await run("UPDATE changed SET day = day + 1, content = 'coffee' WHERE id = 'a'")
    await run("UPDATE changed SET day = '2024-03-01' WHERE day = '2024-01-02'")
    const sql = 'SELECT day, price::VARCHAR, bytes, chunk_content FROM changed'
    expect(await t.rows(sql)).toEqual([['2024-03-01', '12345678901234567.89', 'qg==', 'coffee']])
  })

  test('a table made of them has them', async () => {
    await run('CREATE TABLE copied AS SELECT day, price FROM orders')
    const described = await t.rows('DESCRIBE copied')
    expect(described.map(([, type]) => type)).toEqual(['DATE', 'DECIMAL(10,2)'])
  })
})

describe('a value of another type', () => {
  test('is null in a learned column, stays in metadata, and is counted', async () => {
    await create('learned')
    await stored('learned', {
      rows: [
        { id: 1, content: 'a', price: 5 },
        { id: 2, content: 'b', price: 'on request' },
        { id: 3, content: 'c', price: 7.5 },
      ],
    })
    await stored('learned', {
      rows: [
        { id: 4, content: 'd', price: '8' },
        { id: 5, content: 'e', price: [1] },
      ],
    })
    expect(await t.rows('SELECT id, price, metadata.price FROM learned ORDER BY id')).toEqual([
      ['1', 5, 5],
      ['2', null, null],
      ['3', 7.5, 7.5],
      ['4', 8, 8],
      ['5', null, null],
    ])
    expect(await t.rows("SELECT metadata->>'price' FROM learned WHERE id = 2")).toEqual([
      ['on request'],
    ])
    const { params, metadata_types: types } = await record('learned')
    expect(types).toEqual({ price: 'DOUBLE' })
    expect(params.warnings).toEqual([
      'Column price: 2 inserted values are not of its type DOUBLE: null in the column and unchanged in metadata; declare VARCHAR to keep them as text',
    ])
  })

  test('is taken where the text says such a value', async () => {
    await create('days')
    await stored('days', { query: "SELECT 'a' AS id, 'x' AS content, DATE '2024-01-01' AS day" })
    await stored('days', {
      rows: [
        { id: 'b', content: 'x', day: '2024-01-02' },
        { id: 'c', content: 'x', day: '2024-01-03T00:00:00.000Z' },
        { id: 'd', content: 'x', day: '2024-01-03 10:30:00' },
        { id: 'e', content: 'x', day: 5 },
      ],
    })
    expect(await t.rows('SELECT id, day FROM days ORDER BY id')).toEqual([
      ['a', '2024-01-01'],
      ['b', '2024-01-02'],
      ['c', '2024-01-03'],
      ['d', null],
      ['e', null],
    ])
  })
})

describe('declared types', () => {
  const columns = [
    'colour',
    { name: 'day', type: 'date' },
    { name: 'price', type: 'DECIMAL(10, 2)' },
    { name: 'tags', type: 'VARCHAR[]' },
    { name: 'code', type: 'VARCHAR' },
  ]

  test('are shown before the first row, and rows are stored under them', async () => {
    await create('declared', { metadata_columns: columns })
    const { metadata_columns: names, metadata_types: types } = await record('declared')
    expect(names).toEqual(['colour', 'day', 'price', 'tags', 'code'])
    expect(types).toEqual({
      day: 'DATE',
      price: 'DECIMAL(10,2)',
      tags: 'VARCHAR[]',
      code: 'VARCHAR',
    })
    await stored('declared', {
      rows: [{ id: 1, content: 'x', day: '2024-05-01', price: 19.99, tags: ['a', 'b'], code: 7 }],
    })
    const sql = `SELECT year(day), (price * 1.1)::VARCHAR, list_contains(tags, 'b'), code FROM declared`
    expect(await t.rows(sql)).toEqual([[2024, '21.989', true, '7']])
  })

  test.each([
    [{ day: 'soon' }, "row 3, column day: 'soon' is not a DATE"],
    [{ price: 9.999 }, 'row 3, column price: 9.999 is not a DECIMAL(10,2)'],
    [{ price: 'dear' }, "row 3, column price: 'dear' is not a DECIMAL(10,2)"],
    [{ tags: 'a' }, "row 3, column tags: 'a' is not a VARCHAR[]"],
  ])('refuse what does not fit: %j', async (row, message) => {
    const good = { id: 'n', content: 'new' }
    const answer = await put('declared', {
      rows: [good, good, { id: 'm', content: 'bad', ...row }],
    })
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(message)
    expect(answer.text).toContain('Nothing was stored')
    expect(await t.rows("SELECT count(*) FROM declared WHERE id <> '1'")).toEqual([[0]])
  })

  test('are checked before anything is embedded', async () => {
    const rows = [
      { id: 'p', content: 'never embedded' },
      { id: 'q', content: 'x', day: 'soon' },
    ]
    const before = embeddedTexts.length
    expect((await put('declared', { rows })).status).toBe(400)
    expect(embeddedTexts.slice(before)).toEqual([])
  })

  test('are written in SQL too, and SHOW CREATE says them', async () => {
    await run(`CREATE KNOWLEDGE_BASE in_sql USING
      metadata_columns = ['colour', {"name": "day", "type": "TIMESTAMPTZ"}]`)
    expect((await record('in_sql')).metadata_types).toEqual({ day: 'TIMESTAMP WITH TIME ZONE' })
    const [[, text] = []] = await t.rows('SHOW CREATE TABLE in_sql')
    expect(text).toContain('{"name":"day","type":"TIMESTAMP WITH TIME ZONE"}')
  })

  test('of an unknown name are refused with a list of the known ones', async () => {
    for (const type of ['DATES', 'DECIMAL(99,2)', 'VARCHAR[', 'DATE); DROP TABLE x; --', 'BIT']) {
      const sent = { name: 'x', metadata_columns: [{ name: 'day', type }] }
      const answer = await t.send('POST', KBS, { knowledge_base: sent })
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('cannot have the type')
    }
  })

  test('are given to a column that has values already', async () => {
    await create('later')
    await stored('later', {
      rows: [
        { id: 1, content: 'x', day: '2024-05-01', n: 1 },
        { id: 2, content: 'y', n: 2.5 },
      ],
    })
    await run(`ALTER KNOWLEDGE_BASE later USING
      metadata_columns = [{"name": "day", "type": "DATE"}, {"name": "n", "type": "VARCHAR"}]`)
    expect(await t.rows('SELECT year(day), n FROM later ORDER BY id')).toEqual([
      [2024, '1'],
      [null, '2.5'],
    ])
    await stored('later', { rows: [{ id: 3, content: 'z', n: 'three', day: '2024-05-02' }] })
    const { text } = await t.send('POST', '/api/sql/query', {
      query: `ALTER KNOWLEDGE_BASE later USING metadata_columns = [{"name": "n", "type": "INTEGER"}]`,
    })
    expect(text).toContain('column n: 2.5 is not an INTEGER')
    expect(await t.rows("SELECT n FROM later WHERE id = '3'")).toEqual([['three']])
  })
})
