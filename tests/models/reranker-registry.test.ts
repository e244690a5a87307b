import { expect, test } from 'bun:test'
import type { ModelRef } from '../../src/core/domain/model-ref.ts'
import { rerankerRegistry } from '../../src/models/registries/reranker-registry.ts'
import { rerankOptionsOf } from '../../src/models/rerankers/rerank-options.ts'
import { completion, NEVER } from './fixtures/rerank-support.ts'
import { scriptedServer } from './fixtures/scripted-server.ts'

const ref = (provider: string, rest: Partial<ModelRef> = {}): ModelRef => {
  return { provider, modelName: 'm', options: {}, ...rest }
}
const nowMs = () => 0
const good = () => completion('80')

test('knows its providers and lists them where another is asked for', () => {
  const registry = rerankerRegistry({ nowMs })
  for (const name of ['openai', 'ollama', 'cohere', 'jina', 'vllm', 'tei', 'rerank']) {
    expect(registry.providers).toContain(name)
  }
  const said = 'toString. Available providers: openai, ollama'
  expect(() => registry.reranker(ref('toString'))).toThrow(said)
})

test.each([
  ['openai without a key', ref('openai'), 'api_key is required for https://api.openai.com'],
  ['cohere without a key', ref('cohere'), 'api_key is required for https://api.cohere.com'],
  ['jina without a key', ref('jina'), 'api_key is required for https://api.jina.ai'],
  ['vllm without an address', ref('vllm'), 'base_url is required'],
  ['tei without an address', ref('tei', { baseUrl: ' ' }), 'base_url is required'],
  ['an address that is none', ref('rerank', { baseUrl: 'file:///x' }), 'base_url must be'],
  ['openai without a model', ref('openai', { modelName: '', apiKey: 'k' }), '"model_name"'],
  ['vllm without a model', ref('vllm', { modelName: '', baseUrl: 'http://v' }), '"model_name"'],
  ['a wrong option', ref('tei', { baseUrl: 'http://t', options: { mode: 'x' } }), '.mode must'],
])('refuses %s', (_, model, said) => {
  const refused = () => rerankerRegistry({ nowMs }).reranker(model)
  expect(refused).toThrow(said)
  expect(refused).toThrow(expect.objectContaining({ code: 'invalid_knowledge_base' }))
})

test('tei and rerank need no model name', () => {
  const registry = rerankerRegistry({ nowMs })
  for (const provider of ['tei', 'rerank']) {
    const model = ref(provider, { modelName: '', baseUrl: 'http://localhost:1' })
    expect(typeof registry.reranker(model).rerank).toBe('function')
  }
})

test('the key of the settings goes to the address of the settings and no other', async () => {
  await using trusted = scriptedServer(good)
  await using other = scriptedServer(good)
  const registry = rerankerRegistry({
    nowMs,
    openaiApiKey: 'sk-settings',
    openaiBaseUrl: trusted.url,
  })
  await registry.reranker(ref('openai')).rerank('q', ['p'], NEVER)
  await registry.reranker(ref('openai', { baseUrl: other.url })).rerank('q', ['p'], NEVER)
  expect(trusted.seen[0]?.headers.get('authorization')).toBe('Bearer sk-settings')
  expect(other.seen[0]?.headers.get('authorization')).toBe('Bearer none')
})

test('the same reference keeps what was learned, and old ones are forgotten', () => {
  const registry = rerankerRegistry({ nowMs })
  const model = (name: string) => ref('rerank', { modelName: name, baseUrl: 'http://localhost:1' })
  const first = registry.reranker(model('first'))
  for (let count = 0; count < 63; count += 1) registry.reranker(model(`m${count}`))
  expect(registry.reranker(model('first'))).toBe(first)
  for (let count = 0; count < 64; count += 1) registry.reranker(model(`n${count}`))
  expect(registry.reranker(model('first'))).not.toBe(first)
})

test('options have the defaults that existing clients know', () => {
  expect(rerankOptionsOf(ref('openai'))).toEqual({
    method: 'multi-class',
    mode: 'pointwise',
    callsAtOnceMax: 20,
    retriesMax: 3,
    retryDelayMs: 1000,
    requestTimeoutMs: 20_000,
    timeoutMs: 30_000,
    topLogprobs: 4,
    answerTokensMax: 100,
    hasRawScores: null,
  })
})

test('options that are not known are ignored', () => {
  const options = { early_stop: true, early_stop_threshold: 0.8, n: 1, made_up: {} }
  expect(rerankOptionsOf(ref('openai', { options }))).toEqual(rerankOptionsOf(ref('openai')))
})

test.each([
  [{ method: 'best' }, 'method must be one of multi-class, binary, no-logprobs'],
  [{ mode: 'pairwise' }, 'mode must be one of pointwise, listwise'],
  [{ max_concurrent_requests: 0 }, 'max_concurrent_requests must be a whole number from 1 to 100'],
  [{ max_concurrent_requests: 1.5 }, 'max_concurrent_requests must be a whole number'],
  [{ max_retries: -1 }, 'max_retries must be a whole number from 0 to 10'],
  [{ max_retries: '3' }, 'max_retries must be a whole number'],
  [{ retry_delay: Number.NaN }, 'retry_delay must be a number from 0 to 10'],
  [{ request_timeout: 0 }, 'request_timeout must be a number'],
  [{ timeout: 1e9 }, 'timeout must be a number'],
  [{ top_logprobs: 21 }, 'top_logprobs must be a whole number from 1 to 20'],
  [{ logprobs: 'yes' }, 'logprobs must be true or false'],
  [{ filtering_threshold: 2 }, 'filtering_threshold must be a number from 0 to 1'],
  [{ num_docs_to_keep: 0 }, 'num_docs_to_keep must be a whole number'],
])('refuses the options %p', (options, said) => {
  expect(() => rerankOptionsOf(ref('openai', { options }))).toThrow(`reranking_model.${said}`)
})
