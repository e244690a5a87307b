import { describe, expect, test } from 'bun:test'
import type { AgentTask, FromWorker } from '../../src/agents/actors/worker-messages.ts'
import { ThreadSessions, WorkerSession } from '../../src/agents/actors/worker-session.ts'
import { AGENT_LIMITS } from '../../src/core/domain/agents/agent-limits.ts'
import type { ChatModel } from '../../src/core/domain/ports/model-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { call, scriptedModel } from './agent-fixture.ts'

const TASK: AgentTask = {
  question: 'Why?',
  history: [],
  systemPrompt: '',
  tools: [{ name: 'kb_list_tool', description: '', input: null }],
  model: { provider: 'builtin', modelName: 'fake', options: {} },
  chatDefaults: {},
  timeoutMs: 60_000,
  maxSteps: 2,
  deltas: true,
}

/** A session for which the test plays the main thread. */
function sessionWith(chatModel: () => Promise<ChatModel>) {
  const posted: FromWorker[] = []
  const session = new WorkerSession({
    post: (message) => posted.push(message),
    chatModel,
  })
  return { session, posted }
}

describe('WorkerSession', () => {
  test('asks the main thread for its tools and sends its events', async () => {
    const { model } = scriptedModel([call('kb_list_tool')], ['Done'])
    const { session, posted } = sessionWith(async () => model)
    const asked = session.answer({ ...TASK, deltas: false })
    await new Promise(setImmediate)
    const request = { kind: 'tool_call', id: 1, name: 'kb_list_tool', input: '' } as const
    expect(posted).toContainEqual(request)
    session.receive({ kind: 'tool_result', id: 1, observation: '["docs"]' })
    await asked
    const events = posted.flatMap((message) =>
      message.kind === 'event' ? [message.event.type] : [],
    )
    expect(events).toEqual(['start', 'turn', 'action', 'step', 'turn', 'output', 'end'])
    expect(posted.at(-1)).toEqual({ kind: 'event', event: { type: 'end' } })
  })

  test('pauses the model while the client does not read', async () => {
    let said = 0
    const model: ChatModel = {
      async *respond() {
        for (said = 0; said < 1000; said += 1) yield { kind: 'text', text: 'x' }
      },
    }
    const { session, posted } = sessionWith(async () => model)
    const asked = session.answer(TASK)
    await new Promise(setImmediate)
    expect(posted).toHaveLength(AGENT_LIMITS.eventsWaitingMax)
    expect(said).toBeLessThan(AGENT_LIMITS.eventsWaitingMax + 2)
    for (let taken = 0; taken < 1004; taken += 1) session.receive({ kind: 'taken', count: 1 })
    await asked
    expect(posted).toHaveLength(1004)
  })

  test('reports why it failed, with the status of the provider', async () => {
    const { session, posted } = sessionWith(async () => {
      throw new AppError('provider_refused', 'it answered 401', { cause: { status: 401 } })
    })
    await session.answer(TASK)
    expect(posted).toEqual([
      {
        kind: 'failed',
        failure: { code: 'provider_refused', message: 'it answered 401', providerStatus: 401 },
      },
    ])
  })

  test('a bug goes only to the log', async () => {
    const { session, posted } = sessionWith(async () => {
      throw new TypeError('a secret')
    })
    await session.answer(TASK)
    const thrown = expect.stringContaining('TypeError: a secret')
    const failure = { code: 'internal', message: 'Internal error', thrown } as const
    expect(posted).toEqual([{ kind: 'failed', failure }])
  })

  test('an embedding that fails on the main thread reaches the model', async () => {
    const failure = { code: 'too_busy', message: 'Too many', retryAfterSeconds: 1 } as const
    const posted: FromWorker[] = []
    const session = new WorkerSession({
      post: (message) => posted.push(message),
      chatModel: async (_task, { embed }) => ({
        async *respond(_request, signal) {
          const vectors = await embed(['a'], signal)
          yield { kind: 'text', text: `${vectors.length} vectors` }
        },
      }),
    })
    const asked = session.answer(TASK)
    await new Promise(setImmediate)
    expect(posted.at(-1)).toEqual({ kind: 'embed', id: 1, texts: ['a'] })
    session.receive({ kind: 'request_failed', id: 1, failure })
    await asked
    expect(posted.at(-1)).toEqual({ kind: 'failed', failure })
  })
})

test('a thread shows that it is alive while its questions compute one after another', async () => {
  let sent = 0
  const sessions = new ThreadSessions({
    post: () => {
      sent += 1
    },
    prepare: async () => {},
    heapBytes: () => 0,
    chatModel: async () => ({
      async *respond() {
        Bun.sleepSync(AGENT_LIMITS.pingMs)
        yield { kind: 'text', text: 'Done' }
      },
    }),
  })
  const message = { kind: 'ask', task: TASK } as const
  for (const run of [1, 2, 3, 4, 5, 6]) await sessions.receive({ kind: 'run', run, message })
  await new Promise(setImmediate)
  expect(sent).toBeGreaterThan(4)
})
