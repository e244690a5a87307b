/**
 * Questions that other clients watch, and questions that continue without the client that asked.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { type ChatServer, chatServer, type Said } from '../agents/chat-server.ts'
import { makeKey } from '../support/access-keys.ts'
import { temporaryFolder } from '../support/store-fixture.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const AGENTS = '/api/projects/mindsdb/agents'
const AT = `${AGENTS}/writer`

let t: TestApp
let server: ChatServer | null = null

beforeAll(async () => {
  t = await createTestApp({ isInProcess: true, environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
})
afterAll(() => t.close())
/** A dropped agent takes its conversations with it. */
afterEach(async () => {
  await t.send('DELETE', AT)
  server?.close()
})

type Event = Readonly<Record<string, unknown>>

async function writer(...said: readonly Said[]): Promise<ChatServer> {
  server = chatServer(...said)
  const model = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: server.url }
  const { status } = await t.send('POST', AGENTS, { agent: { name: 'writer', model } })
  expect(status).toBe(201)
  return server
}

/** A stream whose events are read one at a time. */
async function stream(method: string, path: string, body?: object, headers?: HeadersInit) {
  const left = new AbortController()
  const response = await t.app.handle(
    new Request(`http://localhost${path}`, {
      method,
      signal: left.signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...headers },
    }),
  )
  expect(response.status).toBe(200)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  const events = () => {
    const chunks = text.split('\n\n').filter((chunk) => chunk.startsWith('data: '))
    return chunks.map((chunk): Event => JSON.parse(chunk.slice('data: '.length)))
  }
  const read = async () => {
    const { done, value } = await reader.read()
    text += new TextDecoder().decode(value)
    return !done
  }
  return {
    until: async (isFound: (event: Event) => boolean) => {
      while (!events().some(isFound)) expect(await read()).toBe(true)
      return events()
    },
    rest: async () => {
      while (await read());
      return events()
    },
    leave: async () => {
      left.abort()
      await reader.cancel()
    },
  }
}

function question(content: string, more: object = {}) {
  const messages = [{ role: 'user', content }]
  return { messages, conversation_id: 'new', stream_options: { deltas: true }, ...more }
}

const ask = (content: string, more: object = {}) => {
  return stream('POST', `${AT}/completions/stream`, question(content, more))
}

const isPiece = ({ type }: Event) => type === 'delta'

function textOf(events: readonly Event[]): string {
  return events
    .filter(isPiece)
    .map(({ content }) => content)
    .join('')
}

async function read(id: unknown) {
  const { status, body } = await t.send('GET', `${AT}/conversations/${id}`)
  const shown = body as {
    readonly title: string
    readonly turns: readonly Event[]
    readonly running: Event | null
  }
  return { ...shown, status }
}

async function listed(): Promise<readonly Event[]> {
  const { body } = await t.send('GET', `${AT}/conversations`)
  return (body as { readonly items: readonly Event[] }).items
}

/** Waits until the answer to a question without a client is stored. */
async function kept(id: unknown) {
  for (;;) {
    const found = await read(id)
    if (found.running === null) return found
    await Bun.sleep(5)
  }
}

const held = (until: Promise<void>): Said => {
  return { kind: 'held', pieces: ['Half ', 'an answer'], until, rest: [', and the rest.'] }
}

const WHOLE = 'Half an answer, and the rest.'

describe('a question that is being answered', () => {
  test('is read, listed and watched from its beginning', async () => {
    const go = Promise.withResolvers<void>()
    await writer(held(go.promise))
    const asked = await ask('What\n is it?')
    const [start] = await asked.until(isPiece)
    const { conversation_id: id, trace_id: trace } = start as Event
    expect(await read(id)).toMatchObject({
      title: 'What is it?',
      turns: [],
      running: { trace_id: trace, question: 'What\n is it?', seconds: expect.any(Number) },
    })
    expect(await listed()).toMatchObject([
      { conversation_id: id, title: 'What is it?', turn_count: 0, is_running: true },
    ])
    const watched = await stream('GET', `${AT}/conversations/${id}/stream`)
    const late = await watched.until(isPiece)
    expect(late[0]).toMatchObject({ type: 'start', trace_id: trace, at_ms: expect.any(Number) })
    const leaving = await stream('GET', `${AT}/conversations/${id}/stream`)
    await leaving.until(isPiece)
    await leaving.leave()
    go.resolve()
    const [mine, theirs] = [await asked.rest(), await watched.rest()]
    expect([textOf(mine), textOf(theirs)]).toEqual([WHOLE, WHOLE])
    expect(theirs.slice(-2)).toMatchObject([{ output: WHOLE }, { type: 'end' }])
    expect(await read(id)).toMatchObject({ turns: [{ answer: WHOLE }], running: null })
    expect(await listed()).toMatchObject([{ turn_count: 1, is_running: false }])
    const over = await t.send('GET', `${AT}/conversations/${id}/stream`)
    expect(over.body).toMatchObject({ status: 404, code: 'run_not_found' })
    const none = await t.send('GET', `${AT}/conversations/none/stream`)
    expect(none.body).toMatchObject({ status: 404, code: 'conversation_not_found' })
  })

  test('is listed with the turns before it', async () => {
    const go = Promise.withResolvers<void>()
    await writer({ kind: 'text', pieces: ['One.'] }, held(go.promise))
    const first = await (await ask('First?')).rest()
    const id = first[0]?.conversation_id
    const asked = await ask('Second?', { conversation_id: id })
    await asked.until(isPiece)
    expect(await read(id)).toMatchObject({
      title: 'First?',
      turns: [{ question: 'First?' }],
      running: { question: 'Second?' },
    })
    expect(await listed()).toMatchObject([{ title: 'First?', turn_count: 1, is_running: true }])
    go.resolve()
    await asked.rest()
  })

  test('tells those who watch that it failed', async () => {
    const go = Promise.withResolvers<void>()
    const call: Said = { kind: 'call', name: 'kb_list_tool', input: {} }
    await writer(call, held(go.promise))
    const asked = await ask('What is it?')
    const [start] = await asked.until(isPiece)
    const id = start?.conversation_id
    const watched = await stream('GET', `${AT}/conversations/${id}/stream`)
    expect(await watched.until(isPiece)).toMatchObject([
      { type: 'start' },
      { actions: [{ tool: 'kb_list_tool' }], at_ms: expect.any(Number) },
      { steps: [{}], at_ms: expect.any(Number) },
      { type: 'delta' },
    ])
    await t.send('DELETE', `/api/agents/runs/${start?.trace_id}`)
    const [, theirs] = await Promise.all([asked.rest(), watched.rest()])
    expect(theirs.slice(-2)).toMatchObject([{ error_code: 'cancelled' }, { type: 'end' }])
    expect(await read(id)).toMatchObject({ turns: [{ outcome: 'cancelled' }], running: null })
  })

  test('is busy to the key that began its conversation, and not there for another', async () => {
    const go = Promise.withResolvers<void>()
    await writer(held(go.promise))
    const { headers } = await makeKey(t, ['read', 'ask'])
    const other = await makeKey(t, ['read', 'ask'])
    const path = `${AT}/completions/stream`
    const asked = await stream('POST', path, question('What is it?'), headers)
    const [start] = await asked.until(isPiece)
    const id = start?.conversation_id
    const next = question('And?', { conversation_id: id })
    for (const [by, refused] of [
      [headers, { status: 409, code: 'conversation_busy' }],
      [other.headers, { status: 404, code: 'conversation_not_found' }],
    ] as const) {
      const gone = await t.send('DELETE', `${AT}/conversations/${id}`, undefined, by)
      const again = await t.send('POST', `${AT}/completions`, next, by)
      expect([gone.body, again.body]).toMatchObject([refused, refused])
    }
    go.resolve()
    await asked.rest()
  })

  test('continues even if its asker reads slowly', async () => {
    const pieces = Array.from({ length: 40 }, (_, index) => `${index} `.repeat(400))
    await writer({ kind: 'text', pieces }, { kind: 'text', pieces: ['Two.'] })
    const asked = await ask('What is it?')
    const [start] = await asked.until(({ type }) => type === 'start')
    const id = start?.conversation_id
    expect(await kept(id)).toMatchObject({ turns: [{ outcome: 'answered' }] })
    await (await ask('And?', { conversation_id: id })).rest()
    expect(textOf(await asked.rest())).toBe(pieces.join(''))
  })
})

describe('a client that goes away', () => {
  test('ends its question', async () => {
    const model = await writer(held(new Promise(() => {})))
    const asked = await ask('What is it?')
    const [start] = await asked.until(isPiece)
    await asked.leave()
    await model.hasLeft
    expect(await kept(start?.conversation_id)).toMatchObject({ turns: [{ outcome: 'cancelled' }] })
  })

  test('leaves one in the background to its end', async () => {
    const go = Promise.withResolvers<void>()
    await writer(held(go.promise), { kind: 'text', pieces: ['Two.'] })
    const asked = await ask('What is it?', { background: true })
    const [start] = await asked.until(isPiece)
    const id = start?.conversation_id
    await asked.leave()
    expect(await read(id)).toMatchObject({ running: { question: 'What is it?' } })
    const busy = await t.send(
      'POST',
      `${AT}/completions`,
      question('And?', { conversation_id: id }),
    )
    expect(busy.body).toMatchObject({ status: 409, code: 'conversation_busy' })
    const watched = await stream('GET', `${AT}/conversations/${id}/stream`)
    await watched.until(isPiece)
    go.resolve()
    expect(textOf(await watched.rest())).toBe(WHOLE)
    expect(await kept(id)).toMatchObject({ turns: [{ outcome: 'answered', answer: WHOLE }] })
    const next = question('And?', { conversation_id: id, background: true })
    expect(await t.send('POST', `${AT}/completions`, next)).toMatchObject({
      body: { message: { content: 'Two.' } },
    })
  })

  test('can have one in the background cancelled', async () => {
    const model = await writer(held(new Promise(() => {})))
    const asked = await ask('What is it?', { background: true })
    const [start] = await asked.until(isPiece)
    await asked.leave()
    const run = `/api/agents/runs/${start?.trace_id}`
    expect((await t.send('DELETE', run)).status).toBe(204)
    await model.hasLeft
    expect(await kept(start?.conversation_id)).toMatchObject({
      turns: [{ outcome: 'cancelled', answer: 'Half an answer' }],
    })
  })

  test('cannot leave one whose result could never be read', async () => {
    await writer()
    const { conversation_id: _, ...body } = question('What is it?', { background: true })
    expect(await t.send('POST', `${AT}/completions`, body)).toMatchObject({ status: 400 })
  })
})

test('a server that stops keeps what it ends in the background', async () => {
  await t.close()
  using folder = temporaryFolder()
  const environment = { EIDER_NETWORK_ALLOW: '127.0.0.1' }
  t = await createTestApp({ isInProcess: true, directory: folder.path, environment })
  const model = await writer(held(new Promise(() => {})))
  const asked = await ask('What is it?', { background: true })
  const [start] = await asked.until(isPiece)
  await asked.leave()
  await t.close()
  await model.hasLeft
  t = await createTestApp({ isInProcess: true, directory: folder.path, environment })
  expect(await read(start?.conversation_id)).toMatchObject({
    turns: [{ outcome: 'failed', error_code: 'shutting_down' }],
  })
})
