/** What an error response suggests as the next step. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', KBS, { knowledge_base: { name: 'teas' } })
  await t.send('PUT', `${KBS}/teas`, { knowledge_base: { rows: [{ id: 1, content: 'tea' }] } })
  await t.send('POST', '/api/sql/query', { query: 'CREATE VIEW few AS (SELECT id FROM teas)' })
  await t.send('POST', '/api/sql/query', { query: 'CREATE AGENT helper' })
})
afterAll(() => t.close())

async function failure(query: string): Promise<string> {
  const { body } = await t.send('POST', '/api/sql/query', { query })
  return (body as { readonly error_message?: string }).error_message ?? 'no failure'
}

test.each([
  [
    'DROP TABLE teas',
    'is a knowledge base and not a table; use DROP KNOWLEDGE_BASE "mindsdb"."teas"',
  ],
  ['DROP TABLE IF EXISTS mindsdb.TEAS', 'use DROP KNOWLEDGE_BASE'],
  ['DROP TABLE few', 'few is a view and not a table; use DROP VIEW "mindsdb"."few"'],
  ['DROP TABLE helper', 'helper is an agent and not a table; use DROP AGENT "mindsdb"."helper"'],
  ["SELECT * FROM read_csv('a.csv')", 'upload the file with PUT /api/files/<name>'],
  ["SELECT * FROM read_parquet('a')", 'read it as files.<name>'],
  ["SELECT * FROM 'a.csv'", 'upload it with PUT /api/files/<name>'],
  [
    'CREATE AGENT a USING model = {"provider": "acme", "model_name": "m"}',
    'under another name is the provider openai with its address as "base_url"',
  ],
  ['CREATE KNOWLEDGE_BASE k USING storage = mindsdb.t', '"storage" names mindsdb, a project'],
  [
    'CREATE KNOWLEDGE_BASE k USING storage = files.t',
    'which stores no vectors; leave "storage" out',
  ],
])('%s', async (query, message) => {
  expect(await failure(query)).toContain(message)
  expect(await t.rows('SELECT id FROM teas')).toEqual([['1']])
})

test('a failed insert from a query keeps the caret on a line of its own', async () => {
  const query = 'SELECT id FROM FROM teas'
  const { body } = await t.send('PUT', `${KBS}/teas`, { knowledge_base: { query } })
  expect((body as { readonly detail: string }).detail).toEndWith(
    `near "FROM"\n${query}\n               ^\nNothing was stored`,
  )
})

/** Returns the text from the named position up to the caret in the line below it. */
async function placeOf(query: string) {
  const [place = '', line = '', caret = ''] = (await failure(query)).split('\n').slice(-3)
  const named = /line \d+, column \d+/.exec(place)?.[0]
  return { named, before: line.slice(0, caret.length - 1) }
}

test.each([
  [
    'CREATE TABLE copied AS (\n  SELECT 1,\n    wrong FROM range(3) AS t(a)\n)',
    { named: 'line 3, column 5', before: '    ' },
  ],
  [
    'CREATE VIEW wrong AS SELECT wrong FROM range(3) AS t(a)',
    { named: 'line 1, column 29', before: 'CREATE VIEW wrong AS SELECT ' },
  ],
  [
    "CREATE VIEW seen AS SELECT 'é', 1 AND AND 2",
    { named: 'line 1, column 39', before: "CREATE VIEW seen AS SELECT 'é', 1 AND " },
  ],
  [
    "INSERT INTO teas (id, content)\nSELECT 'a', wrong FROM range(3) AS t(a)",
    { named: 'line 2, column 13', before: "SELECT 'a', " },
  ],
  [
    'CREATE JOB hourly (SELECT 1;\n SELECT wrong FROM range(3) AS t(a)) EVERY 1 hour',
    { named: 'line 2, column 9', before: ' SELECT ' },
  ],
  [
    'CREATE JOB hourly (SELECT 1;\n SELECT wrong;\n SELECT wrong) EVERY 1 hour',
    { named: 'line 2, column 9', before: ' SELECT ' },
  ],
  [
    'EXPLAIN SELECT wrong FROM range(3) AS t(a)',
    { named: 'line 1, column 16', before: 'EXPLAIN SELECT ' },
  ],
])('the place of a failure is that in the whole statement: %s', async (query, place) => {
  expect(await placeOf(query)).toEqual(place)
})

test.each([
  [
    { type: 'static', static: { max_chunk_size_tokens: 50, chunk_overlap_tokens: 0 } },
    '.static.max_chunk_size_tokens" must be an integer from 100 to 4096, not the number 50',
  ],
  [{ type: 'static' }, 'Must provide "static" field in "chunking_strategy"'],
  [{ type: 'auto', static: 5 }, 'no failure'],
  [{ type: 'sttic' }, 'must be an object with "type": "auto" or an object with "type": "static"'],
])('the field of the meant variant is named: %j', async (chunking_strategy, message) => {
  const { body } = await t.send('POST', '/v1/vector_stores', { chunking_strategy })
  const { error } = body as { readonly error?: { readonly message: string } }
  expect(error?.message ?? 'no failure').toContain(message)
})

test('the built-in model names no field of OpenAI’s that was not sent', async () => {
  const tool = { type: 'function', function: { name: 'weather' } }
  const messages = [{ role: 'user', content: 'Rain?' }]
  const sent = { model: 'helper', messages, tools: [tool], tool_choice: tool }
  const { status, text } = await t.send('POST', '/v1/chat/completions', sent)
  expect(status).toBe(400)
  expect(text).toContain('cannot write JSON or call functions')
  expect(text).not.toContain('response_format')
})

test('a missing table is not found', async () => {
  expect(await failure('DROP TABLE nothing')).toBe('Table with name nothing does not exist')
})

const LONG = `[${'"0123456789",'.repeat(20_000)}\n{"a": tru}]`

test.each([
  ['{"query": "x", }', 'line 1, column 16: expected a name in double quotes, found "}"'],
  ['{"query":\n  \'x\'}', `line 2, column 3: expected a value, found "'"`],
  ['{"é": "ü" "b": 1}', 'line 1, column 11: expected "," or "}", found "\\""'],
  ['{"a": [1, 2}', 'line 1, column 12: expected "," or "]", found "}"'],
  ['{"a": 01}', 'line 1, column 7: expected a value, found "01"'],
  ['{"a": "b\nc"}', 'line 1, column 9: expected an escape'],
  ['{"a": "\\x"}', 'line 1, column 8: expected an escape that JSON knows'],
  [
    '{"a": "b',
    'line 1, column 9: expected a double quote at the end of a text, found the end of the body',
  ],
  ['{"a" 1}', 'line 1, column 6: expected ":", found "1"'],
  ['{"a": 1} {', 'line 1, column 10: expected the end of the body, found "{"'],
  ['', 'line 1, column 1: expected a value, found the end of the body'],
  [LONG, 'line 2, column 7: expected a value, found "tru"'],
])('JSON that does not parse says where: %#', async (body, message) => {
  const answer = await t.app.handle(
    new Request('http://localhost/api/sql/query', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    }),
  )
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    code: 'invalid_json',
    detail: expect.stringContaining(`The body is not valid JSON: ${message}`),
  })
})

test('a UNION is an object with its tag, a struct without names a list', async () => {
  const sql = `SELECT union_value(num := 2), list_zip([1, 2], ['a']), [union_value(k := NULL::INTEGER)],
    {'s': list_zip([1], [union_value(w := 3)])}, MAP {'m': row(1, 'x')}`
  expect(await t.rows(sql)).toEqual([
    [
      { num: 2 },
      [
        [1, 'a'],
        [2, null],
      ],
      [{ k: null }],
      { s: [[1, { w: 3 }]] },
      { m: [1, 'x'] },
    ],
  ])
  const mixed = `SELECT u FROM (VALUES (1::UNION(n INTEGER, s VARCHAR)),
    ('abc'::UNION(n INTEGER, s VARCHAR)), (NULL)) AS t(u)`
  expect(await t.rows(mixed)).toEqual([[{ n: 1 }], [{ s: 'abc' }], [null]])
})

test.each(['text/csv', 'application/x-ndjson', 'application/vnd.apache.parquet'])(
  'a failed statement under %s is a problem with its own status',
  async (accept) => {
    const statuses: unknown[] = []
    for (const query of [
      'SELECT nosuch FROM teas',
      'SELEC 1',
      "SELECT * FROM read_csv('x')",
      'DROP TABLE no',
    ]) {
      const answer = await t.send('POST', '/api/sql/query', { query }, { accept })
      expect(answer.body).toMatchObject({ code: expect.any(String), detail: expect.any(String) })
      statuses.push(answer.status)
    }
    const isParquet = accept.endsWith('parquet')
    expect(statuses).toEqual([400, 400, 400, isParquet ? 400 : 404])
  },
)

test('one row that is there at once is NDJSON with its names', async () => {
  const accept = { accept: 'application/x-ndjson' }
  const { text } = await t.send(
    'POST',
    '/api/sql/query',
    { query: 'SELECT 1 AS a, 2 AS b' },
    accept,
  )
  expect(text).toBe('{"a":1,"b":2}\n')
})
