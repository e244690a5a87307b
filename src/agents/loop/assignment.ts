import type { ConversationTurn } from '../../core/domain/agents/agent.ts'
import type { Action, ModelTurn, Step } from '../../core/domain/agents/completion-event.ts'
import type { JudgedAnswer, ResponseFormat, ToolSpec } from '../../core/domain/ports/model-ports.ts'

export interface Assignment {
  readonly question: string
  /** Earlier turns, oldest first. */
  readonly history: readonly ConversationTurn[]
  /**
   * A stored conversation's summary of the turns before `history`, or null. Missing: not stored.
   */
  readonly kept?: { readonly summary: string | null }
  readonly systemPrompt: string
  readonly tools: readonly ToolSpec[]
  readonly maxSteps: number
  readonly timeoutMs: number
  readonly deltas: boolean
  /** How many tokens the model can read and write in one turn. If missing, nothing is shortened. */
  readonly contextTokens?: number
  /** The marker around data, which the system prompt explains. If missing, data is not marked. */
  readonly fence?: string
  /** Whether the last call's rows belong to the answer, so that earlier calls may be repeated. */
  readonly endsWithRows?: boolean
  readonly answerForm?: ResponseFormat
}

export type AgentEvent =
  | { readonly type: 'start' }
  | { readonly type: 'action'; readonly action: Action }
  | { readonly type: 'step'; readonly step: Step }
  /** A piece of the model's text, if deltas are requested. */
  | { readonly type: 'delta'; readonly content: string }
  /** A finished turn of the model, with times and tokens for the trace. */
  | { readonly type: 'turn'; readonly turn: ModelTurn; readonly warnings: readonly string[] }
  /** A summary of this many of the oldest turns, stored for the conversation's next question. */
  | { readonly type: 'summary'; readonly text: string; readonly turnCount: number }
  | {
      readonly type: 'output'
      readonly output: string
      readonly judged?: JudgedAnswer
    }
  | { readonly type: 'end' }
