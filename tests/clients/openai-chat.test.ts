import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { clientResult, clientTest } from './client-programs.ts'
import { type TeaServer, teaServer } from './teas.ts'

const ANSWER = 'Rooibos comes from South Africa [rooibos:content:1of1:0to85].'

let teas: TeaServer
beforeAll(async () => {
  teas = await teaServer()
})
afterAll(() => teas.close())

describe("OpenAI's own client", () => {
  clientTest(
    'for TypeScript lists models, asks, streams and parses',
    async () => {
      const said = await clientResult('openai-chat.mjs', teas.environment)
      expect(said).toMatchObject({
        models: ['mindsdb.sommelier', 'mindsdb.teas'],
        named: 'mindsdb.sommelier',
        id: expect.stringMatching(/^chatcmpl-[0-9a-f-]{36}$/),
        requestId: expect.any(String),
        content: ANSWER,
        cited: [{ type: 'url_citation', url_citation: { title: 'rooibos' } }],
        finish: 'stop',
        usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
        streamed: ANSWER,
        streamedUsage: { total_tokens: 120 },
        streamedCited: 1,
        helped: ANSWER,
        parsed: { origin: 'South Africa', caffeine: false },
        base: expect.stringContaining('South Africa'),
        refused: { name: 'NotFoundError', status: 404, code: 'model_not_found' },
      })
      const [first] = teas.model.requests[0]?.messages ?? []
      expect(first?.content).toContain('Answer in one sentence.')
    },
    60_000,
  )

  clientTest(
    'for Python lists models, asks, streams and parses',
    async () => {
      const said = await clientResult('openai_chat.py', teas.environment)
      expect(said).toMatchObject({
        models: ['mindsdb.sommelier', 'mindsdb.teas'],
        content: ANSWER,
        cited: ['rooibos'],
        usage: 120,
        streamed: ANSWER,
        streamed_usage: 120,
        helped: ANSWER,
        parsed: { origin: 'South Africa', caffeine: false },
        thought: expect.stringContaining('kb_query_tool'),
        ignored: 'seed',
        refused: 'model_not_found',
      })
    },
    60_000,
  )
})
