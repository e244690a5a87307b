/** `/mcp` at the level of the protocol: sessions, refusals and limits. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ isInProcess: true })
  const path = '/api/projects/mindsdb/knowledge_bases'
  await app.send('POST', path, { knowledge_base: { name: 'docs' } })
  const rows = [{ id: 'tea', content: 'Green tea needs 80 degrees' }]
  await app.send('PUT', `${path}/docs`, { knowledge_base: { rows } })
})

afterAll(() => app.close())

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

interface Sent {
  readonly status: number
  readonly headers: Headers
  /** The messages in the answer. */
  readonly messages: readonly Readonly<Record<string, unknown>>[]
  readonly text: string
}

async function post(body: unknown, headers: Record<string, string> = {}): Promise<Sent> {
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await app.send('POST', '/mcp', sent, { ...HEADERS, ...headers })
  return read(answer)
}

function read({ status, headers, text }: Omit<Sent, 'messages'>): Sent {
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
  const lines = isStream ? text.split('\n').filter((line) => line.startsWith('data: ')) : [text]
  const json = lines.map((line) => line.replace(/^data: /, '')).filter((line) => line !== '')
  return { status, headers, text, messages: json.map((line) => JSON.parse(line)) }
}

const request = (method: string, params: unknown = {}, id: unknown = 1) => {
  return { jsonrpc: '2.0', id, method, params }
}

const INITIALIZE = request('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'a test', version: '1' },
})

async function session(): Promise<Record<string, string>> {
  const { headers } = await post(INITIALIZE)
  const id = headers.get('mcp-session-id') ?? ''
  expect(id).not.toBe('')
  return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-06-18' }
}

const call = (name: string, args: unknown, id: unknown = 1) => {
  return request('tools/call', { name, arguments: args }, id)
}

async function called(name: string, args: unknown) {
  const { messages } = await post(call(name, args))
  return messages[0]?.result as {
    readonly isError?: boolean
    readonly content: readonly { readonly text: string }[]
    readonly structuredContent?: Readonly<Record<string, unknown>>
    readonly _meta?: Readonly<Record<string, unknown>>
  }
}

describe('a request without a session', () => {
  test('is answered by itself', async () => {
    const { status, messages, headers } = await post(request('tools/list', {}, 'a'))
    expect(status).toBe(200)
    expect(headers.get('mcp-session-id')).toBeNull()
    expect(messages).toMatchObject([{ id: 'a', result: { tools: expect.any(Array) } }])
  })

  test('a list of them is answered with all answers', async () => {
    const { messages } = await post([request('ping', {}, 1), request('prompts/list', {}, 2)])
    expect(messages.map(({ id }) => id).toSorted()).toEqual([1, 2])
  })

  test('a notification has no answer', async () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/initialized' }
    expect(await post(notification)).toMatchObject({ status: 202, text: '' })
  })

  test('an unknown method gets an error', async () => {
    const { messages } = await post(request('no/such'))
    expect(messages).toMatchObject([{ error: { code: -32601 } }])
  })
})

describe('a session', () => {
  test('is opened, used and ended', async () => {
    const own = await session()
    expect(await post(request('ping'), own)).toMatchObject({ status: 200 })
    expect(await app.send('DELETE', '/mcp', undefined, own)).toMatchObject({ status: 200 })
  })

  test('that this process did not open is answered: it may have restarted', async () => {
    const headers = { 'mcp-session-id': crypto.randomUUID() }
    expect(await post(request('ping'), headers)).toMatchObject({ status: 200 })
  })

  test('an unknown protocol version is 400', async () => {
    const own = await session()
    const answer = await post(request('ping'), { ...own, 'mcp-protocol-version': '1999-01-01' })
    expect(answer).toMatchObject({ status: 400 })
  })

  test('has no stream of its own, as the protocol allows', async () => {
    const headers = { ...(await session()), accept: 'text/event-stream' }
    const { status, headers: answered } = await app.send('GET', '/mcp', undefined, headers)
    expect(status).toBe(405)
    expect(answered.get('allow')).toBe('POST, DELETE, OPTIONS')
  })

  test('is needed to end one', async () => {
    expect(await app.send('DELETE', '/mcp')).toMatchObject({ status: 400 })
  })
})

describe('an invalid message', () => {
  test.each([
    ['no JSON', '{"jsonrpc":', 400, -32700],
    ['a number', '7', 400, -32700],
    ['an empty list', '[]', 400, -32700],
    ['a message of another protocol', '{"method":"ping","id":1}', 400, -32700],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32700],
  ])('%s is refused', async (_name, body, status, code) => {
    const answer = await post(body)
    expect(answer).toMatchObject({ status, messages: [{ error: { code } }] })
  })

  test('two requests of one body with one id', async () => {
    expect(await post([request('ping'), request('ping')])).toMatchObject({ status: 400 })
  })

  test('more messages than a body may hold', async () => {
    const many = Array.from({ length: 51 }, (_, id) => request('ping', {}, id))
    expect(await post(many)).toMatchObject({ status: 400 })
  })

  test('another content type, and an answer that the client does not take', async () => {
    expect(await post('{}', { 'content-type': 'text/plain' })).toMatchObject({ status: 415 })
    expect(await post(request('ping'), { accept: 'text/html' })).toMatchObject({ status: 406 })
  })

  test('a body that is too large', async () => {
    const large = request('ping', { text: 'x'.repeat(9 * 1024 * 1024) })
    const { status, text } = await post(large)
    expect(status).toBe(413)
    // No setting changes this limit.
    expect(text).not.toContain('EIDER_BODY_BYTES_MAX')
  })

  test('an unknown method', async () => {
    expect(await app.send('PUT', '/mcp', {})).toMatchObject({ status: 405 })
  })
})

describe('pages of other sites', () => {
  test.each(['POST', 'DELETE'])('%s is refused', async (method) => {
    const headers = { ...HEADERS, ...(await session()), origin: 'http://evil.example' }
    const body = method === 'POST' ? request('ping') : undefined
    expect(await app.send(method, '/mcp', body, headers)).toMatchObject({ status: 403 })
  })

  test('so is a name that was made to resolve to this machine', async () => {
    expect(await post(request('ping'), { host: 'evil.example' })).toMatchObject({ status: 403 })
  })
})

describe('a tool that fails', () => {
  test.each([
    ['search', { query: 'x', knowledge_base: 'nothing' }, 'knowledge_base_not_found'],
    ['search', {}, 'invalid_request'],
    ['search', { query: 'x', top: 3 }, 'unknown_field'],
    ['search', { query: 'x', limit: 'many' }, 'invalid_request'],
    ['fetch', { id: 'tea' }, 'invalid_request'],
    ['fetch', { id: 'eider://documents/mindsdb/docs/none' }, 'document_not_found'],
    ['query', { sql: 'SELECT * FROM nothing' }, 'sql_unknown_name'],
    ['query', { sql: 'DELETE FROM docs' }, 'sql_not_supported'],
    ['query', { sql: 'SELECT 1; SELECT 2' }, 'sql_not_supported'],
    ['ask_agent', { agent: 'nobody', question: 'Who?' }, 'agent_not_found'],
  ])('%s %j says %s', async (name, args, code) => {
    const result = await called(name, args)
    expect(result).toMatchObject({ isError: true, _meta: { 'eider/code': code } })
    expect(result.content[0]?.text).toContain(code)
  })

  test('names the arguments that are missing', async () => {
    const { content } = await called('ask_agent', { agent: 'nobody' })
    expect(content[0]?.text).toContain("ask_agent: argument must have required property 'question'")
    const typed = await called('search', { query: 'x', limit: 'many' })
    expect(typed.content[0]?.text).toContain('search: argument limit must be integer')
  })

  test('an unknown one is a protocol error that names the known ones', async () => {
    const { messages } = await post(call('drop_everything', {}))
    expect(messages).toMatchObject([{ error: { code: -32602 } }])
    expect(JSON.stringify(messages)).toContain('search, fetch, query')
  })
})

describe('the tools', () => {
  test('null means an omitted argument', async () => {
    const result = await called('search', { query: 'green tea', limit: null, filters: null })
    expect(result.structuredContent?.results).toHaveLength(1)
  })

  test('search answers as chat clients expect it: one text that is JSON', async () => {
    const { content, structuredContent } = await called('search', { query: 'green tea' })
    expect(content).toHaveLength(1)
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent)
    expect(structuredContent).toMatchObject({
      results: [
        {
          id: 'eider://documents/mindsdb/docs/tea',
          title: 'tea',
          url: 'http://localhost/api/projects/mindsdb/knowledge_bases/docs/documents/tea',
          text: 'Green tea needs 80 degrees',
        },
      ],
    })
  })

  test('fetch reads a long document part by part', async () => {
    const id = 'eider://documents/mindsdb/docs/tea'
    const first = await called('fetch', { id, max_chars: 9 })
    expect(first.structuredContent).toMatchObject({
      text: 'Green tea',
      metadata: { next_offset: 9, total_chars: 26 },
    })
    const rest = await called('fetch', { id, offset: 9 })
    expect(rest.structuredContent).toMatchObject({
      text: ' needs 80 degrees',
      metadata: { next_offset: null },
    })
  })

  test('query cuts long answers at their bytes, and says so', async () => {
    const sql = `SELECT repeat('x', 3000) AS text FROM range(100)`
    const { structuredContent } = await called('query', { sql })
    expect(structuredContent).toMatchObject({ has_more: true, row_count: 21 })
    expect(structuredContent?.note).toContain('bytes')
  })
})
