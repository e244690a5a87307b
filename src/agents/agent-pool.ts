import type { Citation, CompletionEvent } from '../domain/completion-event.ts'
import type { ModelRef } from '../domain/model-ref.ts'
import type { Catalog } from '../domain/ports.ts'
import { AppError, toAppError } from '../errors.ts'
import { onAbort, startDeadline } from '../runtime/cancellation.ts'
import { Semaphore } from '../runtime/semaphore.ts'
import { AgentActor } from './agent-actor.ts'
import { type AgentQuestion, checkedModel } from './agent-question.ts'
import type { Select } from './data-reader.ts'
import { failureEvent } from './failure-event.ts'
import { systemPrompt } from './prompt.ts'
import type { AgentTask, ChatDefaults, ReceivedEvent } from './protocol.ts'
import { resolvedData } from './resolved-data.ts'
import { SpareWorkers } from './spare-workers.ts'
import { ToolHost } from './tool-host.ts'
import { toolSpecs } from './tools.ts'
import { type Answer, actionsEvent, outputEvent, stepsEvent } from './wire-events.ts'

export interface AgentDeps {
  readonly catalog: Pick<Catalog, 'snapshot'>
  readonly select: Select
  /** The built-in embedder, for a model that ranks sentences. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>
  /** Providers of chat models that there are. */
  readonly chatProviders: readonly string[]
  /** A UUID. */
  newTraceId(): string
  /** A failure that a stream was told of: for the log, with its cause. */
  onFailure(error: AppError, traceId: string): void
}

export interface AgentPoolOptions {
  /** Questions that are answered at once. */
  readonly agentsMax: number
  /** Of these, questions to one agent. */
  readonly agentQuestionsMax: number
  /** Questions that may wait for a place. */
  readonly agentQueueMax: number
  /**
   * Seconds that an answer may take, and tool calls before it, where the agent's params say
   * nothing.
   */
  readonly agentTimeoutSeconds: number
  readonly agentStepsMax: number
  readonly observationBytesMax: number
  /** For agents without a model; null: the built-in one. */
  readonly defaultModel: ModelRef | null
  readonly chatDefaults: ChatDefaults
  /** Threads that are started before they are needed. */
  readonly sparesMax: number
  /** The entry of the agents' thread. */
  readonly workerUrl: string
}

/** What the events of a question amount to. */
export interface FullAnswer extends Answer {
  /** The texts of the chunks that the model was shown. */
  readonly context: readonly string[]
}

/** Answers questions to agents, each in a thread of its own. */
export class AgentPool {
  readonly #options: AgentPoolOptions
  readonly #deps: AgentDeps
  readonly #places: Semaphore
  readonly #spares: SpareWorkers
  readonly #closing = new AbortController()

  constructor(options: AgentPoolOptions, deps: AgentDeps) {
    this.#options = options
    this.#deps = deps
    this.#places = placesOf(options)
    this.#spares = new SpareWorkers({ url: options.workerUrl, sparesMax: options.sparesMax })
  }

  /** Questions that are being answered and that wait for a place. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#places.taken, waiting: this.#places.waiting }
  }

  /**
   * The stream of one question: `start` first, `end` last, once, whatever happens in between; a
   * failure after `start` is one `error` event. Stops within a second of the signal's abort.
   * @throws AppError before the first event: `invalid_request`, `unknown_provider`, `too_busy`,
   * `shutting_down`, `timeout` while waiting for a place
   */
  async *ask(question: AgentQuestion, signal: AbortSignal): AsyncGenerator<CompletionEvent, void> {
    let traceId: string | null = null
    try {
      for await (const event of this.run(question, signal)) {
        if ('type' in event && event.type === 'start') traceId = event.trace_id
        yield event
      }
    } catch (error) {
      if (traceId === null) throw error
      const failure = toAppError(error)
      this.#deps.onFailure(failure, traceId)
      yield failureEvent(failure, traceId)
    }
    yield { type: 'end' }
  }

  /**
   * The same without `end`, for callers that want the failure itself. Returns what the answer is.
   * @throws AppError before and after the first event
   */
  async *run(
    question: AgentQuestion,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, FullAnswer> {
    const model = checkedModel(question, { ...this.#deps, ...this.#options })
    const { agent } = question
    const seconds = agent.params.timeoutSeconds ?? this.#options.agentTimeoutSeconds
    const deadline = startDeadline({
      timeoutMs: seconds * 1000,
      signals: [signal, this.#closing.signal],
      timeoutError: () => {
        return new AppError('timeout', `The agent gave no answer within ${seconds} seconds`)
      },
      cancelledMessage: 'The question was cancelled',
    })
    try {
      const leave = await this.#places.enter(deadline.signal, agent.id)
      // A client that stops reading and never returns must not keep the place.
      onAbort(deadline.signal, leave)
      try {
        deadline.signal.throwIfAborted()
        return yield* this.#conversation(question, model, deadline.signal)
      } finally {
        leave()
      }
    } finally {
      deadline.end()
    }
  }

  async *#conversation(
    asked: AgentQuestion,
    model: ModelRef,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, FullAnswer> {
    const { agent, question } = asked
    const data = resolvedData(agent, this.#deps.catalog.snapshot())
    const { observationBytesMax } = this.#options
    const { select } = this.#deps
    const host = new ToolHost({ data, project: agent.projectName, select, observationBytesMax })
    const traceId = this.#deps.newTraceId()
    const task: AgentTask = {
      question,
      history: asked.history,
      traceId,
      systemPrompt: systemPrompt(agent, data),
      tools: toolSpecs(data),
      model,
      chatDefaults: this.#options.chatDefaults,
      maxSteps: agent.params.maxSteps ?? this.#options.agentStepsMax,
      deltas: asked.deltas,
    }
    yield { type: 'start', prompt: question, trace_id: traceId }
    const content = yield* this.#events(task, host, signal)
    const citations: readonly Citation[] = await host.citations(content, signal)
    const answer = { content, traceId, citations, warnings: data.warnings }
    yield outputEvent(answer)
    return { ...answer, context: host.context }
  }

  /** @returns the text of the answer */
  async *#events(
    task: AgentTask,
    host: ToolHost,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, string> {
    signal.throwIfAborted()
    const worker = this.#spares.lease(task.model.provider)
    const tools = {
      runTool: host.run.bind(host),
      embed: this.#deps.embed,
    }
    const actor = new AgentActor({ worker, task, tools })
    const stopListening = onAbort(signal, () => actor.stop(toAppError(signal.reason)))
    try {
      for await (const event of actor.events()) {
        if (event.kind === 'output') return event.output
        const wire = wireEvent(event, task)
        if (wire !== null) yield wire
      }
      const message = 'The agent stopped unexpectedly: its thread ended without an answer'
      throw new AppError('agent_crashed', message)
    } finally {
      stopListening()
      this.#spares.refill()
    }
  }

  /**
   * Ends every question and refuses new ones. Questions in a stream get an error and their `end`.
   */
  close(): void {
    this.#closing.abort(new AppError('shutting_down', 'The server is shutting down'))
    this.#spares.close()
  }
}

function placesOf(options: AgentPoolOptions): Semaphore {
  const { agentsMax, agentQuestionsMax, agentQueueMax } = options
  const limits =
    `at most ${agentsMax} questions are answered at once, ${agentQuestionsMax} of one agent, ` +
    `and ${agentQueueMax} wait`
  return new Semaphore({
    placesMax: agentsMax,
    placesPerKeyMax: agentQuestionsMax,
    waitingMax: agentQueueMax,
    tooBusyMessage: `Too many questions: ${limits}. Try again later`,
  })
}

/** The event as the client sees it, with our own trace id. */
function wireEvent(event: ReceivedEvent, { traceId, deltas }: AgentTask): CompletionEvent | null {
  switch (event.kind) {
    case 'actions':
      return actionsEvent(event.actions, traceId)
    case 'steps':
      return stepsEvent(event.steps, traceId)
    case 'delta':
      return deltas ? { type: 'delta', content: event.content, trace_id: traceId } : null
    case 'start':
    case 'output':
    case 'end':
      return null
  }
}
