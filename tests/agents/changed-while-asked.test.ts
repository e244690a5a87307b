/** An agent is changed or deleted while a question to it is running over HTTP. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { type ChatServer, chatServer } from './chat-server.ts'

const AGENTS = '/api/projects/mindsdb/agents'
const ASK = `${AGENTS}/helper/completions`
const QUESTION = { messages: [{ question: 'q', answer: '' }] }

let app: TestApp
let first: ChatServer
let second: ChatServer

beforeEach(async () => {
  first = chatServer({ kind: 'stall' }, { kind: 'text', pieces: ['of the first server'] })
  second = chatServer({ kind: 'text', pieces: ['of the second server'] })
  app = await createTestApp()
  const agent = { name: 'helper', model: modelOf(first, 'first-key') }
  expect(await app.send('POST', AGENTS, { agent })).toMatchObject({ status: 201 })
})

afterEach(async () => {
  first.close()
  second.close()
  await app.close()
})

function modelOf({ url }: ChatServer, key: string) {
  return { provider: 'openai', model_name: 'm', api_key: key, base_url: url }
}

async function cancelAll(): Promise<void> {
  const { body } = await app.send('GET', '/api/agents/runs')
  for (const { trace_id } of body as readonly { trace_id: string }[]) {
    expect(await app.send('DELETE', `/api/agents/runs/${trace_id}`)).toMatchObject({ status: 204 })
  }
}

test('a deleted agent finishes its running questions and accepts no new ones', async () => {
  const asked = app.send('POST', ASK, QUESTION)
  await first.hasStalled
  expect((await app.send('DELETE', `${AGENTS}/helper`)).status).toBe(204)
  expect(await app.send('POST', ASK, QUESTION)).toMatchObject({ status: 404 })
  expect(await app.send('GET', '/api/agents/runs')).toMatchObject({ body: [{ agent: 'helper' }] })
  await cancelAll()
  expect(await asked).toMatchObject({ body: { code: 'cancelled' } })
  await first.hasLeft
})

test('a new agent of the same name answers with its own model, in its own thread', async () => {
  const asked = app.send('POST', ASK, QUESTION)
  await first.hasStalled
  await app.send('DELETE', `${AGENTS}/helper`)
  const agent = { name: 'helper', model: modelOf(second, 'second-key') }
  expect(await app.send('POST', AGENTS, { agent })).toMatchObject({ status: 201 })
  const answer = await app.send('POST', ASK, QUESTION)
  expect(answer).toMatchObject({ body: { message: { content: 'of the second server' } } })
  await cancelAll()
  await asked
})

test('a changed model is used from the next question on', async () => {
  const asked = app.send('POST', ASK, QUESTION)
  await first.hasStalled
  const changed = { agent: { model: modelOf(second, 'second-key') } }
  expect(await app.send('PUT', `${AGENTS}/helper`, changed)).toMatchObject({ status: 200 })
  const answer = await app.send('POST', ASK, QUESTION)
  expect(answer).toMatchObject({ body: { message: { content: 'of the second server' } } })
  expect([first.requests.length, second.requests.length]).toEqual([1, 1])
  await cancelAll()
  await asked
})
