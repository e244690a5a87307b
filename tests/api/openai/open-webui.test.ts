/** The requests of Open WebUI, with a key as its operator would create it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeKey } from '../../support/access-keys.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

let app: TestApp
let headers: Readonly<Record<string, string>>
beforeAll(async () => {
  app = await createTestApp()
  for (const project of ['mindsdb', 'private']) {
    if (project !== 'mindsdb') {
      await app.send('POST', '/api/projects', { project: { name: project } })
    }
    const at = `/api/projects/${project}`
    const rows = [{ id: 'a', content: 'Rooibos comes from South Africa and has no caffeine.' }]
    await app.send('POST', `${at}/knowledge_bases`, { knowledge_base: { name: 'teas' } })
    await app.send('PUT', `${at}/knowledge_bases/teas`, { knowledge_base: { rows } })
    const data = { knowledge_bases: [`${project}.teas`] }
    await app.send('POST', `${at}/agents`, { agent: { name: 'guide', data } })
  }
  const key = await makeKey(app, ['ask'], { projects: ['mindsdb'] })
  headers = {
    ...key.headers,
    'X-OpenWebUI-User-Name': 'Ada',
    'X-OpenWebUI-User-Id': '1',
    'X-OpenWebUI-Chat-Id': 'c',
  }
})
afterAll(() => app.close())

const chat = (body: object) => app.send('POST', '/v1/chat/completions', body, headers)
const history = [
  { role: 'system', content: 'Today is Monday. The user is Ada.' },
  { role: 'user', content: 'Where does rooibos come from?' },
]

test('the list of models, agents of its project alone', async () => {
  const { status, body } = await app.send('GET', '/v1/models', undefined, headers)
  const { data } = body as { data: { id: string; name: string }[] }
  expect([status, data.map(({ id, name }) => [id, name])]).toEqual([
    200,
    [['mindsdb.guide', 'mindsdb.guide']],
  ])
})

test('a chat with its own tools offered, streamed, with the count of tokens', async () => {
  const parameters = { type: 'object', properties: {} }
  const { status, text } = await chat({
    model: 'mindsdb.guide',
    messages: history,
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.8,
    tools: [{ type: 'function', function: { name: 'search_web', description: '', parameters } }],
    // A parameter that users of Open WebUI can add.
    eider: { steps: true },
  })
  expect(status).toBe(200)
  expect(text).toContain('South Africa')
  expect(text).toContain('"type":"url_citation"')
  expect(text).toContain('"reasoning_content"')
  // The built-in model also reports its usage.
  expect(text).toMatch(/"usage":\{"prompt_tokens":[1-9]\d*,"completion_tokens":[1-9]/)
  expect(text).toEndWith('data: [DONE]\n\n')
})

test('its prompts for titles, tags and further questions are chats as any other', async () => {
  const task = '### Task:\nGenerate a concise, 3-5 word title with an emoji\n### Chat History:\n'
  const content = `${task}USER: Where does rooibos come from?\nASSISTANT: From South Africa.`
  const { status } = await chat({
    model: 'mindsdb.guide',
    messages: [{ role: 'user', content }],
    stream: false,
    max_completion_tokens: 1000,
  })
  expect(status).toBe(200)
})

test('nothing that the key may not ask, with the same answer as for unknown names', async () => {
  for (const model of ['private.guide', 'private.nothing', 'mindsdb.teas', 'mindsdb.nothing']) {
    const { status, body } = await chat({ model, messages: history })
    expect([status, body]).toMatchObject([404, { error: { code: 'model_not_found' } }])
  }
  const file_search = { type: 'file_search', vector_store_ids: ['mindsdb.teas'] }
  const asked = { model: 'mindsdb.guide', input: 'Where from?', tools: [file_search] }
  expect(await app.send('POST', '/v1/responses', asked, headers)).toMatchObject({ status: 404 })
  const reader = await makeKey(app, ['read'])
  const answer = await app.send(
    'POST',
    '/v1/chat/completions',
    { model: 'mindsdb.guide', messages: history },
    reader.headers,
  )
  expect(answer).toMatchObject({ status: 403, body: { error: { type: 'permission_error' } } })
})

test('an invalid key', async () => {
  const unknown = { authorization: `Bearer eider_${'x'.repeat(40)}` }
  const answer = await app.send('GET', '/v1/models', undefined, unknown)
  expect(answer).toMatchObject({ status: 401, body: { error: { code: 'invalid_api_key' } } })
})
