import { expect, test } from 'bun:test'
import { anthropicChat } from '../../src/models/providers/anthropic-chat.ts'
import {
  callsOf,
  endpointAt,
  heard,
  LAST_TURN,
  QUESTION,
  QUICK_LIMITS,
  textOf,
} from './fixtures/chat-support.ts'
import {
  eventStream,
  failure,
  scriptedServer,
  stalledStream,
  thrownBy,
} from './fixtures/scripted-server.ts'

const KEY = 'sk-ant-api03-Qw77zzPLm221'

const chatAt = (url: string, limits = QUICK_LIMITS) => {
  return anthropicChat({ endpoint: endpointAt(url, KEY), modelName: 'claude-small', limits })
}

const START = {
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} },
}
const STOP = { type: 'message_stop' }
const block = (index: number, content_block: unknown) => {
  return { type: 'content_block_start', index, content_block }
}
const delta = (index: number, piece: unknown) => {
  return { type: 'content_block_delta', index, delta: piece }
}
const text = (index: number, words: string) => delta(index, { type: 'text_delta', text: words })
const json = (index: number, part: string) => {
  return delta(index, { type: 'input_json_delta', partial_json: part })
}
const streaming = (...payloads: readonly unknown[]) => {
  return () => eventStream([START, { type: 'ping' }, ...payloads], { named: true })
}

test('streams text, then whole tool calls', async () => {
  await using server = scriptedServer(
    streaming(
      block(0, { type: 'text', text: '' }),
      text(0, 'I look '),
      text(0, 'it up'),
      { type: 'content_block_stop', index: 0 },
      block(1, { type: 'tool_use', id: 'toolu_1', name: 'kb_query_tool', input: {} }),
      json(1, '{"sql_query":'),
      json(1, ' "SELECT 1"}'),
      { type: 'content_block_stop', index: 1 },
      block(2, { type: 'tool_use', id: 'toolu_2', name: 'kb_list_tool', input: {} }),
      json(2, ''),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      STOP,
    ),
  )
  expect(await heard(chatAt(server.url), QUESTION)).toEqual([
    { kind: 'text', text: 'I look ' },
    { kind: 'text', text: 'it up' },
    { kind: 'tool_call', call: { id: 'toolu_1', name: 'kb_query_tool', input: 'SELECT 1' } },
    { kind: 'tool_call', call: { id: 'toolu_2', name: 'kb_list_tool', input: '' } },
    { kind: 'end', finish: 'tool_calls', usage: null, warnings: [] },
  ])
  const [request] = server.seen
  expect(request?.path).toBe('/v1/messages')
  expect(request?.headers.get('x-api-key')).toBe(KEY)
  expect(request?.headers.get('authorization')).toBe(`Bearer ${KEY}`)
  expect(request?.body).toEqual({
    model: 'claude-small',
    max_tokens: 8192,
    stream: true,
    system: [{ type: 'text', text: 'Be brief', cache_control: { type: 'ephemeral' } }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'What is new?' }] }],
    tools: [
      {
        name: 'kb_list_tool',
        description: 'Lists',
        input_schema: { type: 'object', properties: {}, required: [] },
      },
      {
        name: 'kb_query_tool',
        description: 'Runs SQL',
        input_schema: {
          type: 'object',
          properties: { sql_query: { type: 'string', description: 'One SELECT' } },
          required: ['sql_query'],
        },
      },
    ],
  })
})

test.each(['', '/', '/v1', '/v1/', '/v1/messages'])(
  'accepts the address with "%s"',
  async (tail) => {
    await using server = scriptedServer(streaming(block(0, { type: 'text', text: 'ok' }), STOP))
    expect(textOf(await heard(chatAt(server.url + tail), QUESTION))).toBe('ok')
    expect(server.seen[0]?.path).toBe('/v1/messages')
  },
)

test('sends all results of a turn in one user message, and keeps the tools defined', async () => {
  await using server = scriptedServer(streaming(text(0, 'ok'), STOP))
  await heard(chatAt(server.url), LAST_TURN)
  const body = server.seen[0]?.body
  expect(Array.isArray(body?.messages) ? body.messages.slice(1) : []).toEqual([
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me look' },
        { type: 'tool_use', id: 'c1', name: 'kb_list_tool', input: {} },
        { type: 'tool_use', id: 'c2', name: 'made_up_', input: { input: 'SELECT 1' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: '["mindsdb.docs"]' },
        { type: 'tool_result', tool_use_id: 'c2', content: 'made up! is not a valid tool' },
        { type: 'text', text: 'Answer now' },
      ],
    },
  ])
  expect(body?.tools).toHaveLength(2)
  expect(body?.tool_choice).toEqual({ type: 'none' })
})

test('an empty turn of the history is left out', async () => {
  await using server = scriptedServer(streaming(text(0, 'ok'), STOP))
  await heard(chatAt(server.url), {
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: '', toolCalls: [] },
      { role: 'user', content: 'two' },
    ],
    tools: [],
  })
  expect(server.seen[0]?.body.messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    },
  ])
  expect(server.seen[0]?.body.tools).toBeUndefined()
})

test('takes the whole message of a server that does not stream', async () => {
  const content = [
    { type: 'text', text: 'whole' },
    { type: 'tool_use', id: 't', name: 'kb_query_tool', input: { sql_query: 'SELECT 2' } },
  ]
  await using server = scriptedServer(() => Response.json({ type: 'message', content }))
  const deltas = await heard(chatAt(server.url), QUESTION)
  expect(textOf(deltas)).toBe('whole')
  expect(callsOf(deltas)).toEqual([{ id: 't', name: 'kb_query_tool', input: 'SELECT 2' }])
})

test('malformed arguments are handed on as they are', async () => {
  await using server = scriptedServer(
    streaming(
      block(0, { type: 'tool_use', id: 't', name: 'kb_query_tool', input: {} }),
      json(0, '{"sql_query": "SEL'),
      STOP,
    ),
  )
  const [call] = callsOf(await heard(chatAt(server.url), QUESTION))
  expect(call?.input).toBe('{"sql_query": "SEL')
})

test.each([
  ['ends before its stop', streaming(text(0, 'half'))],
  [
    'holds an error',
    streaming(text(0, 'half'), {
      type: 'error',
      error: { type: 'overloaded_error', message: `busy ${KEY}` },
    }),
  ],
  [
    'is no JSON',
    () =>
      new Response('event: message_start\ndata: {"a\n\n', {
        headers: { 'content-type': 'text/event-stream' },
      }),
  ],
  ['is HTML', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
])('a stream that %s is a failure', async (_, reply) => {
  await using server = scriptedServer(reply)
  const error = await thrownBy(heard(chatAt(server.url), QUESTION))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toContain(`${server.url}/v1/messages`)
  expect(Bun.inspect(error)).not.toContain(KEY)
})

test('a stream that stalls times out, and its connection is closed', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = scriptedServer((request) => {
    request.signal.addEventListener('abort', () => closed.resolve())
    return stalledStream([START, text(0, 'half')], true)
  })
  const error = await thrownBy(heard(chatAt(server.url, { ...QUICK_LIMITS, idleMs: 50 }), QUESTION))
  expect(error).toMatchObject({ code: 'timeout' })
  await closed.promise
})

test('an abort in the middle throws its reason and closes the connection', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = scriptedServer((request) => {
    request.signal.addEventListener('abort', () => closed.resolve())
    return stalledStream([START, text(0, 'half')], true)
  })
  const stop = new AbortController()
  const reason = new Error('client went away')
  const reading = (async () => {
    for await (const piece of chatAt(server.url).respond(QUESTION, stop.signal)) {
      expect(piece).toEqual({ kind: 'text', text: 'half' })
      stop.abort(reason)
    }
  })()
  expect(await thrownBy(reading)).toBe(reason)
  await closed.promise
})

test.each([
  [401, 'provider_refused', 1],
  [404, 'provider_refused', 1],
  [429, 'provider_busy', 3],
  [529, 'provider_failed', 3],
])('%i is %s after %i tries', async (status, code, tries) => {
  await using server = scriptedServer(() => {
    return failure(status, `wrong key ${KEY}`, { 'retry-after-ms': '1' })
  })
  const error = await thrownBy(heard(chatAt(server.url), QUESTION))
  expect(error).toMatchObject({ code })
  expect(String(error)).toContain(`${server.url}/v1/messages answered ${status}: wrong key`)
  expect(Bun.inspect(error)).not.toContain(KEY)
  expect(server.seen).toHaveLength(tries)
})

test('overloaded as the first event of a stream is tried again like the status', async () => {
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  await using server = scriptedServer(() => eventStream([overloaded], { named: true }))
  const limits = { ...QUICK_LIMITS, delayMs: 1 }
  const model = anthropicChat({ endpoint: endpointAt(server.url, KEY), modelName: 'm', limits })
  const error = await thrownBy(heard(model, QUESTION))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toContain('answered 529: Overloaded')
  expect(server.seen).toHaveLength(3)
})
