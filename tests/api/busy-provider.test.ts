import { expect, test } from 'bun:test'
import { failure, scriptedServer } from '../models/fixtures/scripted-server.ts'
import { createTestApp } from '../support/test-app.ts'

const PROJECT = '/api/projects/mindsdb'

test('an agent whose model asks for a pause beyond its deadline fails at once', async () => {
  await using server = scriptedServer(() => failure(429, 'busy', { 'retry-after': '20' }))
  const t = await createTestApp()
  const model = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: server.url }
  await t.send('POST', `${PROJECT}/agents`, {
    agent: { name: 'a', model, params: { timeout: 15 } },
  })
  const messages = [{ question: 'q', answer: '' }]
  const answer = await t.send('POST', `${PROJECT}/agents/a/completions`, { messages })
  const { status, body, headers } = answer
  expect([status, headers.get('retry-after')]).toEqual([503, '20'])
  expect(body).toMatchObject({ code: 'provider_busy' })
  expect(Object(body).detail).toContain('answered 429: busy (it asks to wait 20 s')
  expect(server.seen).toHaveLength(1)
  await t.close()
})

test('a search whose embedding model asks for a pause beyond the statement’s time fails at once', async () => {
  let isBusy = false
  await using server = scriptedServer(({ body }) => {
    if (isBusy) return failure(503, 'loading', { 'retry-after': '30' })
    const texts = Array.isArray(body.input) ? body.input : []
    return Response.json({ data: texts.map((_, index) => ({ index, embedding: [1, 0] })) })
  })
  const environment = { EIDER_QUERY_MS: '10000' }
  const t = await createTestApp({ embedders: 'real', environment })
  const embedding_model = {
    provider: 'openai',
    model_name: 'm',
    api_key: 'k',
    base_url: server.url,
  }
  await t.send('POST', `${PROJECT}/knowledge_bases`, {
    knowledge_base: { name: 'kb', embedding_model },
  })
  isBusy = true
  const query = "SELECT id FROM kb WHERE content = 'x'"
  const { body } = await t.send('POST', '/api/sql/query', { query })
  expect(Object(body).error_message).toContain('answered 503: loading (it asks to wait 30 s')
  expect(server.seen).toHaveLength(2)
  await t.close()
})
