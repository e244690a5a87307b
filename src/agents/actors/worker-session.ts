import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import type { ModelFeature } from '../../core/domain/model-ref.ts'
import type { ChatModel, Embedder, ToolCall } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { answer } from '../loop/loop.ts'
import {
  type AgentTask,
  errorOf,
  type FromThread,
  type FromWorker,
  failureToSend,
  type ToThread,
  type ToWorker,
  type WorkerRequest,
} from './worker-messages.ts'

interface WorkerSessionDeps {
  post(message: FromWorker): void
  chatModel(
    task: AgentTask,
    host: {
      embed: Embedder['embed']
      featureRefused(feature: ModelFeature): void
    },
  ): Promise<ChatModel>
}

type Reply = Extract<ToWorker, { readonly id: number }>

/** The worker's side of one question: connects the agent loop with the main thread. */
export class WorkerSession {
  readonly #deps: WorkerSessionDeps
  readonly #abort = new AbortController()
  readonly #replies = new Map<number, PromiseWithResolvers<Reply>>()
  #nextId = 1
  /** How many more events the main thread accepts. */
  #room: number = AGENT_LIMITS.eventsWaitingMax
  #hasRoom: PromiseWithResolvers<void> | null = null

  constructor(deps: WorkerSessionDeps) {
    this.#deps = deps
  }

  /** Handles a message from the main thread about this question. */
  receive(message: Exclude<ToWorker, { readonly kind: 'ask' }>): void {
    if (message.kind === 'taken') {
      this.#room += message.count
      this.#hasRoom?.resolve()
      return
    }
    this.#replies.get(message.id)?.resolve(message)
    this.#replies.delete(message.id)
  }

  stop(): void {
    const reason = new AppError('cancelled', 'The question was cancelled')
    this.#abort.abort(reason)
    this.#hasRoom?.resolve()
    for (const reply of this.#replies.values()) reply.reject(reason)
    this.#replies.clear()
  }

  /** Resolves once all work for the question has ended. */
  async answer(task: AgentTask): Promise<void> {
    const { signal } = this.#abort
    try {
      const model = await this.#deps.chatModel(task, {
        embed: (texts) => this.#embed(texts),
        featureRefused: (feature) => this.#post({ kind: 'feature_refused', feature }),
      })
      const runTool = (call: ToolCall) => this.#runTool(call)
      for await (const event of answer(task, { model, runTool }, signal)) {
        await this.#untilRoom()
        this.#post({ kind: 'event', event })
      }
    } catch (error) {
      if (!signal.aborted) this.#post({ kind: 'failed', failure: failureToSend(error) })
    }
  }

  #post(message: FromWorker): void {
    this.#abort.signal.throwIfAborted()
    this.#deps.post(message)
  }

  async #untilRoom(): Promise<void> {
    while (this.#room <= 0) {
      this.#abort.signal.throwIfAborted()
      this.#hasRoom = Promise.withResolvers()
      await this.#hasRoom.promise
    }
    this.#room -= 1
  }

  async #runTool({ name, input }: ToolCall): Promise<string> {
    const reply = await this.#request({ kind: 'tool_call', id: this.#newId(), name, input })
    if (reply.kind === 'tool_result') return reply.observation
    throw unexpected(reply)
  }

  async #embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    const reply = await this.#request({ kind: 'embed', id: this.#newId(), texts })
    if (reply.kind === 'embed_result') return reply.vectors
    throw unexpected(reply)
  }

  #newId(): number {
    const id = this.#nextId
    this.#nextId += 1
    return id
  }

  async #request(request: WorkerRequest): Promise<Reply> {
    this.#post(request)
    const reply = Promise.withResolvers<Reply>()
    this.#replies.set(request.id, reply)
    return reply.promise
  }
}

function unexpected(reply: Reply): AppError {
  if (reply.kind === 'request_failed') return errorOf(reply.failure)
  return new AppError('internal', 'Internal error', { cause: `unexpected reply ${reply.kind}` })
}

interface ThreadSessionsDeps extends Pick<WorkerSessionDeps, 'chatModel'> {
  post(messages: readonly FromThread[]): void
  prepare(provider: string): Promise<void>
  heapBytes(): number
}

/** The questions of one thread. Each has its own session, and nothing outlives it. */
export class ThreadSessions {
  readonly #deps: ThreadSessionsDeps
  readonly #sessions = new Map<number, WorkerSession>()
  #outbox: FromThread[] = []
  /** When its first message was added. */
  #outboxSinceMs = 0

  constructor(deps: ThreadSessionsDeps) {
    this.#deps = deps
  }

  async receive(message: ToThread): Promise<void> {
    switch (message.kind) {
      case 'prepare':
        // A failure occurs again when a question is asked, and is reported there.
        await this.#deps.prepare(message.provider).catch(() => undefined)
        break
      case 'ping':
        this.#post({ kind: 'pong', heapBytes: this.#deps.heapBytes() })
        break
      case 'drop':
        this.#sessions.get(message.run)?.stop()
        break
      case 'run':
        if (message.message.kind === 'ask') await this.#answer(message.run, message.message.task)
        else this.#sessions.get(message.run)?.receive(message.message)
    }
  }

  async #answer(run: number, task: AgentTask): Promise<void> {
    const session = new WorkerSession({
      post: (message) => this.#post({ kind: 'run', run, message }),
      chatModel: this.#deps.chatModel,
    })
    this.#sessions.set(run, session)
    await session.answer(task)
    this.#sessions.delete(run)
    this.#post({ kind: 'done', run })
  }

  /** Sends messages of the same moment together, because each one wakes the main thread. */
  #post(message: FromThread): void {
    this.#outbox.push(message)
    if (this.#outbox.length === 1) {
      this.#outboxSinceMs = performance.now()
      setImmediate(() => this.#send())
    } else if (performance.now() - this.#outboxSinceMs > AGENT_LIMITS.pingMs) {
      // Bun calls back only after all other questions' computations. The main thread would take
      // the silence for a hang.
      this.#send()
    }
  }

  #send(): void {
    const messages = this.#outbox
    this.#outbox = []
    if (messages.length > 0) this.#deps.post(messages)
  }
}
