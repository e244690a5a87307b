/**
 * Checks that a question leaves nothing in its thread. The test takes the place of the main thread.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Worker } from 'node:worker_threads'
import type { AgentTask, FromThread, ToThread } from '../../src/agents/actors/worker-messages.ts'

const SECRET = 'aubergine-7731-velvet'

type Turn = (body: string) => Response | Promise<Response>

let worker: Worker
let model: ReturnType<typeof modelServer>
let onMessage: (message: FromThread | Kept) => void

interface Kept {
  readonly kind: 'kept'
  readonly globals: readonly string[]
  readonly listeners: readonly number[]
  readonly portListeners: number
  readonly found: boolean
}

beforeEach(() => {
  model = modelServer()
  worker = new Worker(new URL('./fixtures/watched-agent.ts', import.meta.url))
  onMessage = () => {}
  worker.on('message', (data: unknown) => {
    // The thread is part of this project and sends what its types say.
    const messages = (Array.isArray(data) ? data : [data]) as (FromThread | Kept)[]
    for (const message of messages) onMessage(message)
  })
})

afterEach(async () => {
  model.server.stop(true)
  await worker.terminate()
})

/** The next of `turns` answers each request, and may wait forever. */
function modelServer() {
  const turns: Turn[] = []
  const bodies: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const body = await request.text()
      bodies.push(body)
      return (turns.shift() ?? (() => said({ content: 'Done' })))(body)
    },
  })
  return { server, turns, bodies, url: `http://127.0.0.1:${server.port}/v1` }
}

function said(delta: object, finish = 'stop'): Response {
  const choices = [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: finish }]
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices }
  return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })
}

const callsTool: Turn = () => {
  const call = { index: 0, id: 'c1', type: 'function' }
  return said(
    { tool_calls: [{ ...call, function: { name: 'kb_list_tool', arguments: '{}' } }] },
    'tool_calls',
  )
}

const post = (message: ToThread | { readonly kind: 'kept'; readonly text: string }) => {
  worker.postMessage(message)
}

function taskOf(question: string, apiKey = 'k'): AgentTask {
  return {
    question,
    history: [],
    systemPrompt: 'Answer.',
    tools: [{ name: 'kb_list_tool', description: 'Lists', input: null }],
    model: { provider: 'openai', modelName: 'm', apiKey, baseUrl: model.url, options: {} },
    chatDefaults: { network: { setting: 'x', entries: [], isOpen: true } },
    timeoutMs: 60_000,
    maxSteps: 3,
    deltas: false,
    refusedFeatures: [],
    contextTokens: 100_000,
  } as AgentTask
}

/**
 * Asks, and resolves when nothing is running for the question any more.
 * @param onCall what the main thread does at a tool call
 */
function asked(run: number, task: AgentTask, onCall: (id: number) => void = () => {}) {
  const over = Promise.withResolvers<readonly FromThread[]>()
  const messages: FromThread[] = []
  onMessage = (message) => {
    if (message.kind === 'kept' || message.kind === 'pong' || message.run !== run) return
    messages.push(message)
    if (message.kind === 'done') return over.resolve(messages)
    const inner = message.message as { readonly kind: string; readonly id: number }
    if (inner.kind === 'tool_call') onCall(inner.id)
  }
  post({ kind: 'run', run, message: { kind: 'ask', task } })
  return over.promise
}

function kept(text: string): Promise<Kept> {
  const { promise, resolve } = Promise.withResolvers<Kept>()
  onMessage = (message) => {
    if (message.kind === 'kept') resolve(message)
  }
  post({ kind: 'kept', text })
  return promise
}

const backwards = [...SECRET].reverse().join('')
const forever: Turn = () => new Promise<never>(() => {})

/** Returns the output from the messages of a question. */
function outputOf(messages: readonly FromThread[]): unknown {
  for (const one of messages) {
    const inner =
      one.kind === 'run' ? (one.message as { event?: { type: string; output?: string } }) : {}
    if (inner.event?.type === 'output') return inner.event.output
  }
  return undefined
}

test('a thread keeps nothing of a question, however it ended', async () => {
  expect(outputOf(await asked(1, taskOf('first')))).toBe('Done')
  const before = await kept(backwards)
  expect(before.found).toBe(false)
  for (let round = 0; round < 5; round += 1) {
    const run = round * 4 + 2
    // A question that was answered with a tool.
    model.turns.push(callsTool)
    const observation = `rows ${SECRET}`
    const answered = await asked(run, taskOf(`q ${SECRET}`, SECRET), (id) => {
      post({ kind: 'run', run, message: { kind: 'tool_result', id, observation } })
    })
    expect(outputOf(answered)).toBe('Done')
    // A question that the model refused.
    model.turns.push(() => new Response(SECRET, { status: 401 }))
    await asked(run + 1, taskOf(SECRET, SECRET))
    // A question aborted while the model was silent.
    const silent = Promise.withResolvers<void>()
    model.turns.push((body) => {
      silent.resolve()
      return forever(body)
    })
    const left = asked(run + 2, taskOf(SECRET, SECRET))
    await silent.promise
    post({ kind: 'drop', run: run + 2 })
    expect(outputOf(await left)).toBeUndefined()
    // A question aborted while a tool was running, whose result comes too late.
    model.turns.push(callsTool)
    await asked(run + 3, taskOf(SECRET, SECRET), (id) => {
      post({ kind: 'drop', run: run + 3 })
      post({ kind: 'run', run: run + 3, message: { kind: 'tool_result', id, observation: SECRET } })
    })
  }
  model.bodies.length = 0
  expect(outputOf(await asked(100, taskOf('last')))).toBe('Done')
  expect(model.bodies.join()).not.toContain(SECRET)
  let after = await kept(backwards)
  // Garbage collection is conservative: on a busy machine an old stack frame may hold a text until
  // the next question.
  for (let round = 0; after.found && round < 5; round += 1) {
    expect(outputOf(await asked(101 + round, taskOf('last')))).toBe('Done')
    after = await kept(backwards)
  }
  expect({ ...after, found: null }).toEqual({ ...before, found: null })
  expect(after.found).toBe(false)
})

test('a late result of one question is not used for the next', async () => {
  model.turns.push(callsTool)
  let firstId = 0
  await asked(1, taskOf('first'), (id) => {
    firstId = id
    post({ kind: 'drop', run: 1 })
  })
  model.turns.push(callsTool)
  await asked(2, taskOf('second'), (id) => {
    post({ kind: 'run', run: 1, message: { kind: 'tool_result', id: firstId, observation: 'old' } })
    post({ kind: 'run', run: 2, message: { kind: 'tool_result', id, observation: 'new' } })
  })
  expect(model.bodies.at(-1)).toContain('new')
  expect(model.bodies.at(-1)).not.toContain('old')
})
