/** What frameworks send to `/v1/chat/completions` with their own packages. */
import { afterAll, beforeAll, expect } from 'bun:test'
import { clientResult, clientTest } from './client-programs.ts'
import { type TeaServer, teaServer } from './teas.ts'

const ANSWER = 'Rooibos comes from South Africa [rooibos:content:1of1:0to85].'
const OBJECT = { origin: 'South Africa', caffeine: false }

let teas: TeaServer
beforeAll(async () => {
  teas = await teaServer()
})
afterAll(() => teas.close())

function programTest(title: string, program: string, expected: object): void {
  const run = async () => {
    expect(await clientResult(program, teas.environment)).toMatchObject(expected)
  }
  clientTest(title, run, 60_000)
}

programTest('LangChain for TypeScript', 'langchain-chat.mjs', {
  content: ANSWER,
  usage: { input_tokens: 100, output_tokens: 20 },
  streamed: ANSWER,
  streamedUsage: { total_tokens: 120 },
  bySchema: OBJECT,
  byCall: OBJECT,
})

programTest('LangChain for Python', 'langchain_chat.py', {
  content: ANSWER,
  usage: 120,
  streamed: ANSWER,
  streamed_usage: 120,
  by_schema: OBJECT,
  by_call: OBJECT,
})

programTest('LlamaIndex for TypeScript', 'llamaindex-chat.mjs', {
  content: ANSWER,
  streamed: ANSWER,
})

programTest('LlamaIndex for Python', 'llamaindex_chat.py', {
  content: ANSWER,
  streamed: ANSWER,
  completed: ANSWER,
})

const told = {
  text: ANSWER,
  usage: 120,
  streamed: ANSWER,
  streamedUsage: 120,
  finish: 'stop',
  object: OBJECT,
}

programTest('the AI SDK', 'ai-sdk-chat.mjs', {
  compatible: {
    ...told,
    reasoning: expect.stringContaining('kb_query_tool'),
    streamedReasoning: expect.stringContaining('kb_query_tool'),
  },
  official: { ...told, sources: ['rooibos'], streamedSources: 1 },
})
