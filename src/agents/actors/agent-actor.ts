import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import type { ModelFeature } from '../../core/domain/model-ref.ts'
import type { Embedder, ToolCall } from '../../core/domain/ports/model-ports.ts'
import { AppError, shuttingDown, toAppError } from '../../core/errors.ts'
import type { AgentEvent } from '../loop/assignment.ts'
import { type AgentSeat, AgentThread } from './agent-thread.ts'
import {
  type AgentTask,
  errorOf,
  type FromWorker,
  failureToSend,
  messageChars,
  parseFromWorker,
  type WorkerRequest,
} from './worker-messages.ts'

export interface ActorTools extends Pick<Embedder, 'embed'> {
  /** @throws errors that end the question */
  runTool(call: Pick<ToolCall, 'name' | 'input'>, signal: AbortSignal): Promise<string>
  /** Called once for each feature that the model's server refuses. */
  featureRefused?(feature: ModelFeature): void
}

export interface ActorOptions {
  readonly worker: Omit<AgentSeat, 'wasShared'>
  readonly task: AgentTask
  readonly tools: ActorTools
}

type RequestKind = WorkerRequest['kind']

/** One question in an untrusted thread. Its messages are checked; any violation ends it. */
export class AgentActor {
  readonly #options: ActorOptions
  readonly #inbox = new EventInbox(AGENT_LIMITS.eventsWaitingMax)
  readonly #abort = new AbortController()
  readonly #pending: Record<RequestKind, number> = { tool_call: 0, embed: 0 }
  /** Events that were read but not yet acknowledged to the thread. */
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

  /** The worker's events in order, up to `output`. @throws AppError if the question fails */
  async *events(): AsyncGenerator<AgentEvent, void> {
    try {
      // Ends in any case, because `#count` ends a worker after `eventsMax` events.
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

  /** Throttled, because each message wakes the thread. */
  #tellTaken(): void {
    this.#taken += 1
    if (this.#taken < AGENT_LIMITS.eventsWaitingMax / 4) return
    this.#options.worker.post({ kind: 'taken', count: this.#taken })
    this.#taken = 0
  }

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

  /** @returns the limit that the worker has exceeded, or null */
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
      // A failure that is not shown to the model ends the question. A missing vector does not,
      // because an answer can do without.
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

/** Buffers a worker's events for a client that reads at its own speed. */
class EventInbox {
  readonly #waitingMax: number
  readonly #events: AgentEvent[] = []
  #reader: PromiseWithResolvers<AgentEvent> | null = null
  #failure: unknown = null

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax
  }

  /** @returns whether there was room for the event */
  push(event: AgentEvent): boolean {
    const reader = this.#reader
    this.#reader = null
    if (reader !== null) reader.resolve(event)
    else if (this.#events.length >= this.#waitingMax) return false
    else this.#events.push(event)
    return true
  }

  /** Queued events can still be read; after them, `take` throws this failure. The first counts. */
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

/** Agents never share a thread. Between questions one stays alive for a while. */
export class AgentThreads {
  readonly #url: string
  readonly #sparesMax: number
  readonly #bound = new Set<AgentThread>()
  #spares: readonly AgentThread[] = []
  #isClosed = false
  #provider: string | null = null
  #timer: ReturnType<typeof setInterval> | null = null

  constructor(url: string, sparesMax: number) {
    this.#url = url
    this.#sparesMax = sparesMax
  }

  /** Assigns a thread to one question. @throws AppError `shutting_down` */
  seat(given: {
    readonly agentId: number
    readonly provider: string
    readonly isAlone: boolean
  }): AgentSeat {
    const { agentId, provider, isAlone } = given
    if (this.#isClosed) throw shuttingDown()
    this.#provider = provider
    const own = [...this.#bound].filter((thread) => thread.agentId === agentId && thread.isOpen)
    const thread =
      (isAlone ? lastUsed(own.filter((one) => one.running === 0)) : quietest(own)) ?? this.#fresh()
    this.#bound.add(thread)
    this.#watch()
    return thread.seat(agentId, isAlone)
  }

  /** Prepares spare threads for this provider's models, which will probably be needed next. */
  expect(provider: string): void {
    if (provider === this.#provider) return
    this.#provider = provider
    for (const spare of this.#spares) spare.prepare(provider)
  }

  /** Called after a question, because starting a thread during one would slow down its answer. */
  refill(): void {
    if (this.#isClosed) return
    const alive = this.#spares.filter((spare) => !spare.hasStopped)
    const fresh = Array.from({ length: this.#sparesMax - alive.length }, () => this.#started())
    // Loading an SDK takes longer than starting a thread, and the next question will probably need
    // the same one.
    const provider = this.#provider
    if (provider !== null) for (const thread of fresh) thread.prepare(provider)
    this.#spares = [...alive, ...fresh]
  }

  close(): void {
    this.#isClosed = true
    for (const thread of [...this.#spares, ...this.#bound]) thread.terminate()
    this.#spares = []
    this.#tidy()
  }

  #fresh(): AgentThread {
    const [spare, ...rest] = this.#spares.filter((one) => !one.hasStopped)
    this.#spares = rest
    return spare ?? this.#started()
  }

  #started(): AgentThread {
    return new AgentThread({ url: this.#url, onFree: () => this.#tidy() })
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#tick(), AGENT_LIMITS.pingMs)
    this.#timer.unref()
  }

  #tick(): void {
    const rss = process.memoryUsage.rss()
    for (const thread of this.#bound) if (thread.running > 0) thread.watch(rss)
    this.#tidy()
  }

  /** Forgets threads that have ended, and ends those that are idle too long or over the limit. */
  #tidy(): void {
    const now = performance.now()
    for (const thread of this.#bound) if (thread.hasStopped) this.#bound.delete(thread)
    const idle = [...this.#bound]
      .filter((thread) => thread.running === 0)
      .sort((a, b) => b.idleSinceMs - a.idleSinceMs)
    for (const [rank, thread] of idle.entries()) {
      const isOld = now - thread.idleSinceMs > AGENT_LIMITS.threadIdleMs
      if (!isOld && rank < AGENT_LIMITS.threadsIdleMax) continue
      thread.terminate()
      this.#bound.delete(thread)
    }
    if (this.#bound.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }
}

/** The most recently used thread, so that the others can end. */
function lastUsed(idle: readonly AgentThread[]): AgentThread | undefined {
  return idle.toSorted((a, b) => b.idleSinceMs - a.idleSinceMs)[0]
}

/** The thread with the fewest questions; undefined if it is better to start another one. */
function quietest(own: readonly AgentThread[]): AgentThread | undefined {
  const { threadsPerAgent, threadQuestionsMax } = AGENT_LIMITS
  // A thread without unanswered questions will be free in a moment.
  const free = lastUsed(own.filter((thread) => thread.unanswered === 0))
  if (free !== undefined || own.length < threadsPerAgent) return free
  const [first] = own.toSorted((a, b) => a.unanswered - b.unanswered)
  return first !== undefined && first.running < threadQuestionsMax ? first : undefined
}
