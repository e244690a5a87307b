import { afterAll, beforeAll, expect } from 'bun:test'
import { clientResult, clientTest } from './client-programs.ts'
import { type TeaServer, teaServer } from './teas.ts'

const ANSWER = 'Rooibos comes from South Africa [rooibos:content:1of1:0to85].'
const OBJECT = { origin: 'South Africa', caffeine: false }
const RESULT = { file_id: 'rooibos', text: expect.stringContaining('Rooibos comes from') }

let teas: TeaServer
beforeAll(async () => {
  teas = await teaServer()
})
afterAll(() => teas.close())

clientTest(
  "OpenAI's client for TypeScript asks, searches files, streams and goes on",
  async () => {
    expect(await clientResult('openai-responses.mjs', teas.environment)).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f-]{36}$/),
      text: ANSWER,
      status: 'completed',
      usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
      annotations: [{ type: 'url_citation', title: 'rooibos', start_index: 32 }],
      second: ANSWER,
      sameConversation: true,
      kept: ANSWER,
      gone: [404, 'trace_not_found'],
      searched: [
        { type: 'file_search_call', status: 'completed', results: [RESULT] },
        { type: 'message', content: [{ annotations: [{ type: 'file_citation' }] }] },
      ],
      types: [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.file_search_call.in_progress',
        'response.file_search_call.searching',
        'response.file_search_call.completed',
        'response.output_item.done',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.annotation.added',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ],
      ordered: true,
      streamed: ANSWER,
      helped: ANSWER,
      parsed: OBJECT,
    })
  },
  60_000,
)

clientTest(
  "OpenAI's client for Python asks, searches files, streams and goes on",
  async () => {
    expect(await clientResult('openai_responses.py', teas.environment)).toMatchObject({
      text: ANSWER,
      second: ANSWER,
      kinds: ['file_search_call', 'message'],
      score: expect.any(Number),
      cited: 'rooibos',
      types: expect.arrayContaining(['response.completed', 'response.output_text.delta']),
      helped: ANSWER,
      parsed: OBJECT,
      usage: 120,
    })
  },
  60_000,
)

clientTest(
  'the AI SDK asks, names its answers by their ids, searches files and streams',
  async () => {
    expect(await clientResult('ai-sdk-responses.mjs', teas.environment)).toMatchObject({
      text: ANSWER,
      sources: ['rooibos'],
      second: ANSWER,
      streamed: ANSWER,
      streamedSources: 1,
      usage: 120,
      object: OBJECT,
    })
    const last = teas.model.requests.findLast(({ messages }) => {
      return messages.some(({ content }) => String(content).includes('And is there caffeine'))
    })
    expect(last?.messages.some(({ content }) => content === ANSWER)).toBe(true)
  },
  60_000,
)
