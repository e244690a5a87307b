import { describe, expect, test } from 'bun:test'
import type { AgentQuestion } from '../../src/agents/questions/agent-question.ts'
import type { ServerDeps } from '../../src/api/http/request/route-context.ts'
import type { CompletionEvent } from '../../src/core/domain/agents/completion-event.ts'
import { AppError } from '../../src/core/errors.ts'
import { answerEvents, answerOf, requestOf, send, TRACE_ID, testServer } from './server-fixture.ts'

const AGENT = '/api/projects/mindsdb/agents/a'
const ASK = `POST ${AGENT}/completions`
const STREAM = `${ASK}/stream`
const MESSAGES = { messages: [{ question: 'Which tea?', answer: '' }] }

async function withAgent(agents: Partial<ServerDeps['agents']> = {}) {
  const plain = testServer()
  const fixture = testServer({ agents: { ...plain.deps.agents, ...agents } })
  await send(fixture.server, 'POST /api/projects/mindsdb/agents', {
    json: { agent: { name: 'a' } },
  })
  fixture.logged.length = 0
  return fixture
}

function eventsOf(text: string): unknown[] {
  const chunks = text.split('\n\n')
  expect(chunks.pop()).toBe('')
  return chunks.map((chunk) => {
    expect(chunk).toStartWith('data: ')
    return JSON.parse(chunk.slice('data: '.length))
  })
}

describe('POST completions', () => {
  test('answers the message', async () => {
    const { server } = await withAgent()
    const { status, json } = await send(server, ASK, { json: MESSAGES })
    expect(status).toBe(200)
    expect(json).toEqual({
      message: {
        content: 'About Which tea?',
        role: 'assistant',
        trace_id: TRACE_ID,
        citations: [],
        evidence: 'answer',
      },
      warnings: [],
    })
  })

  const FORMS: readonly (readonly [unknown, string, readonly object[]])[] = [
    [[{ question: 'q', answer: null }], 'q', []],
    [[{ role: 'user', content: 'q' }], 'q', []],
    [
      [
        { question: 'q1', answer: 'a1' },
        { question: 'q2', answer: '' },
      ],
      'q2',
      [
        { role: 'user', content: 'q1' },
        { role: 'assistant', content: 'a1' },
      ],
    ],
    [
      [
        { role: 'user', content: 'q1' },
        { role: 'assistant', content: 'a1' },
        { role: 'user', content: 'q2' },
      ],
      'q2',
      [
        { role: 'user', content: 'q1' },
        { role: 'assistant', content: 'a1' },
      ],
    ],
  ]
  for (const [messages, question, history] of FORMS) {
    test(`asks the last question of ${JSON.stringify(messages)}`, async () => {
      const asked: AgentQuestion[] = []
      const { server } = await withAgent({
        complete: async (one) => {
          asked.push(one)
          return answerOf('')
        },
      })
      await send(server, ASK, { json: { messages } })
      expect(asked).toMatchObject([{ question, history, deltas: false, agent: { name: 'a' } }])
    })
  }

  const REFUSED: readonly (readonly [unknown, string])[] = [
    [{}, 'Must provide "messages" parameter in POST body'],
    [{ messages: null }, 'Must provide "messages" parameter in POST body'],
    [{ messages: 'q' }, 'Field "messages" must be a list of objects, not a string'],
    [{ messages: [] }, '"messages" holds no question'],
    [{ messages: ['q'] }, 'Field "messages[0]" must be an object, not a string'],
    [{ messages: [{ question: ' ' }] }, '"messages" holds no question'],
    [{ messages: [{ answer: 'a' }] }, '"messages" holds no question'],
    [{ messages: [{ role: 'system', content: 'x' }] }, '"messages[0].role" is "system"'],
  ]
  for (const path of [ASK, STREAM]) {
    for (const [json, detail] of REFUSED) {
      test(`${path.slice(-12)} refuses ${JSON.stringify(json)}`, async () => {
        const { server } = await withAgent()
        const answer = await send(server, path, { json })
        expect(answer.status).toBe(400)
        expect(answer.json).toMatchObject({ detail: expect.stringContaining(detail) })
      })
    }
  }

  test('a timeout is 504', async () => {
    const complete = () => Promise.reject(new AppError('timeout', 'Too long'))
    const { server } = await withAgent({ complete })
    expect((await send(server, ASK, { json: MESSAGES })).status).toBe(504)
  })
})

describe('POST completions/stream', () => {
  test('sends the exact bytes of the contract, and the headers that keep proxies from waiting', async () => {
    const { server, logged } = await withAgent()
    const { status, headers, text } = await send(server, STREAM, { json: MESSAGES })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('x-accel-buffering')).toBe('no')
    expect(text).toStartWith(
      `data: {"type":"start","prompt":"Which tea?","trace_id":"${TRACE_ID}"}\n\ndata: {"actions":`,
    )
    expect(text).toEndWith('\n\ndata: {"type":"end"}\n\n')
    expect(eventsOf(text).map((event) => Object.keys(event as object)[0])).toEqual([
      'type',
      'actions',
      'steps',
      'output',
      'type',
    ])
    expect(logged).toMatchObject([{ path: `${AGENT}/completions/stream`, status: 200 }])
  })

  test('deltas come only to who asks for them', async () => {
    const { server } = await withAgent()
    const json = { ...MESSAGES, stream_options: { deltas: true } }
    expect((await send(server, STREAM, { json })).text).toContain('{"type":"delta","content":"Ro"')
  })

  test('what fails before the first event is a status', async () => {
    const { server } = await withAgent({
      // biome-ignore lint/correctness/useYield: it fails before its first event
      async *ask() {
        throw new AppError('too_busy', 'Too many questions')
      },
    })
    const { status, headers } = await send(server, STREAM, { json: MESSAGES })
    expect([status, headers.get('content-type')]).toEqual([503, 'application/problem+json'])
  })

  const start: CompletionEvent = { type: 'start', prompt: 'q', trace_id: 't' }
  const told = (content: string, error_type: string, error_code: string) => {
    return { type: 'error', content, error_type, error_code, trace_id: 't' }
  }
  const BROKEN: readonly (readonly [string, () => AsyncGenerator<CompletionEvent>, unknown])[] = [
    [
      'an expected failure',
      async function* () {
        yield start
        throw new AppError('provider_failed', 'The model is gone')
      },
      told('The model is gone', 'connection', 'provider_failed'),
    ],
    [
      'a bug',
      async function* () {
        yield start
        throw new Error('secret')
      },
      told('Internal error', 'general', 'internal'),
    ],
  ]
  for (const [name, ask, error] of BROKEN) {
    test(`${name} after the start is one error event, then end`, async () => {
      const { server, errors } = await withAgent({ ask })
      const { text } = await send(server, STREAM, { json: MESSAGES })
      expect(eventsOf(text)).toEqual([start, error, { type: 'end' }])
      expect(errors.length).toBe(1)
    })
  }

  test('end is sent once, and nothing after it', async () => {
    const { server } = await withAgent({
      async *ask() {
        yield start
        yield { type: 'end' }
        yield start
        return answerOf('')
      },
    })
    const { text } = await send(server, STREAM, { json: MESSAGES })
    expect(eventsOf(text)).toEqual([start, { type: 'end' }])
  })

  test('a stream that merely stops is ended, too', async () => {
    const { server } = await withAgent({
      async *ask() {
        yield start
        return answerOf('')
      },
    })
    const { text } = await send(server, STREAM, { json: MESSAGES })
    expect(eventsOf(text)).toEqual([start, { type: 'end' }])
  })

  test('a client that goes away aborts the question and is logged', async () => {
    let signal: AbortSignal | undefined
    let isReturned = false
    const fixture = await withAgent({
      async *ask(question, given) {
        signal = given
        try {
          yield* answerEvents(question.question)
          return answerOf('')
        } finally {
          isReturned = true
        }
      },
    })
    const response = await fixture.server.handle(requestOf(STREAM, { json: MESSAGES }))
    const reader = response.body?.getReader()
    await reader?.read()
    expect(fixture.logged).toEqual([])
    await reader?.cancel()
    expect(signal?.aborted).toBe(true)
    expect(isReturned).toBe(true)
    expect(fixture.logged.length).toBe(1)
  })

  test('events are asked for only as the client reads them', async () => {
    let given = 0
    const { server } = await withAgent({
      async *ask() {
        for (; given < 100; given++) yield start
        return answerOf('')
      },
    })
    const response = await server.handle(requestOf(STREAM, { json: MESSAGES }))
    const reader = response.body?.getReader()
    await reader?.read()
    expect(given).toBeLessThan(5)
    await reader?.cancel()
  })
})
