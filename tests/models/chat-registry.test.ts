import { expect, test } from 'bun:test'
import type { ModelRef } from '../../src/core/domain/model-ref.ts'
import { CHAT_PROVIDERS } from '../../src/core/domain/model-ref.ts'
import { chatModelOf } from '../../src/models/registries/chat-registry.ts'
import { heard, QUESTION, textOf } from './fixtures/chat-support.ts'
import { eventStream, scriptedServer, thrownBy } from './fixtures/scripted-server.ts'

const embed = () => Promise.reject(new Error('not expected'))
const ref = (provider: string, rest: Partial<ModelRef> = {}): ModelRef => {
  return { provider, modelName: 'm', options: {}, ...rest }
}
const hello = () => {
  const choices = [{ index: 0, delta: { content: 'hello' }, finish_reason: 'stop' }]
  return eventStream([{ choices }, '[DONE]'])
}

test('makes a model of each provider that it names', async () => {
  for (const provider of CHAT_PROVIDERS) {
    const model = await chatModelOf(
      ref(provider, {
        apiKey: 'k',
        ...(/azure/.test(provider) ? { baseUrl: 'https://r.invalid' } : {}),
      }),
      {},
      { embed: embed },
    )
    expect(typeof model.respond).toBe('function')
  }
})

test('refuses an unknown provider and lists the known ones', async () => {
  const error = await thrownBy(chatModelOf(ref('acme'), {}, { embed: embed }))
  expect(error).toMatchObject({ code: 'unknown_provider' })
  expect(String(error)).toContain('acme. Available providers: builtin, openai, anthropic')
})

test.each([
  ['openai', {}, 'api_key is required for https://api.openai.com'],
  ['anthropic', {}, 'api_key is required for https://api.anthropic.com'],
  ['openai', { apiKey: 'k', modelName: '' }, 'needs model_name'],
  ['anthropic', { apiKey: 'k', baseUrl: 'file:///etc/passwd' }, 'base_url'],
])('refuses %s with %p', async (provider, rest, said) => {
  const error = await thrownBy(chatModelOf(ref(provider, rest), {}, { embed: embed }))
  expect(error).toMatchObject({ code: 'invalid_agent' })
  expect(String(error)).toContain(said)
})

test('uses address and key of the settings, which stay together', async () => {
  await using server = scriptedServer(hello)
  await using other = scriptedServer(hello)
  const defaults = { openaiBaseUrl: server.url, openaiApiKey: 'sk-settings' }
  const model = await chatModelOf(ref('openai'), defaults, { embed: embed })
  expect(textOf(await heard(model, QUESTION))).toBe('hello')
  const elsewhere = await chatModelOf(ref('openai', { baseUrl: other.url }), defaults, {
    embed: embed,
  })
  await heard(elsewhere, QUESTION)
  expect(server.seen[0]?.headers.get('authorization')).toBe('Bearer sk-settings')
  expect(other.seen[0]?.headers.get('authorization')).toBe('Bearer none')
})
