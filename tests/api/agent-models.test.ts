import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chatServer } from '../agents/chat-server.ts'
import { scriptedServer } from '../models/fixtures/scripted-server.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const AGENTS = '/api/projects/mindsdb/agents'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

let count = 0
const create = (model: unknown) => {
  count += 1
  return t.send('POST', AGENTS, { agent: { name: `a${count}`, model } })
}
const ask = (question: string) => {
  const messages = [{ role: 'user', content: question }]
  return t.send('POST', `${AGENTS}/a${count}/completions`, { messages })
}

describe('the model of an agent', () => {
  test("with an address but no provider is called through OpenAI's API", async () => {
    const server = chatServer({ kind: 'text', pieces: ['From the server.'] })
    const created = await create({ model_name: 'llama3.1', base_url: server.url })
    expect(created.body).toMatchObject({ model: { provider: 'openai', base_url: server.url } })
    expect((await ask('What is new?')).text).toContain('From the server.')
    expect(server.requests[0]).toMatchObject({ model: 'llama3.1' })
    server.close()
  })

  test.each(['ollama', 'lmstudio', 'vllm', 'llamacpp', 'localai', 'litellm', 'groq', 'mistral'])(
    '%s is a short name, kept as it was given, and takes another address',
    async (provider) => {
      const server = chatServer({ kind: 'text', pieces: ['From the server.'] })
      const model = { provider, model_name: 'm', base_url: server.url, api_key: 'k' }
      expect((await create(model)).body).toMatchObject({ model: { provider } })
      const read = await t.send('GET', `${AGENTS}/a${count}`)
      expect(read.body).toMatchObject({ model: { provider, base_url: server.url } })
      expect((await ask('What is new?')).text).toContain('From the server.')
      server.close()
    },
  )

  test.each([
    [{ model_name: 'llama3.1' }, 'Unknown model llama3.1: say its "provider"'],
    [{ provider: 'builtin', model_name: 'gpt-4o' }, 'the builtin provider has extractive only'],
    [{ provider: 'builtin', base_url: 'http://127.0.0.1:1/v1' }, 'has no "base_url"'],
    [{ provider: 'ollama' }, '"model_name" is required for provider ollama'],
    [{ base_url: 'http://127.0.0.1:1/v1' }, '"model_name" is required for provider openai'],
  ])('%j is refused and never becomes the built-in one', async (model, said) => {
    const { status, text } = await create(model)
    expect([status, text]).toEqual([400, expect.stringContaining(said.replaceAll('"', '\\"'))])
  })

  test.each([
    [{ model_name: 'claude-opus-4-5' }, 'anthropic'],
    [{ model_name: 'gpt-5' }, 'openai'],
    [{ model_name: 'gemini-3-flash' }, 'gemini'],
    [{ model_name: 'extractive' }, 'builtin'],
    [{ provider: '', model_name: '' }, 'builtin'],
  ])('%j belongs to %s', async (model, provider) => {
    expect(await create(model)).toMatchObject({ status: 201, body: { model: { provider } } })
  })

  test('of Azure is called in the forms of its addresses', async () => {
    const seen: { path: string; key: string | null }[] = []
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        const { pathname, search } = new URL(request.url)
        seen.push({ path: pathname + search, key: request.headers.get('api-key') })
        const message = { role: 'assistant', content: 'Hello from Azure' }
        return Response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
      },
    })
    const origin = `http://127.0.0.1:${server.port}`
    const forms = [
      [origin, '/openai/v1/chat/completions'],
      [`${origin}/openai/v1/`, '/openai/v1/chat/completions'],
      [
        `${origin}/openai/deployments/d1`,
        '/openai/deployments/d1/chat/completions?api-version=2024-10-21',
      ],
      [
        `${origin}/openai/deployments/d1/chat/completions?api-version=2025-01-01-preview`,
        '/openai/deployments/d1/chat/completions?api-version=2025-01-01-preview',
      ],
    ]
    for (const [base_url, path] of forms) {
      const model = { provider: 'azure_openai', model_name: 'd1', base_url, api_key: 'az-key-1' }
      expect(await create(model)).toMatchObject({ status: 201 })
      expect((await ask('What is new?')).text).toContain('Hello from Azure')
      expect(seen.at(-1)).toEqual({ path: path ?? '', key: 'az-key-1' })
    }
    await server.stop(true)
  })
})

describe('a probe of an agent', () => {
  const probe = () => t.send('POST', `${AGENTS}/a${count}/probe`)

  test('reports what was called, what it supports, and what it cost', async () => {
    const server = chatServer({ kind: 'text', pieces: ['OK'] })
    await create({ provider: 'ollama', model_name: 'm', base_url: server.url })
    const url = `${server.url}/chat/completions`
    const found = { ok: true, url, status: 200, streaming: true, tools: true, error_type: null }
    expect(await probe()).toMatchObject({ status: 200, body: found })
    server.close()
  })

  test.each([
    [401, 'authentication'],
    [403, 'authentication'],
    [404, 'not_found'],
    [402, 'rate_limit'],
    [418, 'general'],
  ])('%i is %s, with a next step and without the key', async (status, error_type) => {
    const server = chatServer({ kind: 'status', status })
    const key = 'sk-proj-Zx81kQpTTvv09LmNq77'
    await create({ provider: 'vllm', model_name: 'm', base_url: server.url, api_key: key })
    const { body, text } = await probe()
    const found = { ok: false, status, error_type, next_step: expect.any(String) }
    expect(body).toMatchObject({ ...found, cause: expect.stringContaining(`answered ${status}`) })
    expect(text).not.toContain(key)
    server.close()
  })

  test('of a server that is not there, of a missing key, and of the built-in model', async () => {
    await create({ model_name: 'm', base_url: 'http://127.0.0.1:9/v1' })
    expect(await probe()).toMatchObject({
      body: { ok: false, status: null, error_type: 'connection' },
    })
    await create({ provider: 'groq', model_name: 'm' })
    expect(await probe()).toMatchObject({ body: { ok: false, error_type: 'authentication' } })
    await create({ provider: 'builtin' })
    expect(await probe()).toMatchObject({ body: { ok: true, url: null } })
    expect(await t.send('POST', `${AGENTS}/nobody/probe`)).toMatchObject({ status: 404 })
  })
})

test('the record of a new agent warns of what is missing, and nothing is called', async () => {
  const data = { knowledge_bases: ['mindsdb.nothing'], tables: [] }
  const model = { provider: 'mistral', model_name: 'm' }
  const created = await t.send('POST', AGENTS, { agent: { name: 'lacking', model, data } })
  expect(created.body).toMatchObject({
    warnings: [
      'An api_key is required for https://api.mistral.ai: add it to the model',
      'No knowledge base found: mindsdb.nothing',
    ],
  })
  const cleared = await t.send('PUT', `${AGENTS}/lacking`, { agent: { data: {}, model: {} } })
  expect(cleared.body).toMatchObject({
    warnings: ['Agent lacking has no data to read'],
  })
})

test('a filter of content is a failure of that type', async () => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      const message = "The response was filtered due to Azure OpenAI's content management policy"
      return Response.json({ error: { message, code: 'content_filter' } }, { status: 400 })
    },
  })
  await create({ model_name: 'm', base_url: `http://127.0.0.1:${server.port}` })
  const messages = [{ role: 'user', content: 'What is new?' }]
  const path = `${AGENTS}/a${count}/completions/stream`
  expect((await t.send('POST', path, { messages })).text).toContain('"error_type":"content"')
  await server.stop(true)
})

test('a server that asks to come back after the deadline fails the question at once', async () => {
  const asked: number[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      asked.push(1)
      const body = { error: { message: 'come back tomorrow' } }
      return Response.json(body, { status: 429, headers: { 'retry-after': '86400' } })
    },
  })
  await create({ model_name: 'm', base_url: `http://127.0.0.1:${server.port}` })
  const { text } = await ask('What is new?')
  expect(text).toContain('it asks to wait 86400 s before another attempt')
  expect(asked).toHaveLength(1)
  await server.stop(true)
})

test('CREATE and ALTER AGENT in SQL warn of the same', async () => {
  const sql = (query: string) => t.send('POST', '/api/sql/query', { query })
  const created = await sql(
    `CREATE AGENT warned USING model = {"provider": "openai", "model_name": "m"}, data = {"knowledge_bases": ["mindsdb.nosuch"]}`,
  )
  const isUnknown = expect.stringContaining('nosuch')
  const isKeyless = expect.stringContaining('api_key is required')
  expect(created.body).toMatchObject({ type: 'ok', warnings: [isKeyless, isUnknown] })
  const altered = await sql(
    `ALTER AGENT warned USING model = {"provider": "openai", "model_name": "m", "api_key": "k"}`,
  )
  expect(altered.body).toMatchObject({ type: 'ok', warnings: [isUnknown] })
  await sql('CREATE TABLE there AS SELECT 1 AS x')
  const rest = await sql(`CREATE AGENT unwarned USING data = {"tables": ["mindsdb.there"]}`)
  expect(Object(rest.body)).not.toHaveProperty('warnings')
})

test.each(['ollama', 'openai', 'groq'])(
  'the default provider %s is reached at the address of the settings, with its key alone',
  async (provider) => {
    await using server = scriptedServer(() => {
      const message = { role: 'assistant', content: 'From there.' }
      return Response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
    })
    const app = await createTestApp({
      environment: {
        EIDER_CHAT_PROVIDER: provider,
        EIDER_CHAT_MODEL: 'llama3',
        EIDER_CHAT_BASE_URL: server.url,
        EIDER_CHAT_API_KEY: provider === 'openai' ? '' : 'key-of-the-other',
        OPENAI_API_KEY: 'key-of-openai',
        GROQ_API_KEY: 'key-of-groq',
        // Other users may ask, so only private addresses that the operator names can be reached.
        EIDER_HOST: '0.0.0.0',
        EIDER_ALLOW_OPEN: '1',
      },
    })
    await app.send('POST', AGENTS, { agent: { name: 'a' } })
    const messages = [{ role: 'user', content: 'What is new?' }]
    const answer = await app.send('POST', `${AGENTS}/a/completions`, { messages })
    expect(answer.text).toContain('From there.')
    const key = provider === 'openai' ? 'none' : 'key-of-the-other'
    expect(server.seen[0]?.headers.get('authorization')).toBe(`Bearer ${key}`)
    await app.close()
  },
)
