/** What one question to an agent leaves behind: the record that `GET /api/traces/{trace_id}` gives back. */
import type { ErrorCode } from '../../errors.ts'
import type { Citation } from './completion-event.ts'

/** Tokens as the provider counted them. */
export interface TokenUsage {
  /** All that was sent, `cachedTokens` included. */
  readonly inputTokens: number
  /** All that was written, reasoning included. */
  readonly outputTokens: number
  /** Of the input, what the provider had kept from before. */
  readonly cachedTokens: number
}

export const NO_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 }

/** Of two turns; one of which nothing is known counts nothing. */
export function addedUsage(first: TokenUsage | null, second: TokenUsage | null): TokenUsage | null {
  if (first === null || second === null) return first ?? second
  return {
    inputTokens: first.inputTokens + second.inputTokens,
    outputTokens: first.outputTokens + second.outputTokens,
    cachedTokens: first.cachedTokens + second.cachedTokens,
  }
}

/** Why a turn ended. `length`: at the limit of tokens. `filter`: content was withheld. `refusal`: the model would not. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'filter' | 'refusal'

/** One turn of the model. Times are milliseconds; `startMs` counts from the start of the question. */
export interface ModelTurn {
  readonly startMs: number
  /** Until the first piece of the answer came; null: none did. */
  readonly firstPieceMs: number | null
  readonly tookMs: number
  readonly finish: FinishReason
  /** null: the provider did not say. */
  readonly usage: TokenUsage | null
  /** What the model wrote as thought, apart from its text; cut. */
  readonly reasoning: string
  /** Tool calls that it asked for. */
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
export type RunPurpose = 'question' | 'evaluation'

export type RunOutcome = 'answered' | 'failed' | 'cancelled'

/** What is known when a question begins. */
export interface RunStart {
  /** A UUID. */
  readonly traceId: string
  readonly agentId: number
  readonly agentName: string
  readonly projectName: string
  readonly question: string
  readonly purpose: RunPurpose
  readonly conversationId: string | null
  readonly model: { readonly provider: string; readonly modelName: string }
}

/** How it ended. */
export interface RunEnd {
  readonly outcome: RunOutcome
  readonly answer: string | null
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
  readonly errorCode: ErrorCode | null
  readonly errorMessage: string | null
}
