import type { ConversationTurn } from '../../core/domain/agents/agent.ts'
import type { Action, ModelTurn, Step } from '../../core/domain/agents/completion-event.ts'
import type { JudgedAnswer, ResponseFormat, ToolSpec } from '../../core/domain/ports/model-ports.ts'

/** The model's instructions and limits. */
export interface Assignment {
  readonly question: string
  /** Earlier turns, the oldest first. */
  readonly history: readonly ConversationTurn[]
  /** For a stored conversation: the summary before `history`; null: none. Missing: not stored. */
  readonly kept?: { readonly summary: string | null }
  readonly systemPrompt: string
  readonly tools: readonly ToolSpec[]
  /** Tool calls before the answer. */
  readonly maxSteps: number
  /** The time left for the answer. */
  readonly timeoutMs: number
  /** Whether text is requested while it is written. */
  readonly deltas: boolean
  /** Tokens the model can read and write in one turn. Missing: nothing is shortened. */
  readonly contextTokens?: number
  /** The mark around data, explained in the system prompt. Missing: data is shown unmarked. */
  readonly fence?: string
  /** The rows of the last call belong to the answer, so an earlier call may be repeated. */
  readonly endsWithRows?: boolean
  /** The form that the answer must have. */
  readonly answerForm?: ResponseFormat
}

/** What happened while a worker answers: `start`, an `action` and its `step` for each tool call, `output`, `end`. */
export type AgentEvent =
  | { readonly type: 'start' }
  | { readonly type: 'action'; readonly action: Action }
  | { readonly type: 'step'; readonly step: Step }
  /** A piece of the model's text, if deltas are requested. */
  | { readonly type: 'delta'; readonly content: string }
  /** A turn of the model is over: its times and tokens, for the trace. */
  | { readonly type: 'turn'; readonly turn: ModelTurn; readonly warnings: readonly string[] }
  /** A summary of this many oldest turns, for the next question of a stored conversation. */
  | { readonly type: 'summary'; readonly text: string; readonly turnCount: number }
  | {
      readonly type: 'output'
      readonly output: string
      readonly judged?: JudgedAnswer
    }
  | { readonly type: 'end' }
