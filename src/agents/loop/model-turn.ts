import type { ChatDelta, ToolCall } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { AGENT_LIMITS } from '../agent-limits.ts'
import type { AgentEvent } from './assignment.ts'

/** One turn of a model: calls, or the answer. */
export interface Turn {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reasoning: string
  /** Since the start of the question; null: nothing came. */
  readonly firstPieceMs: number | null
  readonly end: Extract<ChatDelta, { kind: 'end' }> | null
}

export function turnEvent(
  turn: Turn,
  times: { readonly startMs: number; readonly tookMs: number },
  warnings: readonly string[],
): AgentEvent {
  const { calls, end, reasoning, firstPieceMs } = turn
  return {
    type: 'turn',
    warnings: [...(end?.warnings ?? []), ...warnings],
    turn: {
      ...times,
      firstPieceMs: firstPieceMs === null ? null : firstPieceMs - times.startMs,
      finish: end?.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
      usage: end?.usage ?? null,
      reasoning: reasoning.slice(0, AGENT_LIMITS.reasoningCharsMax).toWellFormed(),
      callCount: calls.length,
    },
  }
}

/**
 * Reads one turn to its end and passes its text on while it comes. @throws AppError
 * `provider_failed` for an endless one
 */
export async function* readTurn(
  deltas: AsyncIterable<ChatDelta>,
  clock: () => number,
  signal: AbortSignal,
): AsyncGenerator<string, Turn> {
  const { turnCharsMax, turnCallsMax } = AGENT_LIMITS
  const texts: string[] = []
  const thoughts: string[] = []
  const calls: ToolCall[] = []
  let chars = 0
  let firstPieceMs: number | null = null
  let end: Turn['end'] = null
  for await (const delta of deltas) {
    signal.throwIfAborted()
    firstPieceMs ??= clock()
    chars += deltaChars(delta)
    if (chars > turnCharsMax) throw tooMuch(`${turnCharsMax} characters`)
    if (delta.kind === 'tool_call') calls.push(delta.call)
    if (calls.length > turnCallsMax) throw tooMuch(`${turnCallsMax} tool calls`)
    if (delta.kind === 'reasoning') thoughts.push(delta.text)
    if (delta.kind === 'end') end = delta
    if (delta.kind === 'text' && delta.text !== '') {
      texts.push(delta.text)
      yield delta.text
    }
  }
  // The OpenAI library ends an aborted stream without a word.
  signal.throwIfAborted()
  const said = texts.join('')
  const textIndex = thoughtEnd(said)
  thoughts.push(said.slice(0, textIndex).replace(`${THOUGHT_END}\n`, ''))
  const text = textIndex === 0 ? said : said.slice(textIndex).trimStart()
  return { text, calls, reasoning: thoughts.join(''), firstPieceMs, end }
}

const THOUGHT_END = '</think>'

/**
 * The start of the answer after a thought without an opening mark: templates of some models open it themselves. This is
 * known only after its pieces have been passed on.
 */
function thoughtEnd(said: string): number {
  const index = said.indexOf(`${THOUGHT_END}\n`)
  const before = said.slice(0, Math.max(0, index))
  const isThought = index === 0 || (before.endsWith('\n') && !before.includes('<think>'))
  return isThought ? index + THOUGHT_END.length + 1 : 0
}

function deltaChars(delta: ChatDelta): number {
  if (delta.kind === 'tool_call') return delta.call.name.length + delta.call.input.length
  return delta.kind === 'end' ? 0 : delta.text.length
}

function tooMuch(limit: string): AppError {
  return new AppError('provider_failed', `The model wrote more than ${limit} in one turn`)
}
