/** A question that this page is watching. Each event of its stream updates it. */
import type {
  Action,
  CompletionEvent,
  OutputEvent,
} from '../../../../core/domain/agents/completion-event.ts'
import type { Trace } from '../../../api/records.ts'
import { shownCount } from '../../../components/numbers.ts'

export interface AskedStep {
  readonly action: Action
  readonly startedAtMs: number
  readonly observation?: string
  readonly endedAtMs?: number
}

export type Found = Pick<
  OutputEvent,
  'citations' | 'warnings' | 'statements' | 'charts' | 'result' | 'evidence' | 'low_evidence'
>

/** `cut`: the connection broke off, so the outcome is unknown. */
type TurnState = 'running' | 'answered' | 'failed' | 'stopped' | 'cut'

export interface AskedTurn {
  /** Distinguishes the turns on this page. */
  readonly key: number
  readonly question: string
  readonly state: TurnState
  readonly startedAtMs: number
  readonly endedAtMs?: number
  readonly traceId?: string
  readonly conversationId?: string
  /** The answer so far. */
  readonly text: string
  readonly steps: readonly AskedStep[]
  /** Citations, rows and charts of the answer. */
  readonly found?: Found
  readonly failure?: { readonly words: string; readonly kind: string }
}

export function newTurn(question: string, nowMs: number, key = 0): AskedTurn {
  return { key, question, state: 'running', startedAtMs: nowMs, text: '', steps: [] }
}

export function withEvent(turn: AskedTurn, event: CompletionEvent, nowMs: number): AskedTurn {
  if ('actions' in event) {
    const begun = event.actions.map((action) => ({ action, startedAtMs: nowMs }))
    // Text before a tool call is the model's reasoning, which the action already contains.
    return { ...turn, text: '', steps: [...turn.steps, ...begun] }
  }
  if ('steps' in event) return event.steps.reduce((now, step) => withStep(now, step, nowMs), turn)
  if ('output' in event) {
    const { output: text } = event
    return { ...turn, state: 'answered', text, found: event, endedAtMs: nowMs }
  }
  if (event.type === 'start') {
    const { trace_id: traceId, conversation_id: conversationId } = event
    return { ...turn, traceId, ...(conversationId === undefined ? {} : { conversationId }) }
  }
  if (event.type === 'delta') return { ...turn, text: turn.text + event.content }
  if (event.type === 'error') {
    // The question was cancelled, here or in another window.
    if (event.error_code === 'cancelled') return endedTurn(turn, 'stopped', nowMs)
    const failure = { words: event.content, kind: event.error_type }
    return { ...turn, state: 'failed', failure, endedAtMs: nowMs }
  }
  return turn
}

/** Steps arrive in the order of their calls. */
function withStep(
  turn: AskedTurn,
  { action, observation }: { readonly action: Action; readonly observation: string },
  nowMs: number,
): AskedTurn {
  const index = turn.steps.findIndex((step) => step.endedAtMs === undefined)
  const begun = turn.steps[index] ?? { action, startedAtMs: nowMs }
  const ended = { ...begun, action, observation, endedAtMs: nowMs }
  const steps = index < 0 ? [...turn.steps, ended] : turn.steps.with(index, ended)
  return { ...turn, steps }
}

/** @param state how the turn ended, if no event said so */
export function endedTurn(turn: AskedTurn, state: TurnState, nowMs: number): AskedTurn {
  return turn.state === 'running' ? { ...turn, state, endedAtMs: nowMs } : turn
}

/** What to do about each kind of failure. */
export const NEXT_STEPS: Readonly<Record<string, string>> = {
  authentication: "The model refused the key. Check it in the agent's settings.",
  rate_limit: 'The model is busy. Wait a moment, then ask again.',
  timeout: 'This took too long. Ask again, or give the agent more time or steps in its settings.',
  connection:
    'The model could not be reached or failed. Ask again, or check its server and address.',
  not_found: 'The model was not found. Check its name and address in the settings.',
  content: 'The provider refused the content. Rephrase the question.',
  general: 'Ask again. The trace shows how far it got.',
}

/** Describes token counts. Cached tokens are part of the input. */
export function usageOf(usage: Trace['usage']): string {
  if (usage === null) return 'tokens not counted'
  const kept = usage.cached_tokens > 0 ? ` (${shownCount(usage.cached_tokens)} cached)` : ''
  const { input_tokens: read, output_tokens: written } = usage
  return `${shownCount(read)} tokens in${kept}, ${shownCount(written)} out`
}
