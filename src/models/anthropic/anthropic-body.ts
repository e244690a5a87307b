import type {
  ContentBlockParam,
  MessageCreateParams,
  Tool,
} from '@anthropic-ai/sdk/resources/messages'
import type { ModelFeature } from '../../domain/model-features.ts'
import { ANTHROPIC_SAMPLING } from '../../domain/model-options.ts'
import type { ChatMessage, ChatRequest, ToolSpec } from '../../domain/ports/model-ports.ts'
import { toolArguments, toolName, toolSchema, withSystemFirst } from '../tool-arguments.ts'

export interface AnthropicBodyOptions {
  readonly model: string
  readonly tokensMax: number
  readonly options: Readonly<Record<string, unknown>>
  readonly refused: ReadonlySet<ModelFeature>
}

/**
 * A conversation as Anthropic takes it: the system's words apart, user and assistant by turns, all
 * results of one answer's calls in one user message, no empty block, and tools defined as long as a
 * call stands in it. What all turns of a question share is kept by the server: tools, instruction, and the conversation so far.
 */
export function anthropicBody(
  request: ChatRequest,
  { model, tokensMax, options, refused }: AnthropicBodyOptions,
): MessageCreateParams {
  const messages = withSystemFirst(request.messages)
  const words = messages.flatMap((message) => {
    return message.role === 'system' && message.content !== '' ? [message.content] : []
  })
  const isCached = !refused.has('caching')
  const turns = merged(messages, request.tools)
  return {
    model,
    max_tokens: limitOf(options.max_tokens) ?? tokensMax,
    stream: !refused.has('streaming'),
    messages: isCached ? withCachedEnd(turns) : turns,
    ...systemParam(words.join('\n\n'), isCached),
    ...toolParams(request),
    ...(refused.has('response_format') ? {} : formatParam(request)),
    ...(refused.has('sampling') ? {} : givenParams(options)),
  }
}

function limitOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}

const CACHED = { cache_control: { type: 'ephemeral' as const } }

/** A mark on the instruction holds the tools too, which stand before it. */
function systemParam(text: string, isCached: boolean): Pick<MessageCreateParams, 'system'> {
  if (text === '') return {}
  return { system: isCached ? [{ type: 'text', text, ...CACHED }] : text }
}

/** From the second turn on: a question without tools is asked once. */
function withCachedEnd(turns: Turn[]): Turn[] {
  const last = turns.at(-1)
  if (turns.length < 3 || last === undefined) return turns
  const content = last.content.map((block, index, all) => {
    const isLast = index === all.length - 1
    return isLast && block.type === 'tool_result' ? { ...block, ...CACHED } : block
  })
  return [...turns.slice(0, -1), { ...last, content }]
}

function formatParam({ responseFormat }: ChatRequest): Pick<MessageCreateParams, 'output_config'> {
  if (responseFormat === undefined) return {}
  return {
    output_config: { format: { type: 'json_schema', schema: { ...responseFormat.schema } } },
  }
}

function givenParams(options: Readonly<Record<string, unknown>>) {
  const given = ANTHROPIC_SAMPLING.filter((name) => options[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, options[name]]))
}

/** A turn of the conversation, whose content is a list of blocks. */
interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: ContentBlockParam[]
}

function merged(messages: readonly ChatMessage[], tools: readonly ToolSpec[]): Turn[] {
  const turns: Turn[] = []
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
      return [...thoughtsOf(message), ...text(message.content), ...calls]
    }
  }
}

/** Signed, as they came: the server refuses a call that comes back without them. */
function thoughtsOf(message: Extract<ChatMessage, { role: 'assistant' }>): ContentBlockParam[] {
  const blocks = message.toolCalls[0]?.kept?.thinking
  // Made of blocks of this server by `AnthropicAnswer`.
  return Array.isArray(blocks) ? (blocks as ContentBlockParam[]) : []
}

function toolParams(request: ChatRequest): Pick<MessageCreateParams, 'tools' | 'tool_choice'> {
  if (request.tools.length > 0) {
    const tools = request.tools.map((tool): Tool => {
      const schema = { ...toolSchema(tool) }
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
