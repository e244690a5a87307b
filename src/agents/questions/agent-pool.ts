import type { Agent } from '../../core/domain/agents/agent.ts'
import type {
  AnswerEvidence,
  CompletionEvent,
  RunStart,
} from '../../core/domain/agents/completion-event.ts'
import {
  BUILTIN_CHAT_MODEL,
  BUILTIN_PROVIDER,
  type ChatDefaults,
  type ModelFeature,
  type ModelRef,
  unknownProvider,
} from '../../core/domain/model-ref.ts'
import type { RunTraces } from '../../core/domain/ports/conversation-ports.ts'
import type { ForeignTools } from '../../core/domain/ports/foreign-tool-ports.ts'
import type { JudgeAnswerability, ToolSpec } from '../../core/domain/ports/model-ports.ts'
import type { Catalog } from '../../core/domain/ports/store-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { returned } from '../../core/runtime/serial-queue.ts'
import type { AgentTask } from '../actors/worker-messages.ts'
import { type AvailableData, agentData, type Select } from '../data/agent-data.ts'
import { DataProfiles } from '../data/data-profiles.ts'
import { type ListingSources, remoteTableNames } from '../data/remote-table-names.ts'
import { newFence } from '../loop/data-fence.ts'
import { ToolHost } from '../tools/tool-host.ts'
import { toolSpecs } from '../tools/tools.ts'
import {
  type AgentQuestion,
  answeredRun,
  failedRun,
  modeWarnings,
  QuestionThreads,
  type Run,
  refuseUnanswerable,
  runStart,
  type ThreadOptions,
  type ThreadServices,
} from './agent-question.ts'
import { type Answer, outputEvent, startEvent } from './completion-stream.ts'
import { foreignToolsOf, NO_FOREIGN_TOOLS } from './foreign-tools.ts'
import { systemPrompt } from './prompt.ts'
import {
  type Admitted,
  type PlaceLimits,
  QuestionPlaces,
  type RunningQuestion,
} from './running-questions.ts'

export interface AgentDeps extends ThreadServices {
  readonly catalog: Pick<Catalog, 'snapshot'>
  readonly select: Select
  /** Lists the remote tables that an agent's `data` may match. */
  readonly sources: ListingSources
  /** The supported providers of chat models. */
  readonly chatProviders: readonly string[]
  readonly foreignTools?: ForeignTools
  /** If unset, as for the built-in model, every answer counts as supported. */
  readonly judgeAnswerability?: JudgeAnswerability
  readonly traces: RunTraces
  newTraceId(): string
}

export interface AgentPoolOptions extends PlaceLimits, ThreadOptions {
  /** The default limits: seconds for an answer, and tool calls before it. */
  readonly agentTimeoutSeconds: number
  readonly agentStepsMax: number
  /** How many tokens models can read; 0 or missing means each model's known size. */
  readonly agentContextTokens?: number
  readonly observationBytesMax: number
  /** For agents without a model of their own; null means the built-in one. */
  readonly defaultModel: ModelRef | null
  readonly chatDefaults: ChatDefaults
}

/** Chooses the model, collects the agent's data, and records a trace of each run. */
export class AgentPool {
  readonly #options: AgentPoolOptions
  readonly #deps: AgentDeps
  readonly #places: QuestionPlaces
  readonly #threads: QuestionThreads
  readonly #profiles: DataProfiles

  constructor(options: AgentPoolOptions, deps: AgentDeps) {
    this.#options = options
    this.#deps = deps
    this.#profiles = new DataProfiles(deps.select)
    this.#places = new QuestionPlaces(options)
    this.#threads = new QuestionThreads(options, deps)
  }

  /** Does nothing without agents, because idle threads take memory. */
  start(): void {
    const { agents } = this.#deps.catalog.snapshot()
    const last = agents.toSorted((a, b) => a.id - b.id).at(-1)
    if (last !== undefined) this.expect(last.model)
  }

  /** Called when an agent gets this model, because it will probably be asked soon. */
  expect(model: ModelRef | null): void {
    this.#threads.expect((model ?? this.#options.defaultModel ?? BUILTIN_MODEL).provider)
  }

  get load(): { readonly running: number; readonly waiting: number } {
    return this.#places.load
  }

  runs(): readonly RunningQuestion[] {
    return this.#places.runs()
  }

  /** Ends a question; its client gets the error `cancelled`. @throws AppError `run_not_found` */
  cancelRun(traceId: string): void {
    this.#places.cancelRun(traceId)
  }

  /** The answer without events. @throws AppError `timeout`, `step_limit`, `agent_crashed`, … */
  async complete(question: AgentQuestion, signal: AbortSignal): Promise<Answer> {
    // Ends in any case, because every question has a deadline.
    return await returned(this.ask(question, signal))
  }

  /**
   * The events of one question from `start` to its output; returns the answer. Stops within a
   * second of the signal's abort.
   * @throws AppError before the first event: `invalid_request`, `unknown_provider`,
   * `too_many_questions`, `shutting_down`, `timeout` while waiting for a slot; after it: the cause
   * of the failure
   */
  async *ask(asked: AgentQuestion, signal: AbortSignal): AsyncGenerator<CompletionEvent, Answer> {
    const question = { ...asked, agent: this.#whole(asked.agent) }
    const model = this.#modelFor(question)
    const start = runStart(this.#deps.newTraceId(), question, model)
    const seconds = question.agent.params.timeoutSeconds ?? this.#options.agentTimeoutSeconds
    return yield* this.#places.within({ start, seconds, signal }, (admitted) => {
      return this.#traced(question, start, admitted)
    })
  }

  /** Includes data that the asker may not name, because the agent may read it. */
  #whole(agent: Agent): Agent {
    if (agent.data?.isPart === undefined) return agent
    const { agents } = this.#deps.catalog.snapshot()
    const data = agents.find(({ id }) => id === agent.id)?.data ?? agent.data
    return { ...agent, data }
  }

  /** Finds as many mistakes as possible before the first event. @throws AppError */
  #modelFor(asked: AgentQuestion): ModelRef {
    const model = asked.agent.model ?? this.#options.defaultModel ?? BUILTIN_MODEL
    const { chatProviders } = this.#deps
    refuseUnanswerable(asked, model)
    if (chatProviders.includes(model.provider)) return model
    throw unknownProvider('model', model.provider, chatProviders)
  }

  async *#traced(
    question: AgentQuestion,
    start: RunStart,
    { signal, ...admitted }: Admitted,
  ): AsyncGenerator<CompletionEvent, Answer> {
    const beganMs = performance.now()
    const trace = this.#deps.traces.begin(start)
    try {
      const { traceId, model } = start
      const run = { ...admitted, traceId, model, trace, beganMs }
      const answer = yield* this.#conversation(question, run, signal)
      trace.end(answeredRun(answer))
      return answer
    } catch (error) {
      trace.end(failedRun(toAppError(error)))
      throw error
    } finally {
      // Reached if the client stopped reading; a finished run keeps its outcome.
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
    const { catalog, select: selectAnything, sources } = this.#deps
    const within = agent.data?.within
    const select: Select = (sql, scope, ended) => selectAnything(sql, { ...scope, within }, ended)
    const { model, endMs, traceId } = run
    yield startEvent(question, traceId, asked.conversation?.id)
    const snapshot = catalog.snapshot()
    const terms = { session: traceId, bytesMax: observationBytesMax, isAble: hasPrompt(model) }
    const [remote, foreign] = await Promise.all([
      remoteTableNames(agent, snapshot, sources, signal),
      foreignToolsOf(agent, this.#deps.foreignTools ?? NO_FOREIGN_TOOLS, terms, signal),
    ])
    const own = agentData(agent, snapshot, remote)
    const named = { ...own, warnings: [...own.warnings, ...foreign.warnings] }
    const data = hasPrompt(model)
      ? await this.#profiles.described(named, snapshot, agent.projectName, signal)
      : named
    const keepsFinalRows = agent.params.mode === 'sql' && hasPrompt(model)
    const scope = { data, project: agent.projectName, select }
    const host = new ToolHost({ ...scope, observationBytesMax, keepsFinalRows, foreign })
    const timeoutMs = Math.max(1, endMs - performance.now())
    const refused = this.#deps.features?.of(model).refused
    const told = { ...this.#options, model, timeoutMs, refused, foreignTools: foreign.specs }
    const task = agentTask(asked, data, told)
    const owner = { host, run, agentId: agent.id, conversation: asked.conversation }
    const { content, warnings, usage, finish, judged } = yield* endingWith(
      this.#threads.answer(task, owner, signal),
      () => foreign.end(),
    )
    const further = judged?.further === undefined ? '' : `\n\n${judged.further}`
    const citations = await host.citations(content + further, signal)
    const findings = host.findings(content)
    const answer = {
      content,
      traceId,
      conversationId: asked.conversation?.id,
      citations,
      ...(judged === undefined
        ? await this.#evidenceFor(question, host, data)
        : { evidence: judged.evidence }),
      ...findings,
      warnings: [
        ...new Set([...data.warnings, ...foreign.warnings]),
        ...[...warnings, ...modeWarnings(asked, findings)],
      ],
      ...{ usage, finish },
      seconds: (performance.now() - run.beganMs) / 1000,
    }
    yield outputEvent(answer)
    return agent.params.returnContext === true ? { ...answer, context: host.context } : answer
  }

  /** Judges the passages that a chat model saw; results of other tools are not judged. */
  async #evidenceFor(
    question: string,
    host: ToolHost,
    data: AvailableData,
  ): Promise<AnswerEvidence> {
    const judge = this.#deps.judgeAnswerability
    if (judge === undefined || host.hasRows || data.knowledgeBases.length === 0) {
      return { evidence: 'answer' }
    }
    const { evidence } = await judge(question, host.foundPassages)
    return { evidence, ...(evidence === 'answer' ? {} : { low_evidence: true }) }
  }

  close(): void {
    this.#places.close()
    this.#profiles.close()
    this.#threads.close()
  }
}

async function* endingWith<T, R>(events: AsyncGenerator<T, R>, end: () => void) {
  try {
    return yield* events
  } finally {
    end()
  }
}

const BUILTIN_MODEL: ModelRef = {
  provider: BUILTIN_PROVIDER,
  modelName: BUILTIN_CHAT_MODEL,
  options: {},
}

function agentTask(
  { agent, question, history, conversation, deltas, answerForm, wishes }: AgentQuestion,
  data: AvailableData,
  terms: Pick<AgentPoolOptions, 'chatDefaults' | 'agentStepsMax' | 'agentContextTokens'> & {
    readonly model: ModelRef
    readonly timeoutMs: number
    readonly refused?: ReadonlySet<ModelFeature> | undefined
    readonly foreignTools: readonly ToolSpec[]
  },
): AgentTask {
  const { model, chatDefaults, timeoutMs, agentStepsMax, agentContextTokens = 0 } = terms
  const task = {
    question,
    history,
    ...(conversation === undefined ? {} : { kept: { summary: conversation.summary } }),
    tools: [...toolSpecs(data), ...terms.foreignTools],
    model,
    chatDefaults,
    refusedFeatures: [...(terms.refused ?? [])],
    timeoutMs,
    maxSteps: agent.params.maxSteps ?? agentStepsMax,
    deltas,
    ...(agent.params.mode === 'sql' ? { endsWithRows: true } : {}),
  }
  if (!hasPrompt(model)) return { ...task, systemPrompt: '' }
  const fence = newFence()
  const contextTokens = contextTokensOf(model, agentContextTokens)
  const prompt = systemPrompt(agent, data, {
    fence,
    ...{ answerForm, wishes },
    hasForeignTools: terms.foreignTools.length > 0,
  })
  const form = answerForm === undefined ? {} : { answerForm }
  return { ...task, systemPrompt: prompt, fence, contextTokens, ...form }
}

/** The built-in model does not follow instructions, and reads any number of rows. */
function hasPrompt({ provider }: ModelRef): boolean {
  return provider !== BUILTIN_PROVIDER
}

/** The assumed context size if unknown, a common default of servers for open models. */
const CONTEXT_TOKENS = 32_000

/** Context sizes published by vendors, by model name. An agent never needs more than 200,000. */
const KNOWN_MODELS: readonly (readonly [RegExp, number])[] = [
  [/(?:^|\/)gpt-3\.5/i, 16_000],
  [/(?:^|\/)(?:gpt-|chatgpt|o[1-9](?:-|$))/i, 128_000],
  [/(?:^|\/)(?:claude|gemini)/i, 200_000],
]

const CONTEXT_TOKENS_MIN = 1000

/** The model's own `context_tokens`, otherwise the setting, otherwise the model's known size. */
function contextTokensOf({ modelName, options }: ModelRef, setting: number): number {
  const own = options.context_tokens
  if (typeof own === 'number' && own >= CONTEXT_TOKENS_MIN) return own
  if (setting >= CONTEXT_TOKENS_MIN) return setting
  return KNOWN_MODELS.find(([pattern]) => pattern.test(modelName))?.[1] ?? CONTEXT_TOKENS
}
