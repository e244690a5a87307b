import { expect, test } from 'bun:test'
import { openaiChat } from '../../src/models/providers/openai-chat.ts'
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

const KEY = 'sk-proj-Zx81kQpTTvv09LmNq77'

const chatAt = (url: string, limits = QUICK_LIMITS) => {
  return openaiChat({ endpoint: endpointAt(url, KEY), modelName: 'chat-small', limits })
}
const piece = (delta: unknown, finish: string | null = null) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const toolPiece = (call: unknown) => piece({ tool_calls: [call] })
const streaming =
  (...payloads: readonly unknown[]) =>
  () =>
    eventStream([...payloads, '[DONE]'])

test('streams text piece by piece and sends the question with its tools', async () => {
  await using server = scriptedServer(
    streaming(
      piece({ role: 'assistant', content: '' }),
      piece({ content: 'Not ' }),
      piece({ content: 'much' }),
      piece({}, 'stop'),
    ),
  )
  const deltas = await heard(chatAt(server.url), QUESTION)
  expect(deltas).toEqual([
    { kind: 'text', text: 'Not ' },
    { kind: 'text', text: 'much' },
    { kind: 'end', finish: 'stop', usage: null, warnings: [] },
  ])
  const [request] = server.seen
  expect(request?.path).toBe('/v1/chat/completions')
  expect(request?.body).toEqual({
    model: 'chat-small',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'What is new?' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'kb_list_tool',
          description: 'Lists',
          parameters: { type: 'object', properties: {}, required: [] },
        },
      },
      {
        type: 'function',
        function: {
          name: 'kb_query_tool',
          description: 'Runs SQL',
          parameters: {
            type: 'object',
            properties: { sql_query: { type: 'string', description: 'One SELECT' } },
            required: ['sql_query'],
          },
        },
      },
    ],
  })
})

test('puts two tool calls together from their pieces', async () => {
  await using server = scriptedServer(
    streaming(
      toolPiece({
        index: 0,
        id: 'a',
        type: 'function',
        function: { name: 'kb_list_tool', arguments: '' },
      }),
      toolPiece({
        index: 1,
        id: 'b',
        type: 'function',
        function: { name: 'kb_query_tool', arguments: '' },
      }),
      toolPiece({ index: 1, function: { arguments: '{"sql_qu' } }),
      toolPiece({ index: 0, function: { arguments: '{}' } }),
      toolPiece({ index: 1, function: { arguments: 'ery":"SELECT 1"}' } }),
      piece({}, 'tool_calls'),
    ),
  )
  expect(await heard(chatAt(server.url), QUESTION)).toEqual([
    { kind: 'tool_call', call: { id: 'a', name: 'kb_list_tool', input: '' } },
    { kind: 'tool_call', call: { id: 'b', name: 'kb_query_tool', input: 'SELECT 1' } },
    { kind: 'end', finish: 'tool_calls', usage: null, warnings: [] },
  ])
})

test.each([
  [
    'no index and no id',
    [
      { function: { name: 'kb_query_tool', arguments: '{"sql_query":"A"}' } },
      { function: { name: 'kb_query_tool', arguments: '{"sql_query":"B"}' } },
    ],
    ['call00001', 'call00002'],
  ],
  [
    'one index for two calls',
    [
      { index: 0, id: 'x', function: { name: 'kb_query_tool', arguments: '{"sql_query":"A"}' } },
      { index: 0, id: 'y', function: { name: 'kb_query_tool', arguments: '{"sql_query":"B"}' } },
    ],
    ['x', 'y'],
  ],
  [
    'arguments as an object',
    [
      { index: 0, id: 'x', function: { name: 'kb_query_tool', arguments: { sql_query: 'A' } } },
      { index: 1, id: 'y', function: { name: 'kb_query_tool', arguments: { sql_query: 'B' } } },
    ],
    ['x', 'y'],
  ],
])('understands a server that sends %s', async (_, calls, ids) => {
  await using server = scriptedServer(streaming(...calls.map(toolPiece), piece({}, 'tool_calls')))
  const found = callsOf(await heard(chatAt(server.url), QUESTION))
  expect(found.map((call) => call.input)).toEqual(['A', 'B'])
  expect(found.map((call) => call.id)).toEqual(ids)
})

test.each([
  ['{"sql_query": "SELECT', '{"sql_query": "SELECT'],
  ['SELECT 1', 'SELECT 1'],
  ['["SELECT 1"]', '["SELECT 1"]'],
  ['{"query":"SELECT 1"}', 'SELECT 1'],
  ['{"sql_query":7}', '{"sql_query":7}'],
  ['{}', ''],
])('arguments %s become the input %s', async (written, input) => {
  const call = { index: 0, id: 'a', function: { name: 'kb_query_tool', arguments: written } }
  await using server = scriptedServer(streaming(toolPiece(call), piece({}, 'tool_calls')))
  expect(callsOf(await heard(chatAt(server.url), QUESTION))[0]?.input).toBe(input)
})

test('sends earlier calls and results back, and a late instruction as the user', async () => {
  await using server = scriptedServer(streaming(piece({ content: 'ok' }, 'stop')))
  await heard(chatAt(server.url), LAST_TURN)
  expect(server.seen[0]?.body.tools).toBeUndefined()
  const messages = server.seen[0]?.body.messages
  expect(Array.isArray(messages) ? messages.slice(2) : []).toEqual([
    {
      role: 'assistant',
      content: 'Let me look',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'kb_list_tool', arguments: '{}' } },
        {
          id: 'c2',
          type: 'function',
          function: { name: 'made_up_', arguments: '{"input":"SELECT 1"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: '["mindsdb.docs"]' },
    { role: 'tool', tool_call_id: 'c2', content: 'made up! is not a valid tool' },
    { role: 'user', content: 'Answer now' },
  ])
})

test('takes the whole answer of a server that does not stream', async () => {
  const message = {
    role: 'assistant',
    content: 'whole',
    tool_calls: [
      { id: 'z', type: 'function', function: { name: 'kb_list_tool', arguments: '{}' } },
    ],
  }
  await using server = scriptedServer(() => {
    return Response.json({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
  })
  const deltas = await heard(chatAt(server.url), QUESTION)
  expect(textOf(deltas)).toBe('whole')
  expect(callsOf(deltas)).toEqual([{ id: 'z', name: 'kb_list_tool', input: '' }])
})

test.each([
  [
    'an error',
    { error: { message: `no key ${KEY}`, code: 401 } },
    'provider_refused',
    'no key ******',
  ],
  ['an error in one word', { error: `busy ${KEY}` }, 'provider_failed', 'busy ******'],
])('%s that comes with the status 200 is reported as a failure', async (_, body, code, words) => {
  await using server = scriptedServer(() => Response.json(body))
  const error = await thrownBy(heard(chatAt(server.url), QUESTION))
  expect(error).toMatchObject({ code, message: expect.stringContaining(words) })
  expect(String(error)).not.toContain(KEY)
})

test('a web page is not an answer, and is named as the failure', async () => {
  const headers = { 'content-type': 'text/html; charset=utf-8' }
  await using server = scriptedServer(() => new Response(`<html>${KEY}</html>`, { headers }))
  const error = await thrownBy(heard(chatAt(server.url), QUESTION))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toEndWith(
    'failed: the answer was a web page, so this is not the address of a model',
  )
})

test('a server that is down is reported with what to check', async () => {
  const error = await thrownBy(heard(chatAt('http://127.0.0.1:9'), QUESTION))
  expect(error).toMatchObject({
    code: 'provider_failed',
    message:
      'http://127.0.0.1:9/v1/chat/completions failed: the connection is refused; check the port, and that the server is running',
  })
})

test('an answer of an unknown form is reported without the words of the code that read it', async () => {
  await using server = scriptedServer(streaming({ choices: [null] }))
  const error = await thrownBy(heard(chatAt(server.url), QUESTION))
  expect(String(error)).not.toContain('evaluating')
})

test('empty choices between and after the pieces do no harm', async () => {
  const usage = { choices: [], usage: { total_tokens: 3 } }
  await using server = scriptedServer(
    streaming(usage, piece({ content: 'a' }), piece({ content: null }, 'stop'), usage),
  )
  expect(textOf(await heard(chatAt(server.url), QUESTION))).toBe('a')
})

test.each([
  ['ends without a finish', () => eventStream([piece({ content: 'half' })])],
  ['says DONE without a finish', streaming(piece({ content: 'half' }))],
  ['is empty', () => eventStream([])],
  ['is no JSON', () => eventStream(['{"choices": [', '[DONE]'])],
  ['is a list', () => Response.json([])],
  [
    'holds an error',
    streaming(piece({ content: 'half' }), { error: { message: `overloaded ${KEY}` } }),
  ],
])('a stream that %s is a failure', async (_, reply) => {
  await using server = scriptedServer(reply)
  const error = await thrownBy(heard(chatAt(server.url), QUESTION))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toContain(`${server.url}/v1/chat/completions`)
  expect(Bun.inspect(error)).not.toContain(KEY)
})

test('a connection that breaks in the middle is a failure', async () => {
  await using server = scriptedServer(() => stalledStream([piece({ content: 'half' })]))
  const reading = (async () => {
    const deltas = chatAt(server.url).respond(QUESTION, new AbortController().signal)
    for await (const _ of deltas) await server[Symbol.asyncDispose]()
  })()
  expect(await thrownBy(reading)).toMatchObject({ code: 'provider_failed' })
})

test('a stream that stalls times out, and its connection is closed', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = scriptedServer((request) => {
    request.signal.addEventListener('abort', () => closed.resolve())
    return stalledStream([piece({ content: 'half' })])
  })
  const error = await thrownBy(heard(chatAt(server.url, { ...QUICK_LIMITS, idleMs: 50 }), QUESTION))
  expect(error).toMatchObject({ code: 'timeout' })
  await closed.promise
})

test('a server that never begins times out', async () => {
  await using server = scriptedServer(() => new Promise<Response>(() => undefined))
  const limits = { ...QUICK_LIMITS, timeoutMs: 50, retriesMax: 0 }
  const error = await thrownBy(heard(chatAt(server.url, limits), QUESTION))
  expect(error).toMatchObject({ code: 'timeout' })
  expect(String(error)).toContain('did not start its answer within 50 ms')
})

test('an abort in the middle throws its reason and closes the connection', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = scriptedServer((request) => {
    request.signal.addEventListener('abort', () => closed.resolve())
    return stalledStream([piece({ content: 'half' })])
  })
  const stop = new AbortController()
  const reason = new Error('client went away')
  const reading = (async () => {
    for await (const delta of chatAt(server.url).respond(QUESTION, stop.signal)) {
      expect(delta).toEqual({ kind: 'text', text: 'half' })
      stop.abort(reason)
    }
  })()
  expect(await thrownBy(reading)).toBe(reason)
  await closed.promise
})

test('reading only part of the answer closes the connection', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = scriptedServer((request) => {
    request.signal.addEventListener('abort', () => closed.resolve())
    return stalledStream([piece({ content: 'half' })])
  })
  for await (const _ of chatAt(server.url).respond(QUESTION, new AbortController().signal)) break
  await closed.promise
})

test.each([
  [401, 'provider_refused', 1],
  [403, 'provider_refused', 1],
  [404, 'provider_refused', 1],
  [429, 'provider_busy', 3],
  [500, 'provider_failed', 3],
])('%i is %s after %i tries', async (status, code, tries) => {
  await using server = scriptedServer(() => {
    return failure(status, `wrong key ${KEY}`, { 'retry-after-ms': '1' })
  })
  const error = await thrownBy(heard(chatAt(server.url), QUESTION))
  expect(error).toMatchObject({ code })
  expect(String(error)).toContain(`${server.url}/v1/chat/completions answered ${status}: wrong key`)
  expect(Bun.inspect(error)).not.toContain(KEY)
  expect(server.seen).toHaveLength(tries)
})

test('a call that the server itself could not read is asked for once more', async () => {
  const unreadable = () => {
    const error = { message: 'Failed to call a function', code: 'tool_use_failed' }
    return Response.json({ error: { ...error, failed_generation: '<function=x' } }, { status: 400 })
  }
  await using server = scriptedServer(unreadable, streaming(piece({ content: 'Done' }, 'stop')))
  expect(textOf(await heard(chatAt(server.url), QUESTION))).toBe('Done')
  await using stubborn = scriptedServer(unreadable)
  const error = await thrownBy(heard(chatAt(stubborn.url), QUESTION))
  expect(error).toMatchObject({ code: 'provider_refused' })
  expect(stubborn.seen).toHaveLength(2)
})

test('the form of an answer is sent, and left out where the server refuses it', async () => {
  const responseFormat = { name: 'answer', schema: { type: 'object' } }
  const refusal = () => failure(400, "'response_format' of type 'json_schema' is not supported")
  await using server = scriptedServer(refusal, streaming(piece({ content: '{}' }, 'stop')))
  const deltas = await heard(chatAt(server.url), { ...QUESTION, responseFormat })
  expect(textOf(deltas)).toBe('{}')
  expect(server.seen[0]?.body.response_format).toMatchObject({
    type: 'json_schema',
    json_schema: { name: 'answer', schema: { type: 'object' } },
  })
  expect(server.seen[1]?.body).not.toHaveProperty('response_format')
  const warning = expect.stringContaining('without response_format')
  expect(deltas.at(-1)).toMatchObject({ kind: 'end', warnings: [warning] })
})
