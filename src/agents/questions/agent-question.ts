/** A question and what it leaves in its trace. */
import type { Agent, ConversationTurn } from '../../core/domain/agents/agent.ts'
import type {
  AnswerFindings,
  CompletionEvent,
  Step,
} from '../../core/domain/agents/completion-event.ts'
import {
  addedUsage,
  type FinishReason,
  type RunEnd,
  type RunPurpose,
  type RunStart,
  type TokenUsage,
} from '../../core/domain/agents/completion-event.ts'
import {
  BUILTIN_PROVIDER,
  type ModelRef,
  type RefusedFeatures,
} from '../../core/domain/model-ref.ts'
import type { RunTrace } from '../../core/domain/ports/conversation-ports.ts'
import type { Embedder, JudgedAnswer, ResponseFormat } from '../../core/domain/ports/model-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'
import { type ActorTools, AgentActor, AgentThreads } from '../actors/agent-actor.ts'
import type { AgentSeat } from '../actors/agent-thread.ts'
import type { AgentTask } from '../actors/worker-messages.ts'
import { AGENT_LIMITS, byteSize } from '../agent-limits.ts'
import type { AgentEvent } from '../loop/assignment.ts'
import type { ToolHost } from '../tools/tool-host.ts'
import { type Answer, progressEvent } from './completion-stream.ts'
import type { RunningEntry } from './running-questions.ts'

/** A stored conversation, opened for one question. */
export interface OpenConversation {
  readonly id: string
  /** The summary before the question's history; null: none. */
  readonly summary: string | null
  /** The oldest turns of the history, this many, now have a summary. */
  summarised(summary: { readonly text: string; readonly turnCount: number }): void
}

/** A question to an agent, as a client puts it. */
export interface AgentQuestion {
  readonly agent: Agent
  readonly question: string
  /** Earlier turns, the oldest first. */
  readonly history: readonly ConversationTurn[]
  /** Missing: nothing is stored. */
  readonly conversation?: OpenConversation
  /** Whether text is requested while it is written. */
  readonly deltas: boolean
  /** The form that the answer must have. */
  readonly answerForm?: ResponseFormat
  /** How the asker wants to be answered: appended to the agent's instruction. */
  readonly wishes?: string
  /** `Asker.by`; unset: unknown. */
  readonly askedBy?: string | null
  /** Unset: a user's question. */
  readonly purpose?: RunPurpose
  /** The `traceparent` of the request. */
  readonly traceParent?: string | undefined
}

/** One running question. */
export interface Run {
  readonly model: ModelRef
  /** By the clock of `performance.now()`, like `beganMs`. */
  readonly endMs: number
  readonly beganMs: number
  readonly traceId: string
  readonly trace: RunTrace
  /** In the list of running questions. */
  readonly entry: Pick<RunningEntry, 'admitted' | 'step' | 'end'>
}

export interface Output {
  readonly content: string
  readonly judged?: JudgedAnswer
  readonly warnings: readonly string[]
  readonly usage: TokenUsage | null
  /** How the model's last turn ended. */
  readonly finish: FinishReason
}

/** What is recorded of a run while the agent's thread answers it, in its trace and for its output. */
export class RunNotes {
  readonly #host: ToolHost
  readonly #run: Run
  /** How often each call was run and not shown yet. */
  readonly #ran = new Map<string, number>()
  readonly #warnings = new Set<string>()
  #usage: TokenUsage | null | undefined
  #finish: FinishReason = 'stop'
  /** The thread counts from its own start. */
  #threadMs = 0

  constructor(host: ToolHost, run: Run) {
    this.#host = host
    this.#run = run
  }

  readonly runTool: ActorTools['runTool'] = async (call, signal) => {
    const { trace, beganMs } = this.#run
    const startedMs = performance.now()
    const observation = await this.#host.run(call, signal)
    const key = stepKey(call.name, call.input)
    this.#ran.set(key, (this.#ran.get(key) ?? 0) + 1)
    trace.step({
      startMs: startedMs - beganMs,
      tookMs: performance.now() - startedMs,
      tool: call.name,
      input: call.input,
      observation,
    })
    return observation
  }

  began(): void {
    this.#threadMs = performance.now() - this.#run.beganMs
  }

  turn({ turn, warnings }: Extract<AgentEvent, { type: 'turn' }>): void {
    const { trace, beganMs } = this.#run
    // Under load the thread's start is reported late; a reported turn is over.
    const latestMs = Math.max(0, performance.now() - beganMs - turn.tookMs)
    trace.turn({ ...turn, startMs: Math.min(this.#threadMs + turn.startMs, latestMs) })
    const { usage } = turn
    this.#finish = turn.finish
    this.#usage = this.#usage === undefined ? usage : addedUsage(this.#usage, usage)
    for (const warning of warnings) this.#warnings.add(warning)
  }

  /** A refused or repeated call never reached this thread. */
  step({ action: { tool, tool_input: input }, observation }: Step): void {
    const { trace, beganMs, entry } = this.#run
    entry.step()
    const key = stepKey(tool, input)
    const ran = this.#ran.get(key) ?? 0
    if (ran > 0) this.#ran.set(key, ran - 1)
    else trace.step({ startMs: performance.now() - beganMs, tookMs: 0, tool, input, observation })
  }

  output({ output, judged }: Extract<AgentEvent, { type: 'output' }>): Output {
    return {
      content: output,
      ...(judged === undefined ? {} : { judged }),
      warnings: [...this.#warnings],
      usage: this.#usage ?? null,
      finish: this.#finish,
    }
  }
}

function stepKey(tool: string, input: string): string {
  return `${tool}\n${input}`
}

export function runStart(
  traceId: string,
  { agent, question, conversation, askedBy = null, ...asked }: AgentQuestion,
  model: ModelRef,
): RunStart {
  const { traceParent, purpose = 'question' } = asked
  return {
    traceId,
    agentId: agent.id,
    agentName: agent.name,
    projectId: agent.projectId,
    projectName: agent.projectName,
    question,
    purpose,
    conversationId: conversation?.id ?? null,
    askedBy,
    model,
    traceParent: traceParent ?? null,
  }
}

export function answeredRun({ content, citations, warnings, evidence }: Answer): RunEnd {
  const failure = { errorCode: null, errorMessage: null }
  return { outcome: 'answered', answer: content, citations, warnings, evidence, ...failure }
}

export function failedRun({ code, message }: AppError): RunEnd {
  return {
    outcome: code === 'cancelled' ? 'cancelled' : 'failed',
    answer: null,
    citations: [],
    warnings: [],
    evidence: null,
    errorCode: code,
    errorMessage: message,
  }
}

/** What an agent of the mode `sql` gave less than its rows. */
export function modeWarnings(
  { agent }: AgentQuestion,
  { result }: AnswerFindings,
): readonly string[] {
  if (agent.params.mode !== 'sql') return []
  if (result === undefined) {
    return [
      'The built-in model quotes and writes no SQL: the mode sql needs an agent with a chat model',
    ]
  }
  if (result === null) return ['The model ran no statement, so there are no rows']
  if (!result.is_cut) return []
  return [`The rows are cut at ${result.data.length}: the statement gives more`]
}

/** @throws AppError `invalid_request` for what no model can answer, or not this one */
export function refuseUnanswerable(
  { question, wishes = '', answerForm }: AgentQuestion,
  { provider }: ModelRef,
): void {
  const { questionBytesMax } = AGENT_LIMITS
  if (question.trim() === '') throw new AppError('invalid_request', 'The question is empty')
  if (byteSize(question) > questionBytesMax) {
    throw new AppError('invalid_request', `A question has at most ${questionBytesMax} bytes`)
  }
  if (byteSize(wishes) > questionBytesMax) {
    const message = `What is said beside the question has at most ${questionBytesMax} bytes`
    throw new AppError('invalid_request', `${message}: shorten the system message`)
  }
  if (answerForm === undefined || provider !== BUILTIN_PROVIDER) return
  const needed = 'response_format needs an agent with a chat model'
  throw new AppError('invalid_request', `The built-in model quotes and writes no JSON: ${needed}`)
}

export interface ThreadOptions {
  /** Threads started in advance. */
  readonly sparesMax: number
  /** The entry of the agents' thread. */
  readonly workerUrl: string
}

/** Requests of threads to the main thread, besides tools. */
export interface ThreadServices {
  /** The built-in embedder, for a model that ranks sentences. */
  readonly embed: Embedder['embed']
  /** Features that model servers refuse; unset: each question finds out. */
  readonly features?: RefusedFeatures
  /** Gives back what is held by nothing any more; it holds the main thread for some 50 ms. */
  readonly collect?: () => void
}

/** A question's dependencies on the main thread while its thread answers it. */
interface Asked {
  readonly host: ToolHost
  readonly run: Run
  readonly agentId: number
  /** Told of a summary of its oldest turns. */
  readonly conversation?: OpenConversation | undefined
}

/** Runs questions in threads that belong to one agent each, and records in their traces what happens. */
export class QuestionThreads {
  readonly #threads: AgentThreads
  readonly #services: ThreadServices
  /** Since the last collection. */
  #answered = 0

  constructor({ workerUrl, sparesMax }: ThreadOptions, services: ThreadServices) {
    this.#threads = new AgentThreads(workerUrl, sparesMax)
    this.#services = services
  }

  /** Questions to models of this provider are probably next: threads start and wait for them. */
  expect(provider: string): void {
    this.#threads.expect(provider)
    this.#threads.refill()
  }

  /**
   * The events between the start and the answer. When a thread with several questions stops, the others are asked again,
   * each in a separate thread, so that only the culprit fails there too. A question that has shown anything is not asked
   * again.
   */
  async *answer(
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
    { host, run, conversation, shown }: Asked & { readonly shown: { any: boolean } },
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Output> {
    const notes = new RunNotes(host, run)
    const { embed, features } = this.#services
    const tools: ActorTools = {
      runTool: notes.runTool,
      embed,
      featureRefused: (feature) => features?.of(task.model).add(feature),
    }
    const actor = new AgentActor({ worker, task, tools })
    const stopListening = onAbort(signal, () => actor.stop(toAppError(signal.reason)))
    try {
      for await (const event of actor.events()) {
        if (event.type === 'output') return notes.output(event)
        if (event.type === 'start') notes.began()
        else if (event.type === 'turn') notes.turn(event)
        else if (event.type === 'summary') conversation?.summarised(event)
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
      this.#collectSometimes()
    }
  }

  /** Under steady load nothing else does in time: memory would grow by a fifth in 5 000 questions. */
  #collectSometimes(): void {
    this.#answered += 1
    if (this.#answered < AGENT_LIMITS.questionsPerCollection) return
    this.#answered = 0
    this.#services.collect?.()
  }

  close(): void {
    this.#threads.close()
  }
}
