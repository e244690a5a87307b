import { afterEach, describe, expect, test } from 'bun:test'
import { type AgentDeps, AgentPool } from '../../src/agents/questions/agent-pool.ts'
import { rowsOf } from '../../src/core/domain/query-result.ts'
import { NO_TRACES } from '../support/absent-parts.ts'
import { fakeSources } from '../support/fake-sources.ts'
import {
  agentNamed,
  collected,
  kbNamed,
  snapshotOf,
  streamOf,
  transcript,
} from './agent-fixture.ts'
import { type ChatServer, chatServer, type Said } from './chat-server.ts'

const CHUNK_ID = '7:content:1of1:0to27'
const COLUMNS = ['id', 'chunk_id', 'chunk_content', 'relevance', 'distance']
const SQL = "SELECT * FROM mindsdb.docs WHERE content = 'return' LIMIT 5"

const cleanups: (() => void)[] = []

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

function poolWith(deps: Partial<AgentDeps> = {}) {
  const pool = new AgentPool(
    {
      agentsMax: 4,
      agentQuestionsMax: 4,
      agentQueueMax: 0,
      agentTimeoutSeconds: 20,
      agentStepsMax: 10,
      observationBytesMax: 32_768,
      defaultModel: null,
      chatDefaults: {},
      sparesMax: 0,
      workerUrl: new URL('../../src/wiring/threads/agent-entry.ts', import.meta.url).href,
    },
    {
      catalog: { snapshot: () => snapshotOf({ knowledgeBases: [kbNamed('mindsdb.docs')] }) },
      select: async () => {
        return rowsOf(COLUMNS, [['7', CHUNK_ID, 'You may return it in 30 days', 0.9, 0.1]])
      },
      sources: fakeSources({}),
      embed: async (texts) => texts.map(() => Float32Array.of(1, 0, 0)),
      chatProviders: ['builtin', 'openai', 'anthropic'],
      traces: NO_TRACES,
      newTraceId: () => crypto.randomUUID(),
      ...deps,
    },
  )
  cleanups.push(() => pool.close())
  return pool
}

function served(...turns: readonly Said[]): ChatServer {
  const server = chatServer(...turns)
  cleanups.push(() => server.close())
  return server
}

function agentOf(server: ChatServer) {
  const options = {}
  const model = { provider: 'openai', modelName: 'm', apiKey: 'k-123456789', options }
  return agentNamed('helper', { model: { ...model, baseUrl: server.url } })
}

function asked(agent = agentNamed('helper')) {
  return { agent, question: 'In how many days may I return it?', history: [], deltas: false }
}

describe('a question to an agent', () => {
  test('runs through the openai provider, its tools and back', async () => {
    const server = served(
      { kind: 'call', name: 'kb_query_tool', input: { sql_query: SQL } },
      { kind: 'text', pieces: ['In 30 days ', `[${CHUNK_ID}].`] },
    )
    const events = await collected(streamOf(poolWith(), asked(agentOf(server))))
    expect(transcript(events)).toEqual([
      'start',
      'actions kb_query_tool',
      expect.stringContaining(`7,${CHUNK_ID},You may return it in 30 days,0.9,0.1\r\n`),
      `output In 30 days [${CHUNK_ID}].`,
      'end',
    ])
    expect(events[1]).toMatchObject({ actions: [{ tool_input: SQL }] })
    expect(events[3]).toMatchObject({ citations: [{ chunk_id: CHUNK_ID, document_id: '7' }] })
    expect(server.requests).toHaveLength(2)
    expect(server.requests[0]).toMatchObject({ model: 'm', stream: true })
  })

  test('a provider that refuses the key is an error of that type, without the key', async () => {
    const server = served({ kind: 'status', status: 401 })
    const events = await collected(streamOf(poolWith(), asked(agentOf(server))))
    expect(events).toHaveLength(3)
    expect(events[1]).toMatchObject({ type: 'error', error_type: 'authentication' })
    expect(JSON.stringify(events)).not.toContain('k-123456789')
  })

  test('when the client disconnects, the call to the provider ends', async () => {
    const server = served({ kind: 'stall' })
    const controller = new AbortController()
    const events = streamOf(poolWith(), asked(agentOf(server)), controller.signal)
    await events.next()
    const rest = collected(events)
    while (server.requests.length === 0) await Bun.sleep(5)
    controller.abort()
    await server.hasLeft
    expect(transcript(await rest).at(-1)).toBe('end')
  })

  test('is answered by the built-in model without a key', async () => {
    const model = { provider: 'builtin', modelName: 'extractive', options: {} }
    const events = await collected(streamOf(poolWith(), asked(agentNamed('helper', { model }))))
    const kinds = transcript(events).map((line) => line.split(' ')[0] ?? '')
    expect(kinds.join(' ')).toMatch(/^start(?: actions steps)+ output end$/)
    expect(events.at(-2)).toMatchObject({ citations: [{ chunk_id: CHUNK_ID }] })
  })
})
