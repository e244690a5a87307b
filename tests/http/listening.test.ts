import { afterEach, expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { Listener } from '../../src/api/http/listen.ts'
import type { CompletionEvent } from '../../src/core/domain/agents/completion-event.ts'
import { type TestServer, testServer } from './server-fixture.ts'

const listeners: Listener[] = []

afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.stop(0)
})

function listening({ server }: TestServer): Listener {
  const listener = server.listen({ hostname: '127.0.0.1', port: 0 })
  listeners.push(listener)
  return listener
}

const START: CompletionEvent = { type: 'start', prompt: 'q', trace_id: 't' }

/** An agent that says one word and then waits until it is stopped. */
function patientAgent() {
  const stopped = Promise.withResolvers<unknown>()
  const plain = testServer()
  const fixture = testServer({
    agents: {
      ...plain.deps.agents,
      async *ask(_question, signal) {
        yield START
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        stopped.resolve(signal.reason)
        throw signal.reason
      },
    },
  })
  return { fixture, stopped: stopped.promise }
}

async function askOver({ url }: Listener, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  const agents = new URL('/api/projects/mindsdb/agents', url)
  await fetch(agents, { method: 'POST', headers, body: '{"agent":{"name":"a"}}' })
  const body = '{"messages":[{"question":"q","answer":""}]}'
  const init = { method: 'POST', headers, body, ...(signal === undefined ? {} : { signal }) }
  return fetch(`${agents}/a/completions/stream`, init)
}

test('a client that hangs up in the middle of a stream stops the question', async () => {
  const { fixture, stopped } = patientAgent()
  const listener = listening(fixture)
  const client = new AbortController()
  const response = await askOver(listener, client.signal)
  const first = await response.body?.getReader().read()
  expect(new TextDecoder().decode(first?.value)).toBe(`data: ${JSON.stringify(START)}\n\n`)
  client.abort()
  await stopped
})

test('a client that hangs up while a statement runs cancels it', async () => {
  const started = Promise.withResolvers<AbortSignal>()
  const listener = listening(
    testServer({
      query: (_request, _principal, signal) => {
        started.resolve(signal)
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
      },
    }),
  )
  const client = new AbortController()
  const answer = fetch(new URL('/api/sql/query', listener.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"SELECT 1"}',
    signal: client.signal,
  }).catch(() => 'gone')
  const signal = await started.promise
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
  client.abort()
  await aborted
  expect(await answer).toBe('gone')
})

test('a body that grows over the limit while it is sent is refused with words', async () => {
  const listener = listening(testServer())
  const chunk = 'x'.repeat(20_000)
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(listener.url.port), '127.0.0.1', () => {
      socket.write('POST /api/sql/query HTTP/1.1\r\nhost: localhost\r\n')
      socket.write('content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n')
      // This is over the limit of 100 000 bytes, and the body has not ended yet.
      for (let count = 0; count < 6; count++) socket.write(`4e20\r\n${chunk}\r\n`)
    })
    socket.once('data', (data) => {
      resolve(String(data))
      socket.destroy()
    })
    socket.once('error', reject)
  })
  expect(answer).toStartWith('HTTP/1.1 413 ')
  expect(answer).toContain('"code":"body_too_large"')
})

test('a body that is declared too large is refused before it is sent', async () => {
  const listener = listening(testServer())
  const response = await fetch(new URL('/api/files/x', listener.url), {
    method: 'PUT',
    body: new Uint8Array(5_000_000),
  })
  expect(response.status).toBe(413)
  expect(await response.json()).toMatchObject({ title: 'Content Too Large' })
})

test('one connection serves many requests, and any Host that can reach it is answered', async () => {
  const settings = { ...testServer().deps.settings, isLoopback: false }
  const listener = listening(testServer({ settings }))
  const answer = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect(Number(listener.url.port), '127.0.0.1', () => {
      socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    })
    socket.on('data', (data) => {
      text += data
    })
    socket.once('data', () => {
      socket.write('GET /healthz/ HTTP/1.1\r\nhost: kb.example:1\r\nconnection: close\r\n\r\n')
    })
    socket.once('end', () => resolve(text))
    socket.once('error', reject)
  })
  expect(answer.match(/HTTP\/1\.1 200 OK/g)?.length).toBe(2)
  expect(answer.match(/\{"status":"ok"/g)?.length).toBe(2)
})

test('stopping lets a request finish', async () => {
  const started = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  const listener = listening(
    testServer({
      query: async ({ db }) => {
        started.resolve()
        await finish.promise
        return { kind: 'ok', affectedRows: 1, context: { db } }
      },
    }),
  )
  const headers = { 'content-type': 'application/json' }
  const url = new URL('/api/sql/query', listener.url)
  const answer = fetch(url, { method: 'POST', headers, body: '{"query":"x"}' })
  await started.promise
  const stopped = listener.stop(5_000)
  finish.resolve()
  expect(await (await answer).json()).toMatchObject({ type: 'ok' })
  await stopped
  expect(fetch(url)).rejects.toThrow()
})

test('stopping ends a stream with an error event and end', async () => {
  const { fixture, stopped } = patientAgent()
  const listener = listening(fixture)
  const response = await askOver(listener)
  const text = response.text()
  await listener.stop(0)
  expect(await stopped).toMatchObject({ code: 'shutting_down' })
  const [, error, end] = (await text).split('\n\n')
  expect(error).toContain('"type":"error","content":"The server is shutting down"')
  expect(end).toBe('data: {"type":"end"}')
})
