import type { CompletionEvent } from '../../domain/agents/completion-event.ts'
import type { RefusedFeatures } from '../../domain/model-features.ts'
import {
  BUILTIN_CHAT_MODEL,
  BUILTIN_PROVIDER,
  type ChatDefaults,
  type ModelRef,
  unknownProvider,
} from '../../domain/model-ref.ts'
import type { Embedder } from '../../domain/ports/model-ports.ts'
import type { Catalog } from '../../domain/ports/store-ports.ts'
import type { RunTraces } from '../../domain/ports/trace-ports.ts'
import { AppError, toAppError } from '../../errors.ts'
import { onAbort, startDeadline } from '../../runtime/cancellation.ts'
import { Semaphore } from '../../runtime/semaphore.ts'
import { type ActorTools, AgentActor } from '../actors/agent-actor.ts'
import type { AgentSeat } from '../actors/agent-thread.ts'
import { AgentThreads } from '../actors/agent-threads.ts'
import type { AgentTask } from '../actors/worker-messages.ts'
import { agentData } from '../data/agent-data.ts'
import { DataProfiles } from '../data/data-profiles.ts'
import type { Select } from '../data/data-reader.ts'
import { type ListingSources, tablesElsewhere } from '../data/tables-elsewhere.ts'
import { ToolHost } from '../tools/tool-host.ts'
import {
  type AgentQuestion,
  answeredRun,
  failedRun,
  modeWarnings,
  type Output,
  type Run,
  RunNotes,
  refuseUnanswerable,
  runStart,
} from './agent-question.ts'
import { agentTask, hasPrompt } from './agent-task.ts'
import { type Answer, outputEvent, progressEvent, startEvent } from './completion-stream.ts'
import { type RunningEntry, type RunningQuestion, RunningQuestions } from './running-questions.ts'

export interface AgentDeps {
  readonly catalog: Pick<Catalog, 'snapshot'>
  readonly select: Select
  /** Asked for the tables that an agent's `data` names of them. */
  readonly sources: ListingSources
  /** The built-in embedder, for a model that ranks sentences. */
  readonly embed: Embedder['embed']
  /** Providers of chat models that there are. */
  readonly chatProviders: readonly string[]
  /** What is known of the servers of models; unset: each question finds out. */
  readonly features?: RefusedFeatures
  /** Where each question is written down. */
  readonly traces: RunTraces
  /** A UUID. */
  newTraceId(): string
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
  /** Tokens that models read at once; 0 or missing: what is known of the model. */
  readonly agentContextTokens?: number
  readonly observationBytesMax: number
  /** For agents without a model; null: the built-in one. */
  readonly defaultModel: ModelRef | null
  readonly chatDefaults: ChatDefaults
  /** Threads that are started before they are needed. */
  readonly sparesMax: number
  /** The entry of the agents' thread. */
  readonly workerUrl: string
}

/** How long a question that has time waits for its place: as long as a timer can. */
const PATIENCE_MS = 2 ** 31 - 1

/** Answers questions to agents, in threads that belong to one agent each. */
export class AgentPool {
  readonly #options: AgentPoolOptions
  readonly #deps: AgentDeps
  readonly #places: Semaphore
  readonly #threads: AgentThreads
  readonly #running = new RunningQuestions()
  readonly #profiles: DataProfiles
  readonly #closing = new AbortController()

  constructor(options: AgentPoolOptions, deps: AgentDeps) {
    this.#options = options
    this.#deps = deps
    this.#profiles = new DataProfiles(deps.select)
    this.#places = this.#placesOf(options)
    this.#threads = new AgentThreads(options.workerUrl, options.sparesMax)
  }

  /** Starts the threads that wait for questions. Before, each question starts its own. */
  start(): void {
    this.#threads.refill()
  }

  /** Questions that are being answered and that wait for a place. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#places.taken, waiting: this.#places.waiting }
  }

  /** Questions that are being answered or wait, the oldest first. */
  runs(): readonly RunningQuestion[] {
    return this.#running.list()
  }

  /** Ends a question for whoever asked it with `cancelled`. @throws AppError `run_not_found` */
  cancelRun(traceId: string): void {
    this.#running.cancel(traceId)
  }

  /**
   * One question, one answer, without its events.
   * @throws AppError as the question failed: `timeout`, `step_limit`, `provider_refused`, `agent_crashed`, …
   */
  async complete(question: AgentQuestion, signal: AbortSignal): Promise<Answer> {
    const events = this.ask(question, signal)
    // Bounded: the deadline ends every question.
    for (;;) {
      const { done, value } = await events.next()
      if (done) return value
    }
  }

  /**
   * The events of one question from `start` to its output; returns the answer. Stops within a second of the signal's
   * abort.
   * @throws AppError before the first event: `invalid_request`, `unknown_provider`, `too_many_questions`,
   * `shutting_down`,   * `timeout` while waiting for a place; after it: as the question failed
   */
  async *ask(
    question: AgentQuestion,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Answer> {
    const model = this.#modelFor(question)
    const traceId = this.#deps.newTraceId()
    const entry = this.#running.begin(runStart(traceId, question, model))
    try {
      const signals = [signal, this.#closing.signal, entry.signal]
      return yield* this.#withinTime(question, { model, traceId, entry, signals })
    } finally {
      entry.end()
    }
  }

  async *#withinTime(
    question: AgentQuestion,
    { signals, ...asked }: Admission,
  ): AsyncGenerator<CompletionEvent, Answer> {
    const { agent } = question
    const seconds = agent.params.timeoutSeconds ?? this.#options.agentTimeoutSeconds
    const isPatient = question.purpose === 'evaluation'
    let endMs = performance.now() + seconds * 1000
    const deadline = startDeadline({
      timeoutMs: isPatient ? PATIENCE_MS : seconds * 1000,
      signals,
      timeoutError: () => {
        return new AppError(
          'timeout',
          `The agent gave no answer within ${seconds} seconds (timeout of the agent, or EIDER_AGENT_TIMEOUT_SECONDS)`,
        )
      },
      cancelledMessage: 'The question was cancelled',
    })
    try {
      const leave = await this.#places.enter(deadline.signal, agent.id, { isPatient })
      asked.entry.admitted()
      if (isPatient) {
        // Its time begins with its place.
        deadline.restart(seconds * 1000)
        endMs = performance.now() + seconds * 1000
      }
      // A client that stops reading and never returns must not keep the place.
      onAbort(deadline.signal, () => {
        asked.entry.end()
        leave()
      })
      try {
        deadline.signal.throwIfAborted()
        return yield* this.#traced(question, { ...asked, endMs }, deadline.signal)
      } finally {
        leave()
      }
    } finally {
      deadline.end()
    }
  }

  /**
   * The model that answers. Whatever can be known to be wrong is found before the first event.
   * @throws AppError `invalid_request` for an empty question and one that is too long, `unknown_provider`
   */
  #modelFor(asked: AgentQuestion): ModelRef {
    const model = asked.agent.model ?? this.#options.defaultModel ?? BUILTIN_MODEL
    const { chatProviders } = this.#deps
    refuseUnanswerable(asked, model)
    if (chatProviders.includes(model.provider)) return model
    throw unknownProvider('model', model.provider, chatProviders)
  }

  /** Whatever becomes of a question, its trace is told so. */
  async *#traced(
    question: AgentQuestion,
    asked: Omit<Run, 'trace' | 'beganMs'>,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Answer> {
    const beganMs = performance.now()
    const trace = this.#deps.traces.begin(runStart(asked.traceId, question, asked.model))
    try {
      const run = { ...asked, trace, beganMs }
      const answer = yield* this.#conversation(question, run, signal)
      trace.end(answeredRun(answer))
      return answer
    } catch (error) {
      trace.end(failedRun(toAppError(error)))
      throw error
    } finally {
      // For a client that reads no further; what has ended stays as it ended.
      trace.end(failedRun(new AppError('cancelled', 'The question was cancelled')))
    }
  }

  async *#conversation(
    asked: AgentQuestion,
    run: Run,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Answer> {
    const { agent, question } = asked
    const { observationBytesMax } = this.#options
    const { catalog, select, sources } = this.#deps
    const { model, endMs, traceId } = run
    yield startEvent(question, traceId)
    const snapshot = catalog.snapshot()
    const elsewhere = await tablesElsewhere(agent, snapshot, sources, signal)
    const named = agentData(agent, snapshot, elsewhere)
    const data = hasPrompt(model)
      ? await this.#profiles.described(named, snapshot, agent.projectName, signal)
      : named
    const keepsFinalRows = agent.params.mode === 'sql' && hasPrompt(model)
    const scope = { data, project: agent.projectName, select }
    const host = new ToolHost({ ...scope, observationBytesMax, keepsFinalRows })
    const timeoutMs = Math.max(1, endMs - performance.now())
    const refused = this.#deps.features?.of(model).refused
    const task = agentTask(asked, data, { ...this.#options, model, timeoutMs, refused })
    const { content, warnings, usage } = yield* this.#progress(
      task,
      { host, run, agentId: agent.id },
      signal,
    )
    const citations = await host.citations(content, signal)
    const findings = host.findings(content)
    const answer = {
      content,
      traceId,
      citations,
      ...findings,
      warnings: [...data.warnings, ...warnings, ...modeWarnings(asked, findings)],
      usage,
      seconds: (performance.now() - run.beganMs) / 1000,
    }
    yield outputEvent(answer)
    return agent.params.returnContext === true ? { ...answer, context: host.context } : answer
  }

  /**
   * The events between the start and the answer. When a thread stops that answered several questions, the others are
   * asked again, each in a thread of its own: only the one that was the cause fails there too. It must not have shown
   * anything yet.
   */
  async *#progress(
    task: AgentTask,
    asked: Asked,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Output> {
    signal.throwIfAborted()
    const owner = { agentId: asked.agentId, provider: task.model.provider }
    const shared = this.#threads.seat({ ...owner, isAlone: false })
    const shown = { any: false }
    try {
      return yield* this.#seated(shared, task, { ...asked, shown }, signal)
    } catch (error) {
      if (signal.aborted || shown.any || !shared.wasShared) throw error
    }
    const alone = this.#threads.seat({ ...owner, isAlone: true })
    return yield* this.#seated(alone, task, { ...asked, shown }, signal)
  }

  async *#seated(
    worker: AgentSeat,
    task: AgentTask,
    { host, run, shown }: Asked & { readonly shown: { any: boolean } },
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Output> {
    const notes = new RunNotes(host, run)
    const { embed, features } = this.#deps
    const tools: ActorTools = {
      runTool: notes.runTool,
      embed,
      featureRefused: (feature) => features?.of(task.model).add(feature),
    }
    const actor = new AgentActor({ worker, task, tools })
    const stopListening = onAbort(signal, () => actor.stop(toAppError(signal.reason)))
    try {
      for await (const event of actor.events()) {
        if (event.type === 'output') return notes.output(event.output)
        if (event.type === 'start') notes.began()
        else if (event.type === 'turn') notes.turn(event)
        else if (event.type !== 'end') {
          // An end without an output is not an answer.
          shown.any = true
          if (event.type === 'step') notes.step(event.step)
          yield progressEvent(event, run.traceId)
        }
      }
      const message = 'The agent stopped unexpectedly: its thread ended without an answer'
      throw new AppError('agent_crashed', message)
    } finally {
      stopListening()
      this.#threads.refill()
    }
  }

  #placesOf({ agentsMax, agentQuestionsMax, agentQueueMax }: AgentPoolOptions): Semaphore {
    const limits =
      `at most ${agentsMax} questions are answered at once (EIDER_AGENTS_MAX), ${agentQuestionsMax} of one agent ` +
      `(EIDER_AGENT_QUESTIONS_MAX), and ${agentQueueMax} wait (EIDER_AGENT_QUEUE_MAX)`
    return new Semaphore({
      placesMax: agentsMax,
      placesPerKeyMax: agentQuestionsMax,
      waitingMax: agentQueueMax,
      tooBusy: (waiting) => {
        const retryAfterSeconds = this.#running.secondsUntilFree(waiting, agentQuestionsMax)
        const message = `Too many questions: ${limits}. Try again in ${retryAfterSeconds} s`
        return new AppError('too_many_questions', message, { retryAfterSeconds })
      },
    })
  }

  /** Ends every question with `shutting_down` and refuses new ones. */
  close(): void {
    this.#closing.abort(new AppError('shutting_down', 'The server is shutting down'))
    this.#threads.close()
  }
}

/** A question that wants a place. */
interface Admission {
  readonly model: ModelRef
  readonly traceId: string
  readonly entry: RunningEntry
  /** Each of them ends it. */
  readonly signals: readonly AbortSignal[]
}

/** What a question needs on the main thread while its thread answers it. */
interface Asked {
  readonly host: ToolHost
  readonly run: Run
  readonly agentId: number
}

const BUILTIN_MODEL: ModelRef = {
  provider: BUILTIN_PROVIDER,
  modelName: BUILTIN_CHAT_MODEL,
  options: {},
}
