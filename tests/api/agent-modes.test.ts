/** Agents that answer with rows, or with JSON. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { type ChatServer, chatServer, type Said } from '../agents/chat-server.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const AGENTS = '/api/projects/mindsdb/agents'
const COUNTS = 'SELECT name, count(*) AS n FROM mindsdb.orders GROUP BY name ORDER BY name'
const WIDE = 'SELECT range AS number FROM mindsdb.orders, range(2000) ORDER BY number LIMIT 1500'

let t: TestApp
let server: ChatServer | null = null

beforeAll(async () => {
  t = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
  const rows = "SELECT * FROM (VALUES ('ann', 3), ('bob', 1), ('ann', 2)) AS t(name, total)"
  await t.send('POST', '/api/sql/query', { query: `CREATE TABLE orders AS ${rows}` })
})
afterEach(() => server?.close())
afterAll(() => t.close())

const data = { knowledge_bases: [], tables: ['mindsdb.orders'] }
let made = 0

async function asked(
  turns: readonly Said[],
  agent: object,
  body: object = {},
  path = 'completions',
) {
  server = chatServer(...turns)
  made += 1
  const name = `clerk${made}`
  const model = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: server.url }
  await t.send('POST', AGENTS, { agent: { name, model, data, ...agent } })
  const messages = [{ role: 'user', content: 'How many orders has each?' }]
  return t.send('POST', `${AGENTS}/${name}/${path}`, { messages, ...body })
}

function query(sql: string): Said {
  return { kind: 'call', name: 'sql_db_query', input: { sql_query: sql } }
}

describe('the mode sql', () => {
  const sql = { params: { mode: 'sql' } }
  const text: Said = { kind: 'text', pieces: ['| name | n |'] }

  test('gives the rows of the last statement, with it', async () => {
    const first = query('SELECT * FROM mindsdb.orders LIMIT 1')
    const { body } = await asked([query(COUNTS), first, query(COUNTS), text], sql)
    const result = {
      sql: COUNTS,
      column_names: ['name', 'n'],
      data: [
        ['ann', 2],
        ['bob', 1],
      ],
      is_cut: false,
    }
    expect(body).toMatchObject({ message: { content: '| name | n |', result }, warnings: [] })
  })

  test('says when there are more rows, in a stream too', async () => {
    const { text: stream } = await asked([query(WIDE), text], sql, {}, 'completions/stream')
    const chunk = stream.split('\n\n').find((one) => one.includes('"output"')) ?? ''
    const output = JSON.parse(chunk.slice('data: '.length))
    expect(output.result.data).toHaveLength(1000)
    expect(output.result.is_cut).toBe(true)
    expect(output.warnings).toEqual([
      expect.stringContaining('Only the first 1000 rows are returned'),
    ])
  })

  test('says so where there was no statement', async () => {
    const { body } = await asked([text], sql)
    expect(body).toMatchObject({
      message: { result: null },
      warnings: [expect.stringContaining('no statement')],
    })
  })

  test('is more than the built-in model can, which says so', async () => {
    const { body } = await asked([], { ...sql, model: { provider: 'builtin' } })
    expect(JSON.stringify(body)).toContain('the mode sql needs an agent with a chat model')
    expect(body).not.toHaveProperty('message.result')
  })
})

describe('response_format', () => {
  const schema = { type: 'object', required: ['count'], properties: { count: { type: 'integer' } } }
  const response_format = { type: 'json_schema', json_schema: { name: 'count', schema } }

  test('gives JSON, after one repair', async () => {
    const turns: readonly Said[] = [
      { kind: 'text', pieces: ['Three orders'] },
      { kind: 'text', pieces: ['```json\n', '{"count": 3}', '\n```'] },
    ]
    const { status, body } = await asked(turns, {}, { response_format })
    expect([status, body]).toMatchObject([200, { message: { content: '{"count": 3}' } }])
    expect(JSON.stringify(server?.requests[0]?.messages)).toContain('only JSON')
    expect(server?.requests[1]).not.toHaveProperty('tools')
  })

  test('fails by name where the model cannot, and where the schema is refused', async () => {
    const wrong: Said = { kind: 'text', pieces: ['Three orders'] }
    const failed = await asked([wrong, wrong], {}, { response_format })
    expect([failed.status, failed.text]).toEqual([502, expect.stringContaining('not JSON')])
    const remote = { type: 'json_schema', json_schema: { schema: { $ref: 'http://127.0.0.1/' } } }
    const refused = await asked([], {}, { response_format: remote })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('$ref')])
  })

  test('is more than the built-in model can', async () => {
    const builtin = { model: { provider: 'builtin' } }
    const { status, text } = await asked([], builtin, { response_format })
    expect([status, text]).toEqual([
      400,
      expect.stringContaining('needs an agent with a chat model'),
    ])
  })
})
