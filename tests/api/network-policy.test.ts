import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scriptedServer } from '../models/fixtures/scripted-server.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const LOGIN = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'right' }

/** Uses the real models, because they are the ones that call these addresses. */
async function appWith(environment: Readonly<Record<string, string>>) {
  const t = await createTestApp({ environment, embedders: 'real' })
  const hasLogin = 'EIDER_USERNAME' in environment
  const credentials = { username: 'ada', password: 'right' }
  const { body } = hasLogin ? await t.send('POST', '/api/login', credentials) : { body: {} }
  const headers = { authorization: `Bearer ${Object(body).token}` }
  const send = (line: string, sent: unknown) => {
    const [method = '', path = ''] = line.split(' ')
    return t.send(method, `/api/projects/mindsdb${path}`, sent, headers)
  }
  return { t, send }
}

type App = Awaited<ReturnType<typeof appWith>>

const embedder = (base_url: string) => ({
  provider: 'openai',
  model_name: 'm',
  api_key: 'k',
  base_url,
})

let locked: App
const opened: TestApp[] = []
const folders: string[] = []

beforeAll(async () => {
  locked = await appWith({ ...LOGIN, EIDER_NETWORK_ALLOW: '10.9.0.0/16, models.test' })
  opened.push(locked.t)
})

afterAll(async () => {
  await Promise.all(opened.map((t) => t.close()))
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })))
})

describe('where others can reach the server, a private address of a model is refused', () => {
  const PRIVATE = [
    'http://127.0.0.1:9/v1',
    'http://localhost:9/v1',
    'http://[::1]:9/v1',
    'http://[::ffff:127.0.0.1]:9/v1',
    'http://2130706433:9/v1',
    'http://169.254.169.254/latest',
    'http://10.8.0.1/v1',
  ]
  for (const url of PRIVATE) {
    test(`${url} for embeddings, reranking and agents`, async () => {
      const knowledge_base = { name: 'kb', embedding_model: embedder(url) }
      const reranking = { name: 'kb', reranking_model: embedder(url) }
      const agent = { name: 'a', model: embedder(url) }
      const answers = [
        await locked.send('POST /knowledge_bases', { knowledge_base }),
        await locked.send('POST /knowledge_bases', { knowledge_base: reranking }),
        await locked.send('POST /agents', { agent }),
      ]
      for (const { status, body } of answers) {
        expect(status).toBe(400)
        expect(body).toMatchObject({ code: 'address_refused' })
        expect(Object(body).detail).toContain('EIDER_NETWORK_ALLOW can name it')
      }
    })
  }

  test('and so is the address that an alteration names', async () => {
    await locked.send('POST /agents', { agent: { name: 'b' } })
    const agent = { model: embedder('http://127.0.0.1:9/v1') }
    expect((await locked.send('PUT /agents/b', { agent })).body).toMatchObject({
      code: 'address_refused',
    })
    await locked.send('POST /knowledge_bases', { knowledge_base: { name: 'altered' } })
    for (const field of ['embedding_model', 'reranking_model']) {
      const knowledge_base = { [field]: embedder('http://127.0.0.1:9/v1') }
      const { body } = await locked.send('PUT /knowledge_bases/altered', { knowledge_base })
      expect(body).toMatchObject({ code: 'address_refused' })
    }
  })

  test('hosts in the setting, and names that do not resolve yet, may be stored', async () => {
    for (const [index, url] of ['http://10.9.1.2/v1', 'http://models.test/v1'].entries()) {
      const agent = { name: `allowed_${index}`, model: embedder(url) }
      expect((await locked.send('POST /agents', { agent })).status).toBe(201)
    }
    const agent = { name: 'later', model: embedder('http://nowhere.invalid/v1') }
    expect((await locked.send('POST /agents', { agent })).status).toBe(201)
  })

  test('a model that was stored before is refused at its next call', async () => {
    await using server = scriptedServer(() => new Response('{}'))
    const directory = await mkdtemp(join(tmpdir(), 'eider-policy-'))
    folders.push(directory)
    const before = await createTestApp({ directory, embedders: 'real' })
    const agent = { name: 'a', model: embedder(server.url) }
    const created = await before.send('POST', '/api/projects/mindsdb/agents', { agent })
    expect(created.status).toBe(201)
    await before.close()
    const t = await createTestApp({ directory, environment: LOGIN, embedders: 'real' })
    opened.push(t)
    const { body } = await t.send('POST', '/api/login', { username: 'ada', password: 'right' })
    const asked = await t.send(
      'POST',
      '/api/projects/mindsdb/agents/a/completions',
      { messages: [{ question: 'q', answer: '' }] },
      { authorization: `Bearer ${Object(body).token}` },
    )
    expect(asked.status).toBe(400)
    expect(asked.body).toMatchObject({ code: 'address_refused' })
    expect(server.seen).toHaveLength(0)
  })
})

test('an address that the setting names is called, by the server and by an agent’s thread', async () => {
  await using server = scriptedServer(({ path, body }) => {
    if (path.endsWith('/embeddings')) {
      const texts = Array.isArray(body.input) ? body.input : []
      return Response.json({ data: texts.map((_, index) => ({ index, embedding: [1, 0, 0] })) })
    }
    const message = { role: 'assistant', content: 'heard' }
    return Response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
  })
  const named = await appWith({ ...LOGIN, EIDER_NETWORK_ALLOW: '127.0.0.0/8' })
  opened.push(named.t)
  const knowledge_base = { name: 'kb', embedding_model: embedder(server.url) }
  const created = await named.send('POST /knowledge_bases', { knowledge_base })
  expect(created.status).toBe(201)
  expect(Object(created.body).params.warnings).toBeUndefined()
  await named.send('POST /agents', { agent: { name: 'a', model: embedder(server.url) } })
  const messages = [{ question: 'q', answer: '' }]
  const { body } = await named.send('POST /agents/a/completions', { messages })
  expect(Object(body).message.content).toBe('heard')
  for (const { headers } of server.seen) {
    expect(`http://${headers.get('host')}`).toBe(server.url)
    expect(headers.get('authorization')).toBe('Bearer k')
  }
})

test('on loopback without a login every address may be named', async () => {
  const open = await appWith({})
  opened.push(open.t)
  const agent = { name: 'a', model: embedder('http://127.0.0.1:9/v1') }
  expect((await open.send('POST /agents', { agent })).status).toBe(201)
})

test("an address in the operator's settings is not checked", async () => {
  const own = await appWith({ ...LOGIN, OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' })
  opened.push(own.t)
  const agent = { name: 'a', model: embedder('http://127.0.0.1:9/v1') }
  expect((await own.send('POST /agents', { agent })).status).toBe(201)
  const elsewhere = { name: 'b', model: embedder('http://127.0.0.1:8/v1') }
  expect((await own.send('POST /agents', { agent: elsewhere })).status).toBe(400)
})

test('an invalid entry in the setting prevents the start', () => {
  const environment = { EIDER_NETWORK_ALLOW: 'http://x/' }
  expect(createTestApp({ environment })).rejects.toThrow('EIDER_NETWORK_ALLOW')
})
