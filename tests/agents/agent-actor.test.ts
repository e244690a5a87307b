import { describe, expect, test } from 'bun:test'
import { type ActorOptions, AgentActor } from '../../src/agents/actors/agent-actor.ts'
import type { SeatListener } from '../../src/agents/actors/agent-thread.ts'
import type { AgentTask, ToWorker } from '../../src/agents/actors/worker-messages.ts'
import { AGENT_LIMITS } from '../../src/core/domain/agents/agent-limits.ts'
import { AppError } from '../../src/core/errors.ts'
import { collected } from './agent-fixture.ts'

const TASK: AgentTask = {
  question: 'Why?',
  history: [],
  systemPrompt: '',
  tools: [],
  model: { provider: 'builtin', modelName: 'fake', options: {} },
  chatDefaults: {},
  timeoutMs: 60_000,
  maxSteps: 2,
  deltas: true,
}

const DELTA = { kind: 'event', event: { type: 'delta', content: 'x' } }
const TOOL_CALL = { kind: 'tool_call', id: 1, name: 'kb_list_tool', input: '' }

/** An actor whose thread is simulated by the test. */
function actorWith(tools: Partial<ActorOptions['tools']> = {}, task: Partial<AgentTask> = {}) {
  const posted: ToWorker[] = []
  const seen = { isTerminated: false }
  let listener: SeatListener | undefined
  const worker: ActorOptions['worker'] = {
    listen: (given) => {
      listener = given
    },
    post: (message) => posted.push(message),
    leave: () => {},
    endThread: () => {
      seen.isTerminated = true
    },
  }
  const never = () => new Promise<never>(() => {})
  const actor = new AgentActor({
    worker,
    task: { ...TASK, ...task },
    tools: { runTool: never, embed: never, ...tools },
  })
  return { actor, posted, seen, send: (message: unknown) => listener?.message(message) }
}

function failureOf({ actor }: { readonly actor: AgentActor }) {
  return expect(collected(actor.events())).rejects
}

describe('AgentActor', () => {
  test('ends a thread that sends more events than are read', async () => {
    const { actor, seen, send } = actorWith()
    for (let sent = 0; sent < AGENT_LIMITS.eventsWaitingMax; sent += 1) send(DELTA)
    expect(seen.isTerminated).toBe(false)
    send(DELTA)
    expect(seen.isTerminated).toBe(true)
    await failureOf({ actor }).toMatchObject({ code: 'agent_crashed' })
  })

  test('tells the thread of the events that were read, before it has to wait', async () => {
    const { actor, posted, send } = actorWith()
    const events = actor.events()
    for (let sent = 0; sent < AGENT_LIMITS.eventsWaitingMax; sent += 1) {
      send(DELTA)
      await events.next()
    }
    const taken = posted.flatMap((message) => (message.kind === 'taken' ? [message.count] : []))
    expect(taken).toEqual([16, 16, 16, 16])
  })

  test('runs several tool calls of a thread side by side, and ends one that wants too many', async () => {
    const started = actorWith({}, { maxSteps: 10 })
    for (let id = 1; id <= AGENT_LIMITS.toolCallsAtOnceMax; id += 1) {
      started.send({ ...TOOL_CALL, id })
    }
    expect(started.seen.isTerminated).toBe(false)
    started.send({ ...TOOL_CALL, id: 99 })
    expect(started.seen.isTerminated).toBe(true)
    await failureOf(started).toThrow('too many tool calls at once')
  })

  test('ends a thread that calls more tools than it has steps', async () => {
    const started = actorWith({ runTool: async () => 'rows' })
    for (let sent = 0; sent <= TASK.maxSteps; sent += 1) {
      started.send(TOOL_CALL)
      await Bun.sleep(0)
    }
    await failureOf(started).toThrow('more than 2 tool calls')
  })

  test('ends a thread that wants too much embedded', async () => {
    const started = actorWith()
    const texts = Array.from({ length: AGENT_LIMITS.embedTextsMax + 1 }, () => '')
    started.send({ kind: 'embed', id: 1, texts })
    await failureOf(started).toThrow('more than 20000 texts')
    const busy = actorWith()
    for (let id = 0; id <= AGENT_LIMITS.embedsPendingMax; id += 1) {
      busy.send({ kind: 'embed', id, texts: ['a'] })
    }
    await failureOf(busy).toThrow('too many texts to embed at once')
  })

  test('answers a call with its id, and a failed one with the failure', async () => {
    const { posted, send } = actorWith({
      runTool: async ({ name }) => `${name} ran`,
      embed: async () => {
        throw new AppError('provider_failed', 'no model')
      },
    })
    send({ ...TOOL_CALL, id: 5 })
    send({ kind: 'embed', id: 6, texts: ['a'] })
    await Bun.sleep(0)
    expect(posted.slice(1)).toEqual([
      { kind: 'tool_result', id: 5, observation: 'kb_list_tool ran' },
      {
        kind: 'request_failed',
        id: 6,
        failure: { code: 'provider_failed', message: 'no model' },
      },
    ])
  })

  test('a stop reaches what runs for the thread', async () => {
    const signals: AbortSignal[] = []
    const started = actorWith({
      runTool: (_call, signal) => {
        signals.push(signal)
        return new Promise(() => {})
      },
    })
    started.send(TOOL_CALL)
    const reason = new AppError('timeout', 'too late')
    started.actor.stop(reason)
    expect(signals[0]?.reason).toBe(reason)
    await failureOf(started).toBe(reason)
  })

  test('what was sent before a failure is still read', async () => {
    const { actor, send } = actorWith()
    send(DELTA)
    send({ kind: 'failed', failure: { code: 'step_limit', message: 'No answer' } })
    const events = actor.events()
    expect(await events.next()).toMatchObject({ value: { type: 'delta' } })
    await expect(events.next()).rejects.toMatchObject({ code: 'step_limit' })
  })
})
