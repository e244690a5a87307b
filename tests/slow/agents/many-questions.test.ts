import { expect, test } from 'bun:test'
import { AgentPool } from '../../../src/agents/questions/agent-pool.ts'
import { rowsOf } from '../../../src/core/domain/query-result.ts'
import {
  agentNamed,
  collected,
  kbNamed,
  snapshotOf,
  streamOf,
  transcript,
} from '../../agents/agent-fixture.ts'
import { NO_TRACES } from '../../support/absent-parts.ts'
import { fakeSources } from '../../support/fake-sources.ts'
import { isEverything } from '../../support/sample.ts'

const QUESTIONS = isEverything ? 150 : 60
const ACTS = ['query output', 'throw', 'exit', 'reject', 'garbage', 'hang', 'spin', 'embed output']

test('hundreds of questions, half of them to broken agents, each get one end', async () => {
  const pool = new AgentPool(
    {
      agentsMax: 12,
      agentQuestionsMax: 12,
      agentQueueMax: QUESTIONS,
      agentTimeoutSeconds: 60,
      agentStepsMax: 10,
      observationBytesMax: 32_768,
      defaultModel: null,
      chatDefaults: {},
      sparesMax: 2,
      workerUrl: new URL('../../agents/fixtures/scripted-agent.ts', import.meta.url).href,
    },
    {
      catalog: { snapshot: () => snapshotOf({ knowledgeBases: [kbNamed('mindsdb.docs')] }) },
      select: async () => rowsOf(['a'], [['1']]),
      sources: fakeSources({}),
      embed: async (texts) => texts.map(() => Float32Array.of(1)),
      chatProviders: ['builtin'],
      traces: NO_TRACES,
      newTraceId: () => crypto.randomUUID(),
    },
  )
  const outcomes = Array.from({ length: QUESTIONS }, async (_, index) => {
    const question = ACTS[index % ACTS.length] ?? ''
    const controller = new AbortController()
    const isEndless = question === 'hang' || question === 'spin'
    const request = { agent: agentNamed('helper'), question, history: [], deltas: false }
    const events = streamOf(pool, request, controller.signal)
    await events.next()
    // A thread in an endless loop, or one that is still starting.
    if (isEndless) setTimeout(() => controller.abort(), index % 50)
    const lines = transcript(await collected(events))
    return { question, lines }
  })
  for (const { question, lines } of await Promise.all(outcomes)) {
    expect(lines.filter((line) => line === 'end')).toHaveLength(1)
    expect(lines.at(-1)).toBe('end')
    expect(lines.includes('output The answer')).toBe(question.endsWith('output'))
  }
  expect(pool.load).toEqual({ running: 0, waiting: 0 })
  pool.close()
}, 180_000)
