/** Which thread answers a question, and what the question leaves for the next one. */
import { afterEach, describe, expect, test } from 'bun:test'
import { AgentPool, type AgentPoolOptions } from '../../src/agents/questions/agent-pool.ts'
import { AGENT_LIMITS } from '../../src/core/domain/agents/agent-limits.ts'
import { rowsOf } from '../../src/core/domain/query-result.ts'
import { NO_TRACES } from '../support/absent-parts.ts'
import { fakeSources } from '../support/fake-sources.ts'
import {
  agentNamed,
  collected,
  NO_SIGNAL,
  snapshotOf,
  streamOf,
  transcript,
} from './agent-fixture.ts'

const open: AgentPool[] = []

afterEach(() => {
  for (const pool of open.splice(0)) pool.close()
})

function poolWith(options: Partial<AgentPoolOptions> = {}, collect = () => {}): AgentPool {
  const pool = new AgentPool(
    {
      agentsMax: 64,
      agentQuestionsMax: 64,
      agentQueueMax: 0,
      agentTimeoutSeconds: 60,
      agentStepsMax: 10,
      observationBytesMax: 32_768,
      defaultModel: null,
      chatDefaults: {},
      sparesMax: 0,
      workerUrl: new URL('./fixtures/scripted-agent.ts', import.meta.url).href,
      ...options,
    },
    {
      catalog: { snapshot: () => snapshotOf({}) },
      select: async () => rowsOf(['a'], [['1']]),
      sources: fakeSources({}),
      embed: async (texts) => texts.map(() => Float32Array.of(1)),
      chatProviders: ['builtin'],
      traces: NO_TRACES,
      collect,
      newTraceId: () => crypto.randomUUID(),
    },
  )
  open.push(pool)
  return pool
}

function stream(pool: AgentPool, question: string, agentId = 1, signal = NO_SIGNAL) {
  const agent = agentNamed(`agent${agentId}`, { id: agentId })
  return streamOf(pool, { agent, question, history: [], deltas: true }, signal)
}

async function lines(pool: AgentPool, question: string, agentId = 1): Promise<readonly string[]> {
  return transcript(await collected(stream(pool, question, agentId)))
}

/** Returns the thread that answers, by the number that it drew. */
async function who(pool: AgentPool, agentId = 1, before = ''): Promise<string> {
  const [, output = ''] = await lines(pool, `${before} who`, agentId)
  expect(output).toStartWith('output ')
  return output
}

describe('a thread', () => {
  test('answers the next question of its agent, but none of another agent', async () => {
    const pool = poolWith()
    const first = await who(pool)
    expect(await who(pool)).toBe(first)
    const other = await who(pool, 2)
    expect(other).not.toBe(first)
    expect(await who(pool)).toBe(first)
    expect(await who(pool, 2)).toBe(other)
  })

  test('is shared only where an agent has as many threads as it may', async () => {
    const pool = poolWith()
    const count = AGENT_LIMITS.threadsPerAgent + 3
    const answers = await Promise.all(Array.from({ length: count }, () => who(pool, 1, 'pause')))
    expect(new Set(answers).size).toBe(AGENT_LIMITS.threadsPerAgent)
  })

  test.each(['throw', 'exit', 'garbage', 'nonsense'])(
    'that did "%s" is not used again',
    async (act) => {
      const pool = poolWith()
      const first = await who(pool)
      expect((await lines(pool, act)).at(-2)).toStartWith('error general: The agent stopped')
      expect(await who(pool)).not.toBe(first)
    },
  )

  test('that still works on an abandoned question is not used again', async () => {
    const pool = poolWith()
    const first = await who(pool)
    const controller = new AbortController()
    const events = stream(pool, 'actions hang', 1, controller.signal)
    await events.next()
    await events.next()
    controller.abort()
    await collected(events)
    // The thread ignores the abort, so another one answers and the first one is ended.
    await Bun.sleep(AGENT_LIMITS.leaveMs + 50)
    expect(await who(pool)).not.toBe(first)
  })

  test('drops late messages of a question', async () => {
    const pool = poolWith()
    const first = await who(pool)
    expect(await lines(pool, 'late-output output')).toContain('output The answer')
    expect(await who(pool, 1, 'pause')).toBe(first)
  })
})

test('what many questions leave behind is collected, once for a thousand', async () => {
  let collections = 0
  const pool = poolWith({}, () => {
    collections += 1
  })
  for (let asked = 0; asked < AGENT_LIMITS.questionsPerCollection - 50; asked += 50) {
    await Promise.all(Array.from({ length: 50 }, () => lines(pool, 'output')))
  }
  expect(collections).toBe(0)
  await Promise.all(Array.from({ length: 50 }, () => lines(pool, 'output')))
  expect(collections).toBe(1)
})

describe('a spare thread', () => {
  test('has loaded what the agent that was made last will need', async () => {
    const pool = poolWith({ sparesMax: 1 })
    pool.start()
    pool.expect({ provider: 'anthropic', modelName: 'm', options: {} })
    expect(await lines(pool, 'prepared')).toContain('output anthropic')
  })
})

describe('questions that share a thread with one that breaks it', () => {
  const fill = (pool: AgentPool, question: string) => {
    return Array.from({ length: AGENT_LIMITS.threadsPerAgent * 3 }, () => lines(pool, question))
  }

  test('are asked again where they have shown nothing', async () => {
    const pool = poolWith()
    const others = fill(pool, 'pause output')
    const broken = await lines(pool, 'throw')
    expect(broken.at(-2)).toStartWith('error general: The agent stopped')
    for (const other of await Promise.all(others)) {
      expect(other).toEqual(['start', 'output The answer', 'end'])
    }
    expect(pool.load).toEqual({ running: 0, waiting: 0 })
  })

  test('end with an error where they have shown something, and no event comes twice', async () => {
    const pool = poolWith()
    const others = fill(pool, 'actions pause output')
    await lines(pool, 'pause throw')
    const ends = await Promise.all(others)
    for (const other of ends) {
      expect(other.filter((line) => line.startsWith('actions'))).toHaveLength(1)
      expect(other.filter((line) => line === 'end')).toHaveLength(1)
      expect(other.at(-1)).toBe('end')
    }
    expect(ends.some((other) => other.includes('output The answer'))).toBe(true)
  })
})
