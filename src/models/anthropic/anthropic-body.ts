import type {
  ContentBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  Tool,
} from '@anthropic-ai/sdk/resources/messages'
import type { ChatMessage, ChatRequest, ToolSpec } from '../../domain/ports/model-ports.ts'
import { toolArguments, toolName, toolSchema, withSystemFirst } from '../tool-arguments.ts'

/**
 * A conversation as Anthropic takes it: the system's words apart, user and assistant by turns, all
 * results of one answer's calls in one user message, no empty block, and tools defined as long as a
 * call stands in it.
 */
export function anthropicBody(
  request: ChatRequest,
  options: { readonly model: string; readonly tokensMax: number },
): MessageCreateParamsStreaming {
  const messages = withSystemFirst(request.messages)
  const system = messages.flatMap((message) => {
    return message.role === 'system' && message.content !== '' ? [message.content] : []
  })
  return {
    model: options.model,
    max_tokens: options.tokensMax,
    stream: true,
    messages: merged(messages, request.tools),
    ...(system.length === 0 ? {} : { system: system.join('\n\n') }),
    ...toolParams(request),
  }
}

function merged(messages: readonly ChatMessage[], tools: readonly ToolSpec[]): MessageParam[] {
  const turns: { role: 'user' | 'assistant'; content: ContentBlockParam[] }[] = []
  for (const message of messages) {
    const content = blocksOf(message, tools)
    if (content.length === 0) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  return turns
}

function blocksOf(message: ChatMessage, tools: readonly ToolSpec[]): ContentBlockParam[] {
  const text = (content: string): ContentBlockParam[] => {
    return content.trim() === '' ? [] : [{ type: 'text', text: content }]
  }
  switch (message.role) {
    case 'system':
      return []
    case 'user':
      return text(message.content)
    case 'tool':
      return [{ type: 'tool_result', tool_use_id: message.callId, content: message.content }]
    case 'assistant': {
      const calls = message.toolCalls.map((call) => ({
        type: 'tool_use' as const,
        id: call.id,
        name: toolName(call.name),
        input: toolArguments(call, tools),
      }))
      return [...text(message.content), ...calls]
    }
  }
}

function toolParams(
  request: ChatRequest,
): Pick<MessageCreateParamsStreaming, 'tools' | 'tool_choice'> {
  if (request.tools.length > 0) {
    const tools = request.tools.map((tool): Tool => {
      const schema = toolSchema(tool)
      return { name: tool.name, description: tool.description, input_schema: schema }
    })
    return { tools }
  }
  const called = request.messages.flatMap((message) => {
    return message.role === 'assistant' ? message.toolCalls.map((call) => toolName(call.name)) : []
  })
  if (called.length === 0) return {}
  const tools = [...new Set(called)].map((name): Tool => {
    return { name, input_schema: { type: 'object', properties: {} } }
  })
  return { tools, tool_choice: { type: 'none' } }
}
