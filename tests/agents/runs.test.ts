import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { type ChatServer, chatServer } from './chat-server.ts'

const AGENTS = '/api/projects/mindsdb/agents'
const RUNS = '/api/agents/runs'

let app: TestApp
let model: ChatServer

beforeEach(async () => {
  const stall = { kind: 'stall' } as const
  model = chatServer({ kind: 'call', name: 'kb_list_tool', input: {} }, stall, stall, stall)
  app = await createTestApp({
    environment: { EIDER_AGENTS_MAX: '1', EIDER_AGENT_QUEUE_MAX: '1' },
  })
  const { url } = model
  const agent = {
    name: 'helper',
    model: { provider: 'openai', model_name: 'm', api_key: 'a-secret-key', base_url: url },
  }
  expect(await app.send('POST', AGENTS, { agent })).toMatchObject({ status: 201 })
})

afterEach(async () => {
  model.close()
  await app.close()
})

const message = (question: string) => ({ messages: [{ question, answer: '' }] })

/** Starts a stream that can be read further. */
async function begun(question: string) {
  const request = new Request(`http://localhost${AGENTS}/helper/completions/stream`, {
    method: 'POST',
    body: JSON.stringify(message(question)),
    headers: { 'content-type': 'application/json' },
  })
  const response = await app.app.handle(request)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  const read = async () => {
    const { done, value } = await reader.read()
    text += new TextDecoder().decode(value)
    return !done
  }
  const events = () => {
    const chunks = text.split('\n\n').filter((chunk) => chunk.startsWith('data: '))
    return chunks.map((chunk) => JSON.parse(chunk.slice('data: '.length)))
  }
  return {
    /** Reads until an event has this member and the model is silent. */
    until: async (member: string) => {
      while (!events().some((event) => member in event)) expect(await read()).toBe(true)
      await model.hasStalled
      return events()
    },
    rest: async () => {
      while (await read());
      return events()
    },
  }
}

async function runs(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { status, body } = await app.send('GET', RUNS)
  expect(status).toBe(200)
  return body as readonly Readonly<Record<string, unknown>>[]
}

/** Returns the list once a question waits, so that its request has reached the queue. */
async function runsWithWaiting() {
  for (;;) {
    const list = await runs()
    if (list.some(({ state }) => state === 'waiting')) return list
  }
}

describe('runs', () => {
  test('shows what is answered and what waits, and nothing of a key', async () => {
    expect(await runs()).toEqual([])
    const first = await begun('x'.repeat(1000))
    const [start] = await first.until('steps')
    const second = app.send('POST', `${AGENTS}/helper/completions`, message('and now?'))
    const shown = await runsWithWaiting()
    expect(shown).toMatchObject([
      {
        trace_id: start.trace_id,
        agent: 'helper',
        project: 'mindsdb',
        question: 'x'.repeat(200),
        state: 'running',
        steps: 1,
        model: { provider: 'openai', model_name: 'm' },
      },
      { question: 'and now?', state: 'waiting', steps: 0 },
    ])
    expect(shown[0]?.seconds).toBeGreaterThanOrEqual(0)
    expect(JSON.stringify(shown)).not.toContain('a-secret-key')
    for (const { trace_id } of shown.toReversed()) await app.send('DELETE', `${RUNS}/${trace_id}`)
    await second
    await first.rest()
  })

  test('a cancelled question ends with a typed error, and its call of the model ends', async () => {
    const stream = await begun('q')
    const [start] = await stream.until('steps')
    const path = `${RUNS}/${start.trace_id}`
    expect(await app.send('DELETE', path)).toMatchObject({ status: 204, text: '' })
    const events = await stream.rest()
    const content = 'The question was cancelled by a DELETE of its run'
    const kind = { error_type: 'general', error_code: 'cancelled' }
    expect(events.slice(-2)).toEqual([
      { type: 'error', content, ...kind, trace_id: start.trace_id },
      { type: 'end' },
    ])
    await model.hasLeft
    expect(await runs()).toEqual([])
    expect(await app.send('DELETE', path)).toMatchObject({ status: 404, body: { status: 404 } })
  })

  test('a question that waits can be cancelled: it never begins', async () => {
    const stream = await begun('first')
    await stream.until('steps')
    const waiting = app.send('POST', `${AGENTS}/helper/completions`, message('second'))
    const second = (await runsWithWaiting()).find(({ state }) => state === 'waiting')
    expect(await app.send('DELETE', `${RUNS}/${second?.trace_id}`)).toMatchObject({ status: 204 })
    expect(await waiting).toMatchObject({ body: { code: 'cancelled' } })
    const [first] = await runs()
    await app.send('DELETE', `${RUNS}/${first?.trace_id}`)
    await stream.rest()
    expect(model.requests).toHaveLength(2)
  })

  test('an unknown id is 404', async () => {
    const answer = await app.send('DELETE', `${RUNS}/nobody`)
    expect(answer).toMatchObject({ status: 404, body: { code: 'run_not_found' } })
  })

  test('a full queue is 429 with the time to wait, before any event', async () => {
    const stream = await begun('first')
    await stream.until('steps')
    const waiting = app.send('POST', `${AGENTS}/helper/completions`, message('second'))
    await runsWithWaiting()
    const refused = await app.send('POST', `${AGENTS}/helper/completions/stream`, message('third'))
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_questions' } })
    expect(refused.headers.get('content-type')).toContain('application/problem+json')
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(seconds).toBeLessThanOrEqual(60)
    for (const { trace_id } of (await runs()).toReversed()) {
      await app.send('DELETE', `${RUNS}/${trace_id}`)
    }
    await waiting
    await stream.rest()
  })
})
