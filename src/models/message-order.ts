import type { ModelFeature } from '../domain/model-features.ts'
import type { ChatMessage, ToolCall } from '../domain/ports/model-ports.ts'
import { withSystemFirst } from './tool-arguments.ts'

/**
 * The conversation in the order that a server takes: with its system's words first, or within the first message where it
 * knows no such role, by turns where it insists on them, and one call in a message where it takes no more.
 */
export function plainMessages(
  messages: readonly ChatMessage[],
  refused: ReadonlySet<ModelFeature>,
): readonly ChatMessage[] {
  let plain = withSystemFirst(messages)
  if (refused.has('call_ids')) plain = withShortIds(plain)
  if (refused.has('parallel_calls')) plain = withSingleCalls(plain)
  if (refused.has('system_role')) plain = plain.map(asUser)
  if (refused.has('system_role') || refused.has('role_order')) plain = byTurns(plain)
  return plain
}

function asUser(message: ChatMessage): ChatMessage {
  return message.role === 'system' ? { role: 'user', content: message.content } : message
}

/** What follows another message of its kind, or a tool's result, is added to that. */
function byTurns(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const merged: ChatMessage[] = []
  for (const message of messages) {
    const last = merged.at(-1)
    const isUsers = message.role === 'user' && (last?.role === 'user' || last?.role === 'tool')
    const isPlain = message.role === 'assistant' && message.toolCalls.length === 0
    const isAnswers = isPlain && last?.role === 'assistant' && last.toolCalls.length === 0
    if (last === undefined || !(isUsers || isAnswers)) merged.push(message)
    else merged[merged.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` }
  }
  return merged
}

function withSingleCalls(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const single: ChatMessage[] = []
  for (const message of messages) {
    if (message.role === 'tool') continue
    if (message.role !== 'assistant' || message.toolCalls.length < 2) {
      single.push(message, ...resultsOf(message, messages))
      continue
    }
    for (const [index, call] of message.toolCalls.entries()) {
      const content = index === 0 ? message.content : ''
      const one: ChatMessage = { role: 'assistant', content, toolCalls: [call] }
      single.push(one, ...resultsOf(one, messages))
    }
  }
  return single
}

function resultsOf(message: ChatMessage, all: readonly ChatMessage[]): readonly ChatMessage[] {
  if (message.role !== 'assistant') return []
  return message.toolCalls.flatMap(({ id }) => {
    return all.filter((one) => one.role === 'tool' && one.callId === id)
  })
}

/** Nine letters and digits, as Mistral wants them, the same for the same id. */
function withShortIds(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const short = new Map<string, string>()
  const shortId = (id: string): string => {
    const known = short.get(id) ?? `call${String(short.size + 1).padStart(5, '0')}`
    short.set(id, known)
    return known
  }
  const shortened = (call: ToolCall) => ({ ...call, id: shortId(call.id) })
  return messages.map((message) => {
    if (message.role === 'tool') return { ...message, callId: shortId(message.callId) }
    if (message.role !== 'assistant') return message
    return { ...message, toolCalls: message.toolCalls.map(shortened) }
  })
}
