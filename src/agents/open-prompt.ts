import type { ConversationTurn } from '../domain/agent.ts'
import type { ChatMessage, ToolSpec } from '../domain/ports.ts'
import { AGENT_LIMITS } from './agent-limits.ts'
import { byteSize } from './text-size.ts'

/** What a conversation begins with. */
export interface OpenPrompt {
  readonly question: string
  /** Earlier turns, the oldest first. */
  readonly history: readonly ConversationTurn[]
  readonly systemPrompt: string
  readonly tools: readonly ToolSpec[]
}

/** The instruction, the newest turns that fit into `historyBytesMax`, and the question. */
export function openingMessages(prompt: OpenPrompt): readonly ChatMessage[] {
  const { systemPrompt, question } = prompt
  const history = newestThatFit(prompt.history, AGENT_LIMITS.historyBytesMax)
  return [
    { role: 'system', content: systemPrompt },
    ...history.map(({ role, content }): ChatMessage => {
      return role === 'user' ? { role, content } : { role, content, toolCalls: [] }
    }),
    { role: 'user', content: question },
  ]
}

function newestThatFit(
  history: readonly ConversationTurn[],
  bytesMax: number,
): readonly ConversationTurn[] {
  const spoken = history.filter((turn) => turn.content.trim() !== '')
  let bytes = 0
  const tooOld = spoken.findLastIndex((turn) => {
    bytes += byteSize(turn.content)
    return bytes > bytesMax
  })
  return spoken.slice(tooOld + 1)
}

const LEFT_OUT = '(left out to save room; call the tool again if you need it)'

/**
 * The same messages with the oldest observations left out beyond `observationsBytesMax`. The newest
 * always stays.
 */
export function withinLimits(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const newest = messages.findLastIndex((message) => message.role === 'tool')
  let bytes = 0
  const tooOld = messages.findLastIndex((message, index) => {
    bytes += message.role === 'tool' ? byteSize(message.content) : 0
    return bytes > AGENT_LIMITS.observationsBytesMax && index < newest
  })
  return messages.map((message, index) => {
    const isKept = message.role !== 'tool' || index > tooOld || index === newest
    return isKept ? message : { ...message, content: LEFT_OUT }
  })
}
