/** A question to an agent, and what is recorded about it in its trace. */
import type { Agent, ConversationTurn } from '../../core/domain/agents/agent.ts'
import { AGENT_LIMITS, byteSize } from '../../core/domain/agents/agent-limits.ts'
import {
  type AnswerFindings,
  addedUsage,
  type CompletionEvent,
  type FinishReason,
  type RunEnd,
  type RunPurpose,
  type RunStart,
  type Step,
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
import type { AgentEvent } from '../loop/assignment.ts'
import type { ToolHost } from '../tools/tool-host.ts'
import { type Answer, progressEvent } from './completion-stream.ts'
import type { RunningEntry } from './running-questions.ts'

export interface OpenConversation {
  readonly id: string
  /** The summary of turns before the question's history; null if none. */
  readonly summary: string | null
  /** Stores a summary of this many of the oldest turns in the history. */
  summarised(summary: { readonly text: string; readonly turnCount: number }): void
}

export interface AgentQuestion {
  readonly agent: Agent
  readonly question: string
  readonly history: readonly ConversationTurn[]
  /** Missing if the question is not stored. */
  readonly conversation?: OpenConversation
  readonly deltas: boolean
  readonly answerForm?: ResponseFormat
  /** The asker's instructions for this answer, appended to the agent's own. */
  readonly wishes?: string
  /** See `Asker.by`; unset if unknown. */
  readonly askedBy?: string | null
  /** If unset, a user's question. */
  readonly purpose?: RunPurpose
  /** The request's `traceparent` header. */
  readonly traceParent?: string | undefined
}

export interface Run {
  readonly model: ModelRef
  /** In the time of `performance.now()`, like `beganMs`. */
  readonly endMs: number
  readonly beganMs: number
  readonly traceId: string
  readonly trace: RunTrace
  /** The question's entry in the list of running questions. */
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

/** Collects what happens in a run on the agent's thread, for its trace and its output. */
class RunNotes {
  readonly #host: ToolHost
  readonly #run: Run
  /** How often each call ran without its step being shown yet. */
  readonly #ran = new Map<string, number>()
  readonly #warnings = new Set<string>()
  #usage: TokenUsage | null | undefined
  #finish: FinishReason = 'stop'
  /** The offset of the thread's clock, which starts at 0 with the thread. */
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
    // Under load, the start of a thread is reported late, but a reported turn has certainly ended.
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

/** Warnings about missing rows in an answer in `sql` mode. */
export function modeWarnings(
  { agent }: AgentQuestion,
  { result }: AnswerFindings,
): readonly string[] {
  if (agent.params.mode !== 'sql') return []
  if (result === undefined) {
    return [
      'The built-in model quotes and cannot write SQL: the mode sql needs an agent with a chat model',
    ]
  }
  if (result === null) return ['The model ran no statement, so there are no rows']
  if (!result.is_cut) return []
  return [`Only the first ${result.data.length} rows are returned; the statement has more`]
}

/** @throws AppError `invalid_request` for a question that no model, or not this one, can answer */
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
    const message = `The texts besides the question have at most ${questionBytesMax} bytes`
    throw new AppError('invalid_request', `${message}: shorten the system message`)
  }
  if (answerForm === undefined || provider !== BUILTIN_PROVIDER) return
  const message = 'The built-in model quotes and cannot write JSON or call functions'
  throw new AppError('invalid_request', `${message}: this needs an agent with a chat model`)
}

export interface ThreadOptions {
  readonly sparesMax: number
  readonly workerUrl: string
}

/** What threads request from the main thread, besides tools. */
export interface ThreadServices {
  /** The built-in embedding model, for a model that ranks sentences. */
  readonly embed: Embedder['embed']
  /** Features that model servers refuse; if unset, each question finds out by itself. */
  readonly features?: RefusedFeatures
  /** Runs a garbage collection, which blocks the main thread for about 50 ms. */
  readonly collect?: () => void
}

/** What a question needs from the main thread while a thread answers it. */
interface Asked {
  readonly host: ToolHost
  readonly run: Run
  readonly agentId: number
  readonly conversation?: OpenConversation | undefined
}

/** Runs questions in threads of one agent each, and records their events in the traces. */
export class QuestionThreads {
  readonly #threads: AgentThreads
  readonly #services: ThreadServices
  /** The number of questions since the last garbage collection. */
  #answered = 0

  constructor({ workerUrl, sparesMax }: ThreadOptions, services: ThreadServices) {
    this.#threads = new AgentThreads(workerUrl, sparesMax)
    this.#services = services
  }

  /** Starts threads for this provider, which the next questions will probably use. */
  expect(provider: string): void {
    this.#threads.expect(provider)
    this.#threads.refill()
  }

  /** If a shared thread stops, its other questions that have shown nothing are asked again. */
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
          // A run that ends without output is not an answer.
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

  /** Under steady load, no other collection happens in time; memory would grow by a fifth. */
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
