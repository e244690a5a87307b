import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { percentile } from '../../bench/load.ts'
import { sampleTexts } from '../../bench/sample-texts.ts'
import { STUB_DIMENSIONS, type StubProvider, startStubProvider } from '../../bench/stub-provider.ts'

let stub: StubProvider
let openai: OpenAI
beforeAll(async () => {
  stub = await startStubProvider()
  openai = new OpenAI({ apiKey: 'stub', baseURL: stub.baseUrl, maxRetries: 0, timeout: 5000 })
})
afterAll(() => stub.stop())

async function embed(input: readonly string[]): Promise<readonly (readonly number[])[]> {
  const answer = await openai.embeddings.create({ model: 'stub', input: [...input] })
  return answer.data.map((one) => one.embedding)
}

test('the stub gives one unit vector per text, the same for the same text', async () => {
  const [first, other, again] = await embed(['one text', 'another', 'one text'])
  expect(first).toHaveLength(STUB_DIMENSIONS)
  expect(Math.hypot(...(first ?? []))).toBeCloseTo(1, 5)
  expect(again).toEqual(first ?? [])
  expect(other).not.toEqual(first ?? [])
})

test('the stub calls the query tool with the question once, then answers', async () => {
  const parameters = { type: 'object', properties: { sql: { type: 'string' } } }
  const tools = [{ type: 'function' as const, function: { name: 'kb_query_tool', parameters } }]
  const question = { role: 'user' as const, content: 'SELECT 1' }
  const stream = await openai.chat.completions.create({
    model: 'stub',
    stream: true,
    messages: [question],
    tools,
  })
  const calls = []
  for await (const chunk of stream) calls.push(...(chunk.choices[0]?.delta.tool_calls ?? []))
  expect(calls.map((call) => call.function)).toEqual([
    { name: 'kb_query_tool', arguments: '{"sql":"SELECT 1"}' },
  ])
  const result = { role: 'tool' as const, tool_call_id: 'call_1', content: 'one row' }
  const answer = await openai.chat.completions.create({
    model: 'stub',
    messages: [question, result],
    tools,
  })
  expect(answer.choices[0]?.message.content).toBe('Done')
})

test('sample texts are the same on every run and have the words asked for', async () => {
  const [first, second] = [await sampleTexts(), await sampleTexts()]
  expect(first.text(3, 100)).toBe(second.text(3, 100))
  expect(first.text(3, 100).split(' ')).toHaveLength(100)
  expect(first.text(4, 100)).not.toBe(first.text(3, 100))
})

test('a percentile is the nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1)
  expect([percentile(values, 0.5), percentile(values, 0.99), percentile([7], 0.99)]).toEqual([
    50, 99, 7,
  ])
})
