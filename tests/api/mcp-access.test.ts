/** What a key may do over `/mcp`, and when the work of a call ends. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chatServer } from '../agents/chat-server.ts'
import { makeKey } from '../support/access-keys.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

type Sent = Readonly<Record<string, string>>
type Json = Readonly<Record<string, unknown>>

const LONG = 'SELECT count(*) FROM range(10000000000) a, range(100) b'

let app: TestApp
let admin: Sent

beforeAll(async () => {
  const environment = {
    ...{ EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'secret' },
    EIDER_NETWORK_ALLOW: '127.0.0.1',
  }
  app = await createTestApp({ isInProcess: true, environment })
  const login = { username: 'ada', password: 'secret' }
  const { body } = await app.send('POST', '/api/login', login)
  admin = { authorization: `Bearer ${(body as { token: string }).token}` }
  await app.send('POST', '/api/projects', { project: { name: 'shop' } }, admin)
  for (const [project, word] of [
    ['mindsdb', 'tea'],
    ['shop', 'coffee'],
  ]) {
    const path = `/api/projects/${project}/knowledge_bases`
    await app.send('POST', path, { knowledge_base: { name: 'docs' } }, admin)
    const rows = [{ id: word, content: `A text about ${word}` }]
    await app.send('PUT', `${path}/docs`, { knowledge_base: { rows } }, admin)
    const agent = { name: 'helper', data: { knowledge_bases: [`${project}.docs`] } }
    await app.send('POST', `/api/projects/${project}/agents`, { agent }, admin)
  }
})

afterAll(() => app.close())

function request(body: unknown, headers: Sent, signal?: AbortSignal): Request {
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...(body as Json) }),
    ...(signal === undefined ? {} : { signal }),
  })
}

async function result(method: string, params: unknown, headers: Sent): Promise<Json> {
  const response = await app.app.handle(request({ id: 1, method, params }, headers))
  const text = await response.text()
  const [, json = ''] = /^data: (.*)$/m.exec(text) ?? []
  return JSON.parse(json) as Json
}

async function tools(headers: Sent): Promise<readonly string[]> {
  const { result: listed } = await result('tools/list', {}, headers)
  return (listed as { tools: { name: string }[] }).tools.map(({ name }) => name)
}

async function call(name: string, args: unknown, headers: Sent) {
  const { result: called } = await result('tools/call', { name, arguments: args }, headers)
  const { structuredContent, _meta } = called as { structuredContent?: Json; _meta?: Json }
  const code = _meta?.['eider/code']
  return { code, ...structuredContent } as { code?: unknown; items?: unknown; results?: unknown }
}

async function session(headers: Sent): Promise<Sent> {
  const clientInfo = { name: 'a test', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const response = await app.app.handle(request({ id: 1, method: 'initialize', params }, headers))
  await response.text()
  return { ...headers, 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }
}

describe('a key', () => {
  test('is needed where there is a login, and 401 says which kind', async () => {
    const response = await app.app.handle(request({ id: 1, method: 'ping' }, {}))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toStartWith('Bearer')
  })

  test('sees the tools of its scopes', async () => {
    const reads = ['search', 'fetch', 'query', 'list_data']
    const [reader, asker, writer] = await Promise.all(
      (['read', 'ask', 'write'] as const).map((scope) => makeKey(app, [scope], {}, admin)),
    )
    expect(await tools(reader?.headers ?? {})).toEqual(reads)
    expect(await tools(asker?.headers ?? {})).toEqual(['list_data', 'ask_agent'])
    expect(await tools(writer?.headers ?? {})).toEqual(['add_documents'])
    expect(await tools(admin)).toEqual([...reads, 'ask_agent', 'add_documents'])
  })

  test('gets "forbidden" for calling what it does not see', async () => {
    const { headers } = await makeKey(app, ['read'], {}, admin)
    const documents = [{ content: 'more' }]
    const added = await call('add_documents', { knowledge_base: 'docs', documents }, headers)
    expect(added.code).toBe('forbidden')
    const asked = await call('ask_agent', { agent: 'helper', question: 'What?' }, headers)
    expect(asked.code).toBe('forbidden')
  })

  test('that may only ask sees agents, and not what they read', async () => {
    const { headers } = await makeKey(app, ['ask'], { projects: ['shop'] }, admin)
    const { items } = await call('list_data', {}, headers)
    expect(items).toEqual([{ kind: 'agent', name: 'shop.helper', reads: ['shop.docs'] }])
    const listed = await result('resources/list', {}, headers)
    expect(listed).toMatchObject({ result: { resources: [] } })
  })

  test('of one project sees nothing of the others, by any way', async () => {
    const { headers } = await makeKey(app, ['read', 'ask', 'write'], { projects: ['shop'] }, admin)
    const { results } = await call('search', { query: 'a text about' }, headers)
    expect(results).toMatchObject([{ knowledge_base: 'shop.docs' }])
    const listed = JSON.stringify(await call('list_data', {}, headers))
    const resources = JSON.stringify(await result('resources/list', {}, headers))
    expect(listed + resources).not.toContain('mindsdb')
    const uri = 'eider://documents/mindsdb/docs/tea'
    expect((await call('fetch', { id: uri }, headers)).code).toBe('forbidden')
    expect(await result('resources/read', { uri }, headers)).toHaveProperty('error')
    const schema = { uri: 'eider://schemas/mindsdb/docs' }
    expect(await result('resources/read', schema, headers)).toHaveProperty('error')
    const sql = 'SELECT * FROM mindsdb.docs'
    expect((await call('query', { sql }, headers)).code).toBe('forbidden')
    const ask = { agent: 'mindsdb.helper', question: 'What?' }
    expect((await call('ask_agent', ask, headers)).code).toBe('forbidden')
    const added = { knowledge_base: 'mindsdb.docs', documents: [{ content: 'x' }] }
    expect((await call('add_documents', added, headers)).code).toBe('forbidden')
    const own = await call('query', { sql: 'SELECT id FROM docs' }, headers)
    expect(own).toMatchObject({ rows: [['coffee']] })
  })

  test('gets the same answer for an existing project and an unknown one', async () => {
    const { headers } = await makeKey(app, ['read'], { projects: ['shop'] }, admin)
    const [there, missing] = await Promise.all(
      ['mindsdb.docs', 'nothing.docs'].map((knowledge_base) => {
        return call('search', { query: 'x', knowledge_base }, headers)
      }),
    )
    expect([there?.code, missing?.code]).toEqual(['forbidden', 'forbidden'])
  })

  test('writes by add_documents alone: query only reads, for every key', async () => {
    for (const sql of [
      'DELETE FROM docs',
      '/* SELECT */ DROP PROJECT shop',
      'WITH a AS (SELECT 1) INSERT INTO docs SELECT 1',
      'EXPLAIN ANALYZE DELETE FROM docs',
      '(DROP PROJECT shop)',
    ]) {
      expect((await call('query', { sql }, admin)).code).toMatch(/^(sql_|forbidden)/)
    }
    expect(await call('query', { sql: 'SELECT id FROM docs' }, admin)).toMatchObject({
      rows: [['tea']],
    })
  })

  test('is checked with each request of a session', async () => {
    const one = await makeKey(app, ['read'], {}, admin)
    const own = await session(one.headers)
    const ping = { id: 1, method: 'ping' }
    expect((await app.app.handle(request(ping, own))).status).toBe(200)
    await app.send('DELETE', `/api/keys/${one.id}`, undefined, admin)
    expect((await app.app.handle(request(ping, own))).status).toBe(401)
  })
})

const running = () => app.store.engine.statementCounts().running

async function until(isThere: () => boolean): Promise<void> {
  // The test's own time limit applies.
  while (!isThere()) await Bun.sleep(2)
}

describe('a statement ends', () => {
  const params = { name: 'query', arguments: { sql: LONG } }
  const long = { id: 'long', method: 'tools/call', params }

  test('when the client cancels it and no longer waits for an answer', async () => {
    const own = await session(admin)
    const response = await app.app.handle(request(long, own))
    await until(() => running() === 1)
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 'long' } }
    expect((await app.app.handle(request(cancelled, own))).status).toBe(202)
    expect(await response.text()).toBe('')
    await until(() => running() === 0)
    expect((await app.app.handle(request({ id: 'long', method: 'ping' }, own))).status).toBe(200)
  })

  test('when the session ends, and not for another client that names it', async () => {
    const own = await session(admin)
    const other = await makeKey(app, ['read'], {}, admin)
    const stolen = { ...own, ...other.headers }
    const response = await app.app.handle(request(long, own))
    await until(() => running() === 1)
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 'long' } }
    expect((await app.app.handle(request(cancelled, stolen))).status).toBe(202)
    expect((await app.send('DELETE', '/mcp', undefined, stolen)).status).toBe(200)
    expect((await app.app.handle(request({ id: 'long', method: 'ping' }, own))).status).toBe(400)
    expect(running()).toBe(1)
    expect((await app.send('DELETE', '/mcp', undefined, own)).status).toBe(200)
    expect(await response.text()).toBe('')
    await until(() => running() === 0)
  })

  test('when the client goes away', async () => {
    const leaving = new AbortController()
    const response = await app.app.handle(request(long, admin, leaving.signal))
    await until(() => running() === 1)
    leaving.abort()
    await until(() => running() === 0)
    await response.text().catch(() => undefined)
  })
})

describe('a question to an agent ends', () => {
  const params = { name: 'ask_agent', arguments: { agent: 'slow', question: 'How hot?' } }
  const asked = { id: 'asked', method: 'tools/call', params }

  /** Creates an agent whose model begins an answer that never ends. */
  async function slowAgent() {
    const model = chatServer({ kind: 'stall' }, { kind: 'stall' })
    const named = { provider: 'openai', model_name: 'm', base_url: model.url }
    const agent = { name: 'slow', model: named, data: { knowledge_bases: ['mindsdb.docs'] } }
    const made = await app.send('POST', '/api/projects/mindsdb/agents', { agent }, admin)
    expect(made.status).toBe(201)
    return {
      ...model,
      // The test's own time limit applies.
      async hasEnded() {
        await model.hasLeft
        while ((await app.send('GET', '/api/agents/runs', undefined, admin)).text !== '[]') {
          await Bun.sleep(2)
        }
        model.close()
        await app.send('DELETE', '/api/projects/mindsdb/agents/slow', undefined, admin)
      },
    }
  }

  test('when the client cancels it', async () => {
    const model = await slowAgent()
    const own = await session(admin)
    const response = await app.app.handle(request(asked, own))
    await model.hasStalled
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 'asked' } }
    expect((await app.app.handle(request(cancelled, own))).status).toBe(202)
    expect(await response.text()).not.toContain('"result"')
    await model.hasEnded()
  })

  test('when its connection is closed', async () => {
    const model = await slowAgent()
    const listener = app.app.listen({ hostname: '127.0.0.1', port: 0 })
    const leaving = new AbortController()
    const { headers } = request(asked, admin)
    const body = JSON.stringify({ jsonrpc: '2.0', ...asked })
    const { signal } = leaving
    const sent = fetch(`${listener.url}mcp`, { method: 'POST', headers, body, signal })
    await model.hasStalled
    leaving.abort()
    await sent.then((answer) => answer.text()).catch(() => undefined)
    await model.hasEnded()
    await listener.stop(0)
  })
})
