/** The rows and charts of answers, read again with their conversation. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { type ChatServer, chatServer, type Said } from '../agents/chat-server.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const AGENTS = '/api/projects/mindsdb/agents'
const COUNTS = 'SELECT name, count(*) AS n FROM mindsdb.orders GROUP BY name ORDER BY name'

let t: TestApp
let server: ChatServer | null = null
let made = 0

beforeAll(async () => {
  t = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
  const rows = "SELECT * FROM (VALUES ('ann', 3), ('bob', 1), ('ann', 2)) AS t(name, total)"
  await t.send('POST', '/api/sql/query', { query: `CREATE TABLE orders AS ${rows}` })
})
afterEach(() => server?.close())
afterAll(() => t.close())

const rows = (sql_query: string): Said => {
  return { kind: 'call', name: 'sql_db_query', input: { sql_query } }
}
const chart = (sql: string, x: string, y: string): Said => {
  return { kind: 'call', name: 'chart_tool', input: { kind: 'bar', sql, x, y } }
}

interface Found {
  readonly statements?: readonly { readonly is_cut: boolean; readonly data: readonly unknown[] }[]
  readonly charts?: readonly unknown[]
  readonly result?: unknown
  readonly warnings: readonly string[]
}

/** Returns what an answer contained and what its conversation has stored. */
async function asked(turns: readonly Said[], params: object = {}) {
  server = chatServer(...turns)
  made += 1
  const name = `clerk${made}`
  const model = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: server.url }
  const data = { tables: ['mindsdb.orders'] }
  await t.send('POST', AGENTS, { agent: { name, model, data, params } })
  const messages = [{ role: 'user', content: 'How many orders has each?' }]
  const body = { messages, conversation_id: 'new' }
  const { body: answer } = await t.send('POST', `${AGENTS}/${name}/completions`, body)
  const { message, warnings } = answer as {
    readonly message: Omit<Found, 'warnings'> & { readonly conversation_id: string }
    readonly warnings: readonly string[]
  }
  const one = `${AGENTS}/${name}/conversations/${message.conversation_id}`
  const { body: read } = await t.send('GET', one)
  const [kept] = (read as { readonly turns: readonly Found[] }).turns
  if (kept === undefined) throw new Error('nothing is kept')
  return { told: { ...message, warnings }, kept }
}

test('are those that came with the answer, with its warnings', async () => {
  const said: Said = { kind: 'text', pieces: ['Ann has 2 and Bob has 1.'] }
  const { told, kept } = await asked([rows(COUNTS), chart(COUNTS, 'name', 'n'), said])
  expect(told.statements).toHaveLength(1)
  expect(told.charts).toHaveLength(1)
  expect(kept.statements).toEqual(told.statements)
  expect(kept.charts).toEqual(told.charts)
  expect(kept.warnings).toEqual(told.warnings)
  const result = await asked([rows(COUNTS), said], { mode: 'sql' })
  expect(result.kept.result).toEqual(result.told.result)
})

test('are none where the answer had none', async () => {
  const { kept } = await asked([{ kind: 'text', pieces: ['Nobody knows.'] }])
  expect(kept).not.toHaveProperty('statements')
  expect(kept).not.toHaveProperty('charts')
  expect(kept).not.toHaveProperty('result')
})

test('have names of columns that JSON columns refuse', async () => {
  const odd = `SELECT total AS "a'b<script>\u202e\\u0000" FROM mindsdb.orders ORDER BY 1`
  const { told, kept } = await asked([rows(odd), { kind: 'text', pieces: ['3'] }])
  expect(told.statements).toHaveLength(1)
  expect(kept.statements).toEqual(told.statements)
})

test('large ones are cut, with a warning', async () => {
  const wide = `SELECT number, repeat('x', 900) AS y
    FROM (SELECT range AS number FROM mindsdb.orders, range(2000)) ORDER BY number LIMIT 1500`
  const { told, kept } = await asked([rows(wide), { kind: 'text', pieces: ['0'] }], { mode: 'sql' })
  expect((told.result as { data: unknown[] }).data).toHaveLength(1000)
  const result = kept.result as { data: unknown[]; is_cut: boolean }
  expect(result.is_cut).toBe(true)
  expect(result.data.length).toBeGreaterThan(500)
  expect(JSON.stringify(kept).length).toBeLessThan(600_000)
})

test('of many charts that are too large are those that have room', async () => {
  const points = `SELECT row_number() OVER () AS n, repeat('x', 90) || n AS name
    FROM mindsdb.orders, range(300)`
  const drawn = (limit: number) => chart(`${points} LIMIT ${limit}`, 'name', 'n')
  const said: Said = { kind: 'text', pieces: ['There.'] }
  const { told, kept } = await asked([drawn(900), drawn(899), drawn(898), drawn(3), said])
  expect(told.charts).toHaveLength(4)
  expect(kept.charts?.length).toBeLessThan(4)
  expect(kept.charts).toContainEqual(told.charts?.[3])
  expect(kept.warnings.at(-1)).toMatch(/too large to be stored: at most 512 KB/)
})
