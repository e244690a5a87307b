import { afterEach, describe, expect, test } from 'bun:test'
import {
  type AgentDeps,
  AgentPool,
  type AgentPoolOptions,
} from '../../src/agents/questions/agent-pool.ts'
import type { Agent } from '../../src/core/domain/agents/agent.ts'
import { rowsOf } from '../../src/core/domain/query-result.ts'
import { AppError } from '../../src/core/errors.ts'
import { NO_TRACES } from '../support/absent-parts.ts'
import { fakeSources } from '../support/fake-sources.ts'
import {
  agentNamed,
  collected,
  kbNamed,
  NO_SIGNAL,
  snapshotOf,
  streamOf,
  transcript,
} from './agent-fixture.ts'

const SCRIPTED = new URL('./fixtures/scripted-agent.ts', import.meta.url).href
const CHUNK_ID = '7:content:1of1:0to8'

const OPTIONS: AgentPoolOptions = {
  agentsMax: 4,
  agentQuestionsMax: 2,
  agentQueueMax: 1,
  agentTimeoutSeconds: 20,
  agentStepsMax: 10,
  observationBytesMax: 32_768,
  defaultModel: null,
  chatDefaults: {},
  sparesMax: 0,
  workerUrl: SCRIPTED,
}

const DEPS: AgentDeps = {
  catalog: { snapshot: () => snapshotOf({ knowledgeBases: [kbNamed('mindsdb.docs')] }) },
  select: async () => {
    const columns = ['id', 'chunk_id', 'chunk_content', 'relevance']
    return rowsOf(columns, [['7', CHUNK_ID, '30 days.', 0.9]])
  },
  sources: fakeSources({}),
  embed: async (texts) => texts.map(() => Float32Array.of(1, 0, 0)),
  chatProviders: ['builtin'],
  traces: NO_TRACES,
  newTraceId: () => 'trace-1',
}

const open: AgentPool[] = []

afterEach(() => {
  for (const pool of open.splice(0)) pool.close()
})

function poolWith(options: Partial<AgentPoolOptions> = {}, deps: Partial<AgentDeps> = {}) {
  const pool = new AgentPool({ ...OPTIONS, ...options }, { ...DEPS, ...deps })
  open.push(pool)
  return pool
}

function asked(question: string, agent: Agent = agentNamed('helper'), deltas = false) {
  return { agent, question, history: [], deltas }
}

function ask(pool: AgentPool, question: string, signal = NO_SIGNAL) {
  return streamOf(pool, asked(question), signal)
}

async function linesOf(pool: AgentPool, question: string) {
  return transcript(await collected(ask(pool, question)))
}

/** Resolves at the first event, so the slot is taken and the thread is working. */
async function started(pool: AgentPool, question: string, signal = NO_SIGNAL) {
  const events = ask(pool, question, signal)
  await events.next()
  return events
}

const STOPPED = 'error general: The agent stopped unexpectedly: its thread'

describe('ask', () => {
  test('passes the events of the thread on, under our own trace id', async () => {
    const events = await collected(ask(poolWith(), 'actions steps output'))
    expect(transcript(events)).toEqual([
      'start',
      'actions kb_list_tool',
      'steps rows',
      'output The answer',
      'end',
    ])
    const ids = events.flatMap((event) => ('trace_id' in event ? [event.trace_id] : []))
    expect(ids).toEqual(['trace-1', 'trace-1', 'trace-1', 'trace-1'])
    expect(events[0]).toMatchObject({ prompt: 'actions steps output' })
  })

  test('attaches the citations and warnings that the main thread knows of', async () => {
    const data = { knowledgeBases: ['mindsdb.docs', 'mindsdb.gone'], tables: [] }
    const question = asked('query output-citing', agentNamed('helper', { data }))
    const events = await collected(streamOf(poolWith(), question))
    expect(events.at(-2)).toMatchObject({
      citations: [{ knowledge_base: 'mindsdb.docs', chunk_id: CHUNK_ID, text: '30 days.' }],
      warnings: ['No knowledge base found: mindsdb.gone'],
    })
  })

  test('rejects events that a thread forges', async () => {
    const events = await collected(ask(poolWith(), 'start delta output'))
    expect(transcript(events)).toEqual(['start', 'output The answer', 'end'])
    expect(events[1]).toMatchObject({ citations: [], warnings: [] })
  })

  test('passes deltas on when they are asked for', async () => {
    const question = asked('delta output', agentNamed('helper'), true)
    const events = await collected(streamOf(poolWith(), question))
    expect(transcript(events)).toEqual(['start', 'delta piece', 'output The answer', 'end'])
  })

  test.each([
    ['throw', `${STOPPED} failed`],
    ['reject', `${STOPPED} failed`],
    ['exit', `${STOPPED} ended with exit code 3`],
    ['garbage', `${STOPPED} sent a message without meaning`],
    ['nonsense', `${STOPPED} sent a message without meaning`],
    ['error', `${STOPPED} sent a message without meaning`],
    ['unknown-failure', `${STOPPED} sent a message without meaning`],
    ['bulk', `${STOPPED} sent more than 64000000 characters`],
    ['end', `${STOPPED} ended without an answer`],
    ['unknown-tool', 'error general: There is no tool "rm"'],
    ['rate-limited', 'error rate_limit: it answered 429'],
    ['step-limit', 'error timeout: No answer'],
  ])('a thread that does "%s" ends the stream with one error and one end', async (act, error) => {
    const pool = poolWith()
    expect(await linesOf(pool, `actions ${act}`)).toEqual([
      'start',
      'actions kb_list_tool',
      error,
      'end',
    ])
    expect(pool.load).toEqual({ running: 0, waiting: 0 })
  })

  test('the log hears of a failure with its cause', async () => {
    const bug = new TypeError('x is not a function')
    const heard: unknown[] = []
    const select = () => Promise.reject(bug)
    const events = streamOf(poolWith({}, { select }), asked('query'), NO_SIGNAL, (error, traceId) =>
      heard.push(error.cause, traceId),
    )
    const lines = transcript(await collected(events))
    expect(lines).toEqual(['start', 'error general: Internal error', 'end'])
    expect(heard).toEqual([bug, 'trace-1'])
  })

  test('nothing comes after the answer, even if the thread still sends events', async () => {
    const lines = await linesOf(poolWith(), 'output output end actions throw')
    expect(lines).toEqual(['start', 'output The answer', 'end'])
  })

  test('a crash of one agent leaves the others alone', async () => {
    const pool = poolWith({ agentQuestionsMax: 3 })
    const questions = ['throw', 'query output', 'exit']
    const lines = await Promise.all(questions.map((question) => linesOf(pool, question)))
    expect(lines[1]).toEqual(['start', 'output The answer', 'end'])
  })

  test('the deadline ends even an endless loop', async () => {
    const pool = poolWith()
    const question = asked('spin', agentNamed('helper', { params: { timeoutSeconds: 0.2 } }))
    const lines = transcript(await collected(streamOf(pool, question)))
    const error =
      'error timeout: The agent gave no answer within 0.2 seconds (timeout of the agent, or EIDER_AGENT_TIMEOUT_SECONDS)'
    expect(lines).toEqual(['start', error, 'end'])
    expect(pool.load.running).toBe(0)
  })

  test('an abort ends the thread, the running SQL and the stream', async () => {
    const controller = new AbortController()
    const running = Promise.withResolvers<AbortSignal>()
    const pool = poolWith(
      {},
      {
        select: (_sql, _scope, signal) => {
          running.resolve(signal)
          return new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          })
        },
      },
    )
    const events = await started(pool, 'query output', controller.signal)
    const rest = collected(events)
    const sqlSignal = await running.promise
    controller.abort()
    expect(sqlSignal.aborted).toBe(true)
    expect(pool.load.running).toBe(0)
    const lines = transcript(await rest)
    expect(lines).toEqual(['error general: The question was cancelled', 'end'])
  })

  test('an abort ends even an endless loop', async () => {
    const controller = new AbortController()
    const pool = poolWith()
    const events = await started(pool, 'actions spin', controller.signal)
    await events.next()
    controller.abort()
    expect(transcript(await collected(events)).at(-1)).toBe('end')
    expect(pool.load.running).toBe(0)
  })

  test('a reader that leaves ends the thread and gives the place back', async () => {
    const pool = poolWith()
    const events = await started(pool, 'actions hang')
    expect(pool.load.running).toBe(1)
    await events.next()
    await events.return()
    expect(pool.load.running).toBe(0)
  })

  test('a reader that stops reading does not keep its place beyond the deadline', async () => {
    const pool = poolWith({ agentTimeoutSeconds: 0.2, agentQuestionsMax: 1 })
    await started(pool, 'hang')
    const patient = asked('output', agentNamed('helper', { params: { timeoutSeconds: 20 } }))
    const lines = transcript(await collected(streamOf(pool, patient)))
    expect(lines).toEqual(['start', 'output The answer', 'end'])
  })

  test('an embedding comes from the main thread', async () => {
    const texts: string[] = []
    const embed: AgentDeps['embed'] = async (some) => {
      texts.push(...some)
      return some.map(() => Float32Array.of(1))
    }
    expect(await linesOf(poolWith({}, { embed }), 'embed output')).toContain('output The answer')
    expect(texts).toEqual(['a', 'b'])
  })

  test('warm threads answer one question each', async () => {
    const pool = poolWith({ sparesMax: 1 })
    pool.start()
    for (let asking = 0; asking < 3; asking += 1) {
      expect(await linesOf(pool, 'output')).toContain('output The answer')
    }
  })
})

test('threads that do not come up, spare ones or not, are an error like any other', async () => {
  const workerUrl = new URL('./fixtures/broken-agent.ts', import.meta.url).href
  const pool = poolWith({ workerUrl, sparesMax: 1 })
  pool.start()
  for (let asking = 0; asking < 3; asking += 1) {
    expect(await linesOf(pool, 'output')).toEqual(['start', `${STOPPED} failed`, 'end'])
  }
})

describe('before the first event', () => {
  const first = (pool: AgentPool, question = asked('output')) => {
    return streamOf(pool, question).next()
  }

  test('an unknown provider is refused', async () => {
    const model = { provider: 'nobody', modelName: 'x', options: {} }
    const failure = first(poolWith(), asked('output', agentNamed('helper', { model })))
    await expect(failure).rejects.toMatchObject({
      code: 'unknown_provider',
      message: 'Wrong model provider: nobody. Available providers: builtin',
    })
  })

  test('an empty and a huge question are refused', async () => {
    await expect(first(poolWith(), asked(' '))).rejects.toMatchObject({ code: 'invalid_request' })
    const huge = asked('é'.repeat(40_000))
    await expect(first(poolWith(), huge)).rejects.toThrow('at most 65536 bytes')
  })

  test('a full queue refuses, and a free place lets the next one in', async () => {
    const pool = poolWith({ agentsMax: 1, agentQueueMax: 1 })
    const running = await started(pool, 'hang')
    const waiting = collected(ask(pool, 'output'))
    expect(pool.load).toEqual({ running: 1, waiting: 1 })
    await expect(first(pool)).rejects.toMatchObject({ code: 'too_many_questions' })
    await running.return()
    expect(transcript(await waiting)).toEqual(['start', 'output The answer', 'end'])
    expect(pool.load).toEqual({ running: 0, waiting: 0 })
  })

  test('one busy agent does not keep another waiting', async () => {
    const pool = poolWith({ agentsMax: 4, agentQuestionsMax: 1, agentQueueMax: 5 })
    const running = await started(pool, 'hang')
    const waiting = ask(pool, 'output').next()
    const other = asked('output', agentNamed('other', { id: 2 }))
    const lines = transcript(await collected(streamOf(pool, other)))
    expect(lines).toContain('output The answer')
    expect(pool.load).toEqual({ running: 1, waiting: 1 })
    await running.return()
    expect(await waiting).toMatchObject({ value: { type: 'start' } })
  })

  test('the deadline counts while waiting', async () => {
    const pool = poolWith({ agentsMax: 1, agentTimeoutSeconds: 0.2 })
    const slow = agentNamed('slow', { params: { timeoutSeconds: 60 } })
    await streamOf(pool, asked('hang', slow)).next()
    await expect(first(pool)).rejects.toMatchObject({ code: 'timeout' })
    expect(pool.load).toEqual({ running: 1, waiting: 0 })
  })

  test('a caller that is gone gets no thread', async () => {
    const pool = poolWith()
    const events = ask(pool, 'output', AbortSignal.abort())
    await expect(events.next()).rejects.toMatchObject({ code: 'cancelled' })
    expect(pool.load.running).toBe(0)
  })
})

describe('close', () => {
  test('ends running questions with an error and end, and refuses new ones', async () => {
    const pool = poolWith()
    const events = await started(pool, 'hang')
    const rest = collected(events)
    pool.close()
    const lines = transcript(await rest)
    expect(lines).toEqual(['error general: The server is shutting down', 'end'])
    await expect(ask(pool, 'output').next()).rejects.toMatchObject({ code: 'shutting_down' })
  })
})

describe('complete', () => {
  test('returns the answer with its citations', async () => {
    const answer = await poolWith().complete(asked('query output-citing'), NO_SIGNAL)
    expect(answer).toEqual({
      content: `So it is [${CHUNK_ID}].`,
      traceId: 'trace-1',
      citations: [
        {
          knowledge_base: 'mindsdb.docs',
          document_id: '7',
          chunk_id: CHUNK_ID,
          text: '30 days.',
          start: 0,
          end: 8,
          page: null,
          heading: null,
          relevance: 0.9,
        },
      ],
      evidence: 'answer',
      warnings: [],
      usage: null,
      finish: 'stop',
      seconds: expect.any(Number),
    })
  })

  test('returns what the model was shown where the agent says so', async () => {
    const agent = agentNamed('helper', { params: { returnContext: true } })
    const answer = await poolWith().complete(asked('query output', agent), NO_SIGNAL)
    expect(answer.context).toEqual(['30 days.'])
  })

  test.each([
    ['throw', 'agent_crashed'],
    ['step-limit', 'step_limit'],
    ['rate-limited', 'provider_failed'],
  ])('a question that ends with "%s" fails with %s', async (act, code) => {
    await expect(poolWith().complete(asked(act), NO_SIGNAL)).rejects.toMatchObject({ code })
  })

  test('shows nothing of what a thread threw', async () => {
    const failure = await poolWith()
      .complete(asked('throw'), NO_SIGNAL)
      .catch((error) => error)
    expect(failure).toBeInstanceOf(AppError)
    expect(failure.message).not.toContain('secret')
  })
})
