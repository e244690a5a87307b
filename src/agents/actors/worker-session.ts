import type { ChatModel, Embedder, ToolCall } from '../../domain/ports/model-ports.ts'
import { AppError } from '../../errors.ts'
import { AGENT_LIMITS } from '../agent-limits.ts'
import { answer } from '../loop/loop.ts'
import {
  type AgentTask,
  errorOf,
  type FromWorker,
  failureOf,
  type ToWorker,
  type WorkerRequest,
} from './worker-messages.ts'

export interface WorkerSessionDeps {
  post(message: FromWorker): void
  chatModel(task: AgentTask, embed: Embedder['embed']): Promise<ChatModel>
  /** Loads what a provider's models need, ahead of a question. */
  prepare(provider: string): Promise<void>
}

type Reply = Extract<ToWorker, { readonly id: number }>

/** The worker's side of one question: the loop, joined to the main thread by messages. */
export class WorkerSession {
  readonly #deps: WorkerSessionDeps
  readonly #replies = new Map<number, PromiseWithResolvers<Reply>>()
  #nextId = 1
  /** Events that the main thread still has room for. */
  #room: number = AGENT_LIMITS.eventsWaitingMax
  #hasRoom: PromiseWithResolvers<void> | null = null

  constructor(deps: WorkerSessionDeps) {
    this.#deps = deps
  }

  async receive(message: ToWorker): Promise<void> {
    if (message.kind === 'ask') return this.#answer(message.task)
    if (message.kind === 'prepare') return this.#deps.prepare(message.provider)
    if (message.kind === 'taken') {
      this.#room += 1
      this.#hasRoom?.resolve()
      return
    }
    this.#replies.get(message.id)?.resolve(message)
    this.#replies.delete(message.id)
  }

  async #answer(task: AgentTask): Promise<void> {
    // The main thread cancels by ending this thread.
    const { signal } = new AbortController()
    try {
      const model = await this.#deps.chatModel(task, (texts) => this.#embed(texts))
      const runTool = (call: ToolCall) => this.#runTool(call)
      for await (const event of answer(task, { model, runTool }, signal)) {
        await this.#untilRoom()
        this.#deps.post({ kind: 'event', event })
      }
    } catch (error) {
      this.#deps.post({ kind: 'failed', failure: failureOf(error) })
    }
  }

  async #untilRoom(): Promise<void> {
    while (this.#room <= 0) {
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

  #request(request: WorkerRequest): Promise<Reply> {
    const reply = Promise.withResolvers<Reply>()
    this.#replies.set(request.id, reply)
    this.#deps.post(request)
    return reply.promise
  }
}

function unexpected(reply: Reply): AppError {
  if (reply.kind === 'request_failed') return errorOf(reply.failure)
  return new AppError('internal', 'Internal error', { cause: `unexpected reply ${reply.kind}` })
}
