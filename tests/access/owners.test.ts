import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeKey } from '../support/access-keys.ts'
import type { TestApp } from '../support/test-app.ts'
import { twoProjects } from './two-projects.ts'

const AGENT = '/api/projects/open/agents/kettle_agent'
const ONE = `${AGENT}/conversations`

let t: TestApp
let owner: HeadersInit
let other: HeadersInit
let admin: HeadersInit
beforeAll(async () => {
  t = await twoProjects()
  owner = (await makeKey(t, ['read', 'ask'])).headers
  other = (await makeKey(t, ['read', 'ask'])).headers
  admin = (await makeKey(t, ['admin'])).headers
})
afterAll(() => t.close())

interface Asked {
  readonly conversation_id: string
  readonly trace_id: string
}

async function ask(headers: HeadersInit, conversation_id = 'new', content = 'What hums?') {
  const body = { conversation_id, messages: [{ role: 'user', content }] }
  const { status, body: said } = await t.send('POST', `${AGENT}/completions`, body, headers)
  return { status, ...(said as { readonly message?: Asked }).message } as { status: number } & Asked
}

async function statusOf(method: 'GET' | 'DELETE', path: string, headers: HeadersInit) {
  return (await t.send(method, path, undefined, headers)).status
}

test('a conversation belongs to the key that began it, and to admins', async () => {
  const { conversation_id: id } = await ask(owner)
  const listed = async (headers: HeadersInit) => {
    return (await t.send('GET', ONE, undefined, headers)).text.includes(id)
  }
  expect([await listed(owner), await listed(other), await listed(admin)]).toEqual([
    true,
    false,
    true,
  ])
  expect(await statusOf('GET', `${ONE}/${id}`, other)).toBe(404)
  expect((await ask(other, id)).status).toBe(404)
  expect(await statusOf('DELETE', `${ONE}/${id}`, other)).toBe(404)
  expect((await ask(admin, id)).status).toBe(200)
  expect((await ask(owner, id)).status).toBe(200)
  const { body } = await t.send('GET', `${ONE}/${id}`, undefined, owner)
  expect((body as { turn_count: number }).turn_count).toBe(3)
  expect(await statusOf('DELETE', `${ONE}/${id}`, owner)).toBe(204)
})

test('a conversation begun without a key is visible to admins and to callers without a key', async () => {
  const { conversation_id: id } = await ask({})
  expect(await statusOf('GET', `${ONE}/${id}`, owner)).toBe(404)
  expect((await ask(owner, id)).status).toBe(404)
  expect(await statusOf('GET', `${ONE}/${id}`, admin)).toBe(200)
  expect(await statusOf('GET', `${ONE}/${id}`, {})).toBe(200)
})

test('traces and feedback are visible only to the caller who asked', async () => {
  const { trace_id: id } = await ask(owner, 'new', 'Does the zebra hum?')
  for (const [headers, status] of [
    [owner, 200],
    [other, 404],
    [admin, 200],
    [{}, 200],
  ] as const) {
    expect(await statusOf('GET', `/api/traces/${id}`, headers)).toBe(status)
    const rated = await t.send('POST', `/api/traces/${id}/feedback`, { rating: 1 }, headers)
    expect(rated.status).toBe(status)
    const list = await t.send('GET', '/api/traces', undefined, headers)
    expect(list.text.includes(id)).toBe(status === 200)
  }
})

test('SQL shows the same ones', async () => {
  const { trace_id: id } = await ask(owner, 'new', 'Does the giraffe hum?')
  await t.send('POST', `/api/traces/${id}/feedback`, { rating: 1, comment: 'giraffe' }, owner)
  for (const table of ['traces', 'trace_steps', 'trace_feedback', 'conversation_turns']) {
    const query = `SELECT * FROM information_schema.${table}`
    const seen = []
    for (const headers of [owner, other, admin, {}, other]) {
      const { text } = await t.send('POST', '/api/sql/query', { query }, headers)
      seen.push(text.includes(id))
    }
    expect([table, ...seen]).toEqual([table, true, false, true, true, false])
  }
})

test('a response belongs to its asker', async () => {
  const body = { model: 'open.kettle_agent', input: 'What hums?' }
  const { body: said } = await t.send('POST', '/v1/responses', body, owner)
  const { id } = said as { id: string }
  expect(await statusOf('GET', `/v1/responses/${id}`, owner)).toBe(200)
  expect(await statusOf('GET', `/v1/responses/${id}`, other)).toBe(404)
  const next = { ...body, previous_response_id: id }
  expect((await t.send('POST', '/v1/responses', next, other)).status).toBe(404)
  expect((await t.send('POST', '/v1/responses', next, owner)).status).toBe(200)
})

test('an agent asked over MCP continues only its own conversations', async () => {
  const { conversation_id: id } = await ask(owner)
  const call = async (headers: HeadersInit) => {
    const args = { agent: 'open.kettle_agent', question: 'And then?', conversation_id: id }
    const params = { name: 'ask_agent', arguments: args }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const accept = { accept: 'application/json, text/event-stream' }
    return (await t.send('POST', '/mcp', message, { ...accept, ...headers })).text
  }
  expect(await call(other)).toContain('conversation_not_found')
  expect(await call(owner)).not.toContain('conversation_not_found')
})
