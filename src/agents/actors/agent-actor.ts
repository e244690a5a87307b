import type { ModelFeature } from '../../core/domain/model-features.ts'
import type { Embedder, ToolCall } from '../../core/domain/ports/model-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { AGENT_LIMITS } from '../agent-limits.ts'
import type { AgentEvent } from '../loop/assignment.ts'
import type { AgentSeat } from './agent-thread.ts'
import {
  type AgentTask,
  errorOf,
  type FromWorker,
  failureToSend,
  messageChars,
  parseFromWorker,
  type WorkerRequest,
} from './worker-messages.ts'

/** The requests of a worker; both run on the main thread. */
export interface ActorTools extends Pick<Embedder, 'embed'> {
  /** @throws what ends the question */
  runTool(call: Pick<ToolCall, 'name' | 'input'>, signal: AbortSignal): Promise<string>
  /** Told once of each thing that the model's server will not do. */
  featureRefused?(feature: ModelFeature): void
}

export interface ActorOptions {
  readonly worker: Omit<AgentSeat, 'wasShared'>
  readonly task: AgentTask
  readonly tools: ActorTools
}

type RequestKind = WorkerRequest['kind']

/**
 * One question and its place in the thread that answers it. The thread is trusted with nothing: what it sends is
 * checked and counted, and anything out of order ends it.
 */
export class AgentActor {
  readonly #options: ActorOptions
  readonly #inbox = new EventInbox(AGENT_LIMITS.eventsWaitingMax)
  readonly #abort = new AbortController()
  readonly #pending: Record<RequestKind, number> = { tool_call: 0, embed: 0 }
  /** Events read but not yet acknowledged to the thread. */
  #taken = 0
  #events = 0
  #chars = 0
  #toolCalls = 0
  #embedTexts = 0
  #hasStopped = false

  constructor(options: ActorOptions) {
    this.#options = options
    const { worker, task } = options
    worker.listen({
      message: (data) => this.#receive(data),
      stopped: (error) => this.stop(error),
    })
    worker.post({ kind: 'ask', task })
  }

  /** Events in the order of the worker, up to its `output`. @throws AppError why there is none */
  async *events(): AsyncGenerator<AgentEvent, void> {
    try {
      // Bounded: `#count` ends a worker after `eventsMax` events.
      for (;;) {
        const event = await this.#inbox.take()
        this.#tellTaken()
        yield event
        if (event.type === 'output' || event.type === 'end') return
      }
    } finally {
      this.stop(new AppError('cancelled', 'The question was cancelled'))
    }
  }

  /** Only occasionally, because each message wakes the thread. */
  #tellTaken(): void {
    this.#taken += 1
    if (this.#taken < AGENT_LIMITS.eventsWaitingMax / 4) return
    this.#options.worker.post({ kind: 'taken', count: this.#taken })
    this.#taken = 0
  }

  /** Ends the question and what runs for it, at once. */
  stop(reason: AppError): void {
    if (this.#hasStopped) return
    this.#hasStopped = true
    this.#options.worker.leave()
    this.#abort.abort(reason)
    this.#inbox.fail(reason)
  }

  #receive(data: unknown): void {
    if (this.#hasStopped) return
    const message = parseFromWorker(data)
    const wrong = message === undefined ? 'a message without meaning' : this.#count(message)
    if (message === undefined || wrong !== null) this.#misbehaved(String(wrong))
    else if (message.kind === 'failed') this.stop(errorOf(message.failure))
    else if (message.kind === 'feature_refused') {
      this.#options.tools.featureRefused?.(message.feature)
    } else if (message.kind !== 'event') void this.#serve(message)
    else if (!this.#inbox.push(message.event)) this.#misbehaved('more events than were asked for')
  }

  /** @returns which limit the worker has exceeded, or null */
  #count(message: FromWorker): string | null {
    const { eventsMax, messagesCharsMax, embedsPendingMax, embedTextsMax } = AGENT_LIMITS
    const { toolCallsAtOnceMax } = AGENT_LIMITS
    this.#chars += messageChars(message)
    if (this.#chars > messagesCharsMax) return `more than ${messagesCharsMax} characters`
    switch (message.kind) {
      case 'failed':
      case 'feature_refused':
        return null
      case 'event':
        this.#events += 1
        return this.#events > eventsMax ? `more than ${eventsMax} events` : null
      case 'tool_call': {
        this.#toolCalls += 1
        const { maxSteps } = this.#options.task
        if (this.#pending.tool_call >= toolCallsAtOnceMax) return 'too many tool calls at once'
        return this.#toolCalls > maxSteps ? `more than ${maxSteps} tool calls` : null
      }
      case 'embed':
        this.#embedTexts += message.texts.length
        if (this.#pending.embed >= embedsPendingMax) return 'too many texts to embed at once'
        return this.#embedTexts > embedTextsMax ? `more than ${embedTextsMax} texts` : null
    }
  }

  #misbehaved(what: string): void {
    const message = `The agent stopped unexpectedly: its thread sent ${what}`
    const error = new AppError('agent_crashed', message)
    this.#options.worker.endThread(error)
    this.stop(error)
  }

  async #serve(request: WorkerRequest): Promise<void> {
    const { worker } = this.#options
    const { id, kind } = request
    this.#pending[kind] += 1
    try {
      worker.post(await this.#answer(request))
    } catch (error) {
      // A failure that the model does not see as an observation ends the question; without vectors a model may still answer.
      if (kind === 'tool_call') this.stop(toAppError(error))
      else worker.post({ kind: 'request_failed', id, failure: failureToSend(error) })
    } finally {
      this.#pending[kind] -= 1
    }
  }

  async #answer(request: WorkerRequest) {
    const { tools } = this.#options
    const { signal } = this.#abort
    const { id } = request
    if (request.kind === 'embed') {
      const vectors = await tools.embed(request.texts, signal)
      return { kind: 'embed_result', id, vectors } as const
    }
    const { name, input } = request
    const observation = await tools.runTool({ name, input }, signal)
    return { kind: 'tool_result', id, observation } as const
  }
}

/** Events from a worker for a client that reads at its own speed. */
class EventInbox {
  readonly #waitingMax: number
  readonly #events: AgentEvent[] = []
  #reader: PromiseWithResolvers<AgentEvent> | null = null
  #failure: unknown = null

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax
  }

  /** @returns whether there was room */
  push(event: AgentEvent): boolean {
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) reader.resolve(event)
    else if (this.#events.length >= this.#waitingMax) return false
    else this.#events.push(event)
    return true
  }

  /** Queued events are still read; then `take` throws this. Only the first failure counts. */
  fail(failure: AppError): void {
    this.#failure ??= failure
    this.#reader?.reject(this.#failure)
    this.#reader = null
  }

  async take(): Promise<AgentEvent> {
    const next = this.#events.shift()
    if (next !== undefined) return next
    if (this.#failure !== null) throw this.#failure
    this.#reader = Promise.withResolvers()
    return this.#reader.promise
  }
}
