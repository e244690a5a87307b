import { describe, expect, test } from 'bun:test'
import type { Answer } from '../../../src/agents/questions/completion-stream.ts'
import type { AskedQuestion } from '../../../src/agents/questions/conversations.ts'
import type { ServerDeps } from '../../../src/api/http/request/route-context.ts'
import type { CompletionEvent } from '../../../src/core/domain/agents/completion-event.ts'
import { AppError } from '../../../src/core/errors.ts'
import { answerOf, requestOf, send, TRACE_ID, testServer } from '../server-fixture.ts'

const CHAT = 'POST /v1/chat/completions'
const ASKED = [{ role: 'user', content: 'Which tea?' }]
const START = { type: 'start', prompt: 'Which tea?', trace_id: TRACE_ID } as const
const ANSWER = { ...answerOf('Rooibos'), traceId: TRACE_ID }

type Ask = ServerDeps['agents']['ask']

async function serverWith(ask: Ask) {
  const plain = testServer()
  const fixture = testServer({ agents: { ...plain.deps.agents, ask } })
  const { status } = await send(fixture.server, 'POST /api/projects/mindsdb/agents', {
    json: { agent: { name: 'a' } },
  })
  expect(status).toBe(201)
  return fixture
}

/** A server that remembers what its agent was asked. */
async function listening(...events: readonly CompletionEvent[]) {
  const asked: AskedQuestion[] = []
  const { server } = await serverWith(async function* (question): AsyncGenerator<
    CompletionEvent,
    Answer
  > {
    asked.push(question)
    yield START
    yield* events
    return ANSWER
  })
  const chat = (body: object, headers = {}) => {
    return send(server, CHAT, { json: { model: 'a', messages: ASKED, ...body }, headers })
  }
  return { chat, asked, server }
}

function chunksOf(text: string): readonly unknown[] {
  const lines = text.split('\n\n').filter((line) => line !== '')
  return lines.map((line) => {
    const data = line.replace('data: ', '')
    return data === '[DONE]' ? data : JSON.parse(data)
  })
}

const textOf = (text: string) =>
  chunksOf(text)
    .map((chunk) => {
      const { choices = [] } = chunk as { choices?: { delta?: { content?: string } }[] }
      return choices[0]?.delta?.content ?? ''
    })
    .join('')

describe('what a client says', () => {
  test('is a question, a history and wishes', async () => {
    const { chat, asked } = await listening()
    const messages = [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: [{ type: 'text', text: 'Hello' }, { type: 'image_url' }] },
      { role: 'assistant', content: null, tool_calls: [{ id: '1' }] },
      { role: 'tool', content: 'found', tool_call_id: '1' },
      { role: 'assistant', content: 'Hello!' },
      { role: 'developer', content: 'In English.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Which' },
          { type: 'text', text: 'tea?' },
        ],
      },
    ]
    expect((await chat({ messages })).status).toBe(200)
    expect(asked).toMatchObject([
      {
        question: 'Which\ntea?',
        wishes: 'Be short.\n\nIn English.',
        history: [
          { role: 'user', content: 'Hello\n' },
          { role: 'assistant', content: 'Hello!' },
        ],
      },
    ])
  })

  test.each([
    [{ n: 2 }, 'n'],
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'wizard', content: 'x' }, ...ASKED] }, 'messages[0].role'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      'messages[0].content[0]',
    ],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ tool_choice: 'required', tools: [] }, 'tool_choice'],
    [{ messages: 'hello' }, 'messages'],
    [{ model: undefined }, 'model'],
  ])('is refused with the field that is wrong: %j', async (body, param) => {
    const { chat } = await listening()
    expect(await chat(body)).toMatchObject({
      status: 400,
      json: { error: { type: 'invalid_request_error', param } },
    })
  })

  test('may hold much that does nothing, which is named', async () => {
    const { chat } = await listening()
    const tools = [{ type: 'function', function: { name: 'search_web', parameters: {} } }]
    const { status, headers } = await chat({ temperature: 0.2, user: 'u', tools, stop: null })
    expect([status, headers.get('x-eider-ignored')]).toEqual([200, 'temperature, user, tools'])
  })
})

describe('a function that a client insists on', () => {
  const tool = { name: 'origin', parameters: { type: 'object', properties: {} } }
  const forced = {
    tools: [{ type: 'function', function: tool }],
    tool_choice: { type: 'function', function: { name: 'origin' } },
  }

  test('has the answer as its arguments', async () => {
    const { chat, asked } = await listening()
    const { json } = await chat(forced)
    expect(asked[0]?.answerForm).toEqual({ name: 'origin', schema: tool.parameters })
    const call = { function: { name: 'origin', arguments: 'Rooibos' } }
    expect(json).toMatchObject({ choices: [{ message: { content: null, tool_calls: [call] } }] })
  })

  test('has them in a stream, too', async () => {
    const { chat } = await listening()
    const { text } = await chat({ ...forced, stream: true })
    expect(text).toContain('"arguments":"Rooibos"')
    expect(textOf(text)).toBe('')
  })
})

describe('a stream', () => {
  const action = { tool: 'kb_query_tool', tool_input: 'SELECT 1', log: 'I look.' }
  const steps: readonly CompletionEvent[] = [
    { type: 'delta', content: 'I look.', trace_id: TRACE_ID },
    { actions: [action], messages: [], trace_id: TRACE_ID },
    { steps: [{ action, observation: 'rows' }], messages: [], trace_id: TRACE_ID },
    { type: 'delta', content: 'Roo', trace_id: TRACE_ID },
  ]

  test('ends with a reason, the usage where it is wanted, and [DONE]', async () => {
    const { chat } = await listening()
    const { text } = await chat({ stream: true, stream_options: { include_usage: true } })
    expect(chunksOf(text)).toMatchObject([
      { id: `chatcmpl-${TRACE_ID}`, choices: [{ delta: { role: 'assistant' } }] },
      { choices: [{ delta: { content: 'Rooibos' } }], usage: null },
      { choices: [{ finish_reason: 'stop' }], eider: { trace_id: TRACE_ID } },
      { choices: [], usage: null },
      '[DONE]',
    ])
  })

  test('holds what was said before a call, then what of the answer was not told yet', async () => {
    const { chat } = await listening(...steps)
    const { text } = await chat({ stream: true })
    expect(textOf(text)).toBe('I look.\n\nRooibos')
    expect(text).not.toContain('reasoning_content')
  })

  test('tells steps as reasoning by a field or a header', async () => {
    for (const [body, headers] of [
      [{ eider: { steps: true } }, {}],
      [{}, { 'x-eider-steps': 'true' }],
    ]) {
      const { chat } = await listening(...steps)
      const { text } = await chat({ stream: true, ...body }, headers)
      expect(text).toContain('"reasoning_content":"**kb_query_tool** `` SELECT 1 ``')
    }
  })

  test('that fails tells the error, then [DONE]; it is logged', async () => {
    const { server, errors, logged } = await serverWith(async function* () {
      yield START
      throw new AppError('provider_failed', 'The model is gone')
    })
    const json = { model: 'a', messages: ASKED, stream: true }
    const headers = { 'x-request-id': 'one' }
    const { status, text, headers: answered } = await send(server, CHAT, { json, headers })
    expect([status, answered.get('x-request-id')]).toEqual([200, 'one'])
    const error = { message: 'The model is gone', type: 'server_error', code: 'provider_failed' }
    expect(chunksOf(text).slice(1)).toMatchObject([{ error }, '[DONE]'])
    expect(errors).toMatchObject([{ requestId: 'one', traceId: TRACE_ID }])
    expect(logged.slice(-1)).toMatchObject([
      { requestId: 'one', status: 200, code: 'provider_failed' },
    ])
  })

  test('of responses that fails says so twice, as that API does', async () => {
    const { server } = await serverWith(async function* () {
      yield START
      throw new AppError('timeout', 'Out of time')
    })
    const json = { model: 'a', input: 'Which tea?', stream: true }
    const { text } = await send(server, 'POST /v1/responses', { json })
    expect(text).toContain('event: error\ndata: {"type":"error","sequence_number":2')
    expect(text).toContain('event: response.failed\n')
    expect(text).toContain('"status":"failed","background":false,"error":{"code":"server_error"')
  })

  test('is cancelled when its client goes away', async () => {
    let signal: AbortSignal | undefined
    const ended = Promise.withResolvers<void>()
    const { server } = await serverWith(async function* (_, given) {
      signal = given
      try {
        yield START
        yield { type: 'delta', content: 'Roo', trace_id: TRACE_ID }
        return ANSWER
      } finally {
        ended.resolve()
      }
    })
    const json = { model: 'a', messages: ASKED, stream: true }
    const response = await server.handle(requestOf(CHAT, { json }))
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await ended.promise
    expect(signal?.aborted).toBe(true)
  })
})

test('a failure before the first event has its status, and says whether to try again', async () => {
  for (const [code, status, retry] of [
    ['too_many_questions', 429, 'false'],
    ['provider_busy', 503, 'true'],
    ['timeout', 504, 'false'],
  ] as const) {
    // biome-ignore lint/correctness/useYield: it fails first
    const { server } = await serverWith(async function* () {
      throw new AppError(code, 'no')
    })
    const json = { model: 'a', messages: ASKED, stream: true }
    const answer = await send(server, CHAT, { json })
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([status, retry])
  }
})
