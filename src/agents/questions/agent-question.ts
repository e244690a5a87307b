/** A question and what it leaves in its trace. */
import type { Agent, ConversationTurn } from '../../domain/agents/agent.ts'
import type { RunEnd, RunPurpose, RunStart } from '../../domain/agents/agent-run.ts'
import type { ModelRef } from '../../domain/model-ref.ts'
import type { ResponseFormat } from '../../domain/ports/model-ports.ts'
import type { RunTrace } from '../../domain/ports/trace-ports.ts'
import type { AppError } from '../../errors.ts'
import type { ActorTools } from '../actors/agent-actor.ts'
import type { ToolHost } from '../tools/tool-host.ts'
import type { Answer } from './completion-stream.ts'
import type { RunningEntry } from './running-questions.ts'

/** A question to an agent, as a client puts it. */
export interface AgentQuestion {
  readonly agent: Agent
  readonly question: string
  /** Earlier turns, the oldest first. */
  readonly history: readonly ConversationTurn[]
  /** Whether text is wanted while it is written. */
  readonly deltas: boolean
  /** The form that the answer must have. */
  readonly answerForm?: ResponseFormat
  /** Unset: a user's question. */
  readonly purpose?: RunPurpose
  /** The `traceparent` of the request. */
  readonly traceParent?: string | undefined
}

/** One question under way. */
export interface Run {
  readonly model: ModelRef
  /** On the clock of `performance.now()`, as `beganMs`. */
  readonly endMs: number
  readonly beganMs: number
  readonly traceId: string
  readonly trace: RunTrace
  /** In the list of running questions. */
  readonly entry: Pick<RunningEntry, 'admitted' | 'step' | 'end'>
}

export function tracedTools(host: ToolHost, { trace, beganMs }: Run): ActorTools['runTool'] {
  return async (call, signal) => {
    const startedMs = performance.now()
    const observation = await host.run(call, signal)
    trace.step({
      startMs: startedMs - beganMs,
      tookMs: performance.now() - startedMs,
      tool: call.name,
      input: call.input,
      observation,
    })
    return observation
  }
}

export function runStart(
  traceId: string,
  { agent, question, traceParent, purpose = 'question' }: AgentQuestion,
  model: ModelRef,
): RunStart {
  return {
    traceId,
    agentId: agent.id,
    agentName: agent.name,
    projectId: agent.projectId,
    projectName: agent.projectName,
    question,
    purpose,
    conversationId: null,
    model,
    traceParent: traceParent ?? null,
  }
}

export function answeredRun({ content, citations, warnings }: Answer): RunEnd {
  const failure = { errorCode: null, errorMessage: null }
  return { outcome: 'answered', answer: content, citations, warnings, ...failure }
}

export function failedRun({ code, message }: AppError): RunEnd {
  return {
    outcome: code === 'cancelled' ? 'cancelled' : 'failed',
    answer: null,
    citations: [],
    warnings: [],
    errorCode: code,
    errorMessage: message,
  }
}
