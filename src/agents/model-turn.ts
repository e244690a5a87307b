import type { Action } from '../domain/completion-event.ts'
import type { ChatDelta, ToolCall } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import { AGENT_LIMITS } from './agent-limits.ts'

/** What a model said in one go: calls, or without them the answer. */
export interface Turn {
  readonly text: string
  readonly calls: readonly ToolCall[]
}

/**
 * Reads one turn to its end and passes its text on while it comes. @throws AppError
 * `provider_failed` for an endless one
 */
export async function* readTurn(
  deltas: AsyncIterable<ChatDelta>,
  signal: AbortSignal,
): AsyncGenerator<string, Turn> {
  const { turnCharsMax, turnCallsMax } = AGENT_LIMITS
  const texts: string[] = []
  const calls: ToolCall[] = []
  let chars = 0
  for await (const delta of deltas) {
    signal.throwIfAborted()
    chars += delta.kind === 'text' ? delta.text.length : delta.call.input.length
    if (chars > turnCharsMax) throw tooMuch(`${turnCharsMax} characters`)
    if (delta.kind === 'tool_call') calls.push(delta.call)
    if (calls.length > turnCallsMax) throw tooMuch(`${turnCallsMax} tool calls`)
    if (delta.kind === 'text' && delta.text !== '') {
      texts.push(delta.text)
      yield delta.text
    }
  }
  // The OpenAI library ends an aborted stream without a word.
  signal.throwIfAborted()
  return { text: texts.join(''), calls }
}

function tooMuch(limit: string): AppError {
  return new AppError('provider_failed', `The model wrote more than ${limit} in one turn`)
}

/** The call as it is told to the client, with the text that the model wrote before it. */
export function actionOf(call: ToolCall, thought: string): Action {
  const text = thought.trim()
  const lines = [
    ...(text === '' ? [] : [`Thought: ${text}`]),
    `Action: ${call.name}`,
    `Action Input: ${call.input}`,
  ]
  return { tool: call.name, tool_input: call.input, log: lines.join('\n') }
}
