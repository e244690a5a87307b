import { expect, test } from 'bun:test'
import type { ModelRef } from '../../src/core/domain/model-ref.ts'
import type { Embedder } from '../../src/core/domain/ports/model-ports.ts'
import { embedderRegistry } from '../../src/models/registries/embedder-registry.ts'
import { failure, scriptedServer, thrownBy } from './fixtures/scripted-server.ts'

const unused: Embedder = {
  embed: () => Promise.reject(new Error('the model must not be loaded')),
}
const never = new AbortController().signal
const ref = (provider: string, modelName: string, rest: Partial<ModelRef> = {}): ModelRef => {
  return { provider, modelName, options: {}, ...rest }
}
const oneVector = () => Response.json({ data: [{ index: 0, embedding: [1, 2, 3] }] })

test('knows its providers and lists them where another is asked for', async () => {
  const registry = embedderRegistry({ builtin: unused })
  expect([...registry.providers].slice(0, 3)).toEqual(['builtin', 'openai', 'ollama'])
  const said = 'Wrong embedding provider: acme. Available providers: builtin, openai'
  expect(() => registry.embedder(ref('acme', 'x'))).toThrow(said)
  expect(() => registry.embedder(ref('constructor', 'x'))).toThrow(
    'under another name is the provider openai with its address as "base_url"',
  )
  expect(() => registry.embedder(ref('Olama', 'x'))).toThrow('. Did you mean ollama?')
  const error = await thrownBy(registry.probe(ref('toString', 'x'), 100))
  expect(error).toMatchObject({ code: 'unknown_provider' })
})

test('the builtin model is known without loading it, by its name or none', async () => {
  const registry = embedderRegistry({ builtin: unused })
  for (const name of ['', 'all-MiniLM-L6-v2']) {
    const probe = await registry.probe(ref('builtin', name), 100)
    expect(probe).toEqual({ kind: 'ready', dimensions: 384 })
    expect(registry.embedder(ref('builtin', name))).toBe(unused)
  }
  const error = await thrownBy(registry.probe(ref('builtin', 'gpt'), 100))
  expect(error).toMatchObject({ code: 'invalid_knowledge_base' })
})

test.each([
  ['no model name', ref('openai', '', { baseUrl: 'http://localhost:1' }), 'model_name'],
  ['no key for the public address', ref('openai', 'm'), 'api_key is required'],
  ['an address that is none', ref('openai', 'm', { baseUrl: 'ftp://x' }), 'base_url'],
])('refuses %s', (_, model, said) => {
  const registry = embedderRegistry({ builtin: unused })
  expect(() => registry.embedder(model)).toThrow(said)
})

test('a probe tells the dimensions', async () => {
  await using server = scriptedServer(oneVector)
  const registry = embedderRegistry({ builtin: unused })
  const probe = await registry.probe(ref('openai', 'm', { baseUrl: server.url }), 3000)
  expect(probe).toEqual({ kind: 'ready', dimensions: 3 })
})

test('a probe throws a definite refusal with URL and status', async () => {
  await using server = scriptedServer(() => failure(404, 'model m not found'))
  const registry = embedderRegistry({ builtin: unused })
  const error = await thrownBy(registry.probe(ref('openai', 'm', { baseUrl: server.url }), 3000))
  expect(error).toMatchObject({ code: 'provider_refused' })
  expect(String(error)).toContain(`${server.url}/v1/embeddings answered 404`)
})

test('a probe that meets a 500 warns after one try', async () => {
  await using server = scriptedServer(() => failure(500, 'oops'))
  const registry = embedderRegistry({ builtin: unused })
  const probe = await registry.probe(ref('openai', 'm', { baseUrl: server.url }), 3000)
  expect(probe).toMatchObject({ kind: 'unreachable' })
  expect(JSON.stringify(probe)).toContain(`${server.url}/v1/embeddings answered 500: oops`)
  expect(server.seen).toHaveLength(1)
})

test('a probe that is not answered warns when its time is up', async () => {
  await using server = scriptedServer(() => new Promise<Response>(() => undefined))
  const registry = embedderRegistry({ builtin: unused })
  const probe = await registry.probe(ref('openai', 'm', { baseUrl: server.url }), 100)
  expect(probe).toMatchObject({ kind: 'unreachable' })
  expect(JSON.stringify(probe)).toContain(server.url)
})

test('the key of the settings goes to the address of the settings and no other', async () => {
  await using trusted = scriptedServer(oneVector)
  await using other = scriptedServer(oneVector)
  const registry = embedderRegistry({
    builtin: unused,
    openaiApiKey: 'sk-settings',
    openaiBaseUrl: trusted.url,
  })
  await registry.embedder(ref('openai', 'm')).embed(['a'], never)
  await registry.embedder(ref('openai', 'm', { baseUrl: other.url })).embed(['a'], never)
  await registry.embedder(ref('openai', 'm', { apiKey: 'sk-own' })).embed(['a'], never)
  await registry.embedder(ref('openai', 'm', { apiKey: '', baseUrl: '' })).embed(['a'], never)
  const keyOf = (server: typeof trusted) => {
    return server.seen.map((request) => request.headers.get('authorization'))
  }
  expect(keyOf(trusted)).toEqual(['Bearer sk-settings', 'Bearer sk-own', 'Bearer sk-settings'])
  expect(keyOf(other)).toEqual(['Bearer none'])
})

test('background work may wait longer, and fails at once if that is not enough', async () => {
  await using server = scriptedServer(() => failure(429, 'busy', { 'retry-after': '700' }))
  const registry = embedderRegistry({ builtin: unused })
  const model = ref('openai', 'm', { baseUrl: server.url })
  const usual = await thrownBy(registry.embedder(model).embed(['a'], never))
  expect(String(usual)).toContain(
    'asks to wait 700 s before another attempt, but there is only time for 60',
  )
  const patient = await thrownBy(registry.embedder(model, 600_000).embed(['a'], never))
  expect(String(patient)).toContain(
    'asks to wait 700 s before another attempt, but there is only time for 600',
  )
  expect(server.seen).toHaveLength(2)
})
