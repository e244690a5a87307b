/** The record of one question to an agent, as `GET /api/traces/{trace_id}` returns it. */
import { AppError, type ErrorCode } from '../../errors.ts'
import type { ModelRef } from '../model-ref.ts'
import type { Citation, EvidenceLevel } from './completion-event.ts'

/** Tokens as the provider counted them. */
export interface TokenUsage {
  /** All input, including `cachedTokens`. */
  readonly inputTokens: number
  /** All output, including reasoning. */
  readonly outputTokens: number
  /** The part of the input that the provider had cached. */
  readonly cachedTokens: number
}

export const NO_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 }

/** The sum of two turns; null: one is unknown. */
export function addedUsage(first: TokenUsage | null, second: TokenUsage | null): TokenUsage | null {
  if (first === null || second === null) return null
  return {
    inputTokens: first.inputTokens + second.inputTokens,
    outputTokens: first.outputTokens + second.outputTokens,
    cachedTokens: first.cachedTokens + second.cachedTokens,
  }
}

/** Why a turn ended. `length`: token limit. `filter`: content withheld. `refusal`: the model refused. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'filter' | 'refusal'

/** One turn of the model. Times are milliseconds; `startMs` counts from the start of the question. */
export interface ModelTurn {
  readonly startMs: number
  /** Until the first piece of the answer; null: there was none. */
  readonly firstPieceMs: number | null
  readonly tookMs: number
  readonly finish: FinishReason
  /** null: the provider did not say. */
  readonly usage: TokenUsage | null
  /** The model's thoughts, apart from its text; cut. */
  readonly reasoning: string
  /** Tool calls it requested. */
  readonly callCount: number
}

/** One tool call. */
export interface ToolStep {
  readonly startMs: number
  readonly tookMs: number
  readonly tool: string
  readonly input: string
  readonly observation: string
}

/** `evaluation`: of a set of questions that measures the agent (`EVALUATE AGENT`). */
export const RUN_PURPOSES = ['question', 'evaluation'] as const

export type RunPurpose = (typeof RUN_PURPOSES)[number]

export const RUN_OUTCOMES = ['answered', 'failed', 'cancelled'] as const

export type RunOutcome = (typeof RUN_OUTCOMES)[number]

/** The facts known at the start of a question. */
export interface RunStart {
  /** A UUID. */
  readonly traceId: string
  readonly agentId: number
  readonly agentName: string
  readonly projectId: number
  readonly projectName: string
  readonly question: string
  readonly purpose: RunPurpose
  readonly conversationId: string | null
  /** `Asker.by`. */
  readonly askedBy: string | null
  /** With its key, which is never stored: code that records the run removes it from every text. */
  readonly model: ModelRef
  /** The `traceparent` of the request (W3C Trace Context); null: there was none. */
  readonly traceParent: string | null
}

/** How it ended. */
export interface RunEnd {
  readonly outcome: RunOutcome
  readonly answer: string | null
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
  /** null: there is no answer. */
  readonly evidence: EvidenceLevel | null
  readonly errorCode: ErrorCode | null
  readonly errorMessage: string | null
}

/** One question from its start to its end, without secrets, its texts bounded: what is stored and exported. */
export interface FinishedRun extends Omit<RunStart, 'model'>, RunEnd {
  readonly provider: string
  readonly modelName: string
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly turns: readonly ModelTurn[]
  readonly steps: readonly ToolStep[]
  /** For all turns; null: none was counted. */
  readonly usage: TokenUsage | null
  /** By the price table; null: the model has no price there, or a turn was not counted. */
  readonly cost: number | null
}

/** Also if it is one that the asker may not see. */
export function traceNotFound(traceId: string): AppError {
  const why = 'it never was, its question is still being answered, or it was kept long enough'
  return new AppError('trace_not_found', `There is no trace ${traceId.slice(0, 100)}: ${why}`)
}

/** Also if it is one that the asker may not see. */
export function runNotFound(traceId: string): AppError {
  const message = `No question with the trace_id ${traceId.slice(0, 80)} is running or waiting`
  return new AppError('run_not_found', message)
}
