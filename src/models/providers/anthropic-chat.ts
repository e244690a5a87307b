import Anthropic, { APIConnectionError, APIError } from '@anthropic-ai/sdk'
import type {
  ContentBlockParam,
  MessageCreateParams,
  Tool,
} from '@anthropic-ai/sdk/resources/messages'
import { ANTHROPIC_SAMPLING, type ModelFeature } from '../../core/domain/model-ref.ts'
import type {
  ChatMessage,
  ChatModel,
  ChatRequest,
  ToolSpec,
} from '../../core/domain/ports/model-ports.ts'
import type { AppError } from '../../core/errors.ts'
import { adaptiveChat } from '../adaptive-chat.ts'
import {
  type ChatConfig,
  chatDeltas,
  featuresUsed,
  type ProviderCall,
  streamPieces,
} from '../chat-stream.ts'
import { ANTHROPIC_PUBLIC_URL, anthropicBaseUrl, type Endpoint } from '../endpoint.ts'
import { member, providerFetch } from '../provider-answer.ts'
import { givenOptions, refusalWithin } from '../provider-call.ts'
import { errorText, plainDetail, providerFailure, streamedStatus } from '../provider-failure.ts'
import { toolArguments, toolName, toolSchema, withSystemFirst } from '../tool-arguments.ts'
import { AnthropicAnswer } from './anthropic-answer.ts'

const MESSAGES_PATH = '/v1/messages'

/** Sent if a server needs no key, because the client library requires one. */
const NO_KEY = 'none'

export function anthropicChat(config: ChatConfig): ChatModel {
  const { endpoint, modelName, limits } = config
  const apiKey = endpoint.apiKey ?? NO_KEY
  const client = new Anthropic({
    baseURL: anthropicBaseUrl(endpoint.url),
    apiKey,
    defaultHeaders: isPublic(endpoint) ? {} : { 'x-api-key': apiKey },
    webhookKey: null,
    defaultQuery: endpoint.query,
    maxRetries: 0,
    timeout: limits.timeoutMs,
    fetch: providerFetch(endpoint.guard, limits.answerBytesMax),
    logLevel: 'off',
  })
  return adaptiveChat({ ...config, url: messagesUrl(config) }, (request, refused, signal) => {
    const { options = {} } = config
    const tokensMax = limits.answerTokensMax
    const body = anthropicBody(request, { model: modelName, tokensMax, options, refused })
    const call: ProviderCall = {
      url: messagesUrl(config),
      limits,
      answer: new AnthropicAnswer(request),
      used: usedFeatures(body),
      async send(either) {
        const asked = client.messages.create(body, { signal: either })
        const { data, response } = await asked.withResponse()
        return streamPieces(data, response, (answer) => {
          // It has a member `error`, as checked above.
          return new APIError(undefined, answer as object, undefined, response.headers)
        })
      },
      failureOf: (error) => chatFailure(error, config),
    }
    return chatDeltas(call, signal)
  })
}

/** Anthropic's own server refuses none; compatible ones support less. */
function usedFeatures(body: MessageCreateParams): ReadonlySet<ModelFeature> {
  return featuresUsed({
    streaming: body.stream === true,
    tools: body.tools !== undefined,
    response_format: body.output_config !== undefined,
    caching: Array.isArray(body.system),
    sampling: ANTHROPIC_SAMPLING.some((name) => name in body),
  })
}

/** The library (1.11) sends a bearer token. Compatible servers get the key in both headers. */
function isPublic({ url }: Endpoint): boolean {
  return new URL(url).origin === ANTHROPIC_PUBLIC_URL
}

function messagesUrl({ endpoint }: ChatConfig): string {
  return `${anthropicBaseUrl(endpoint.url)}${MESSAGES_PATH}`
}

/** Never passes on the library's error, because it contains the answer's headers and body. */
function chatFailure(error: unknown, config: ChatConfig): AppError {
  const refusal = refusalWithin(error)
  if (refusal !== null) return refusal
  // An error within a stream has a type instead of a status.
  const isAnswer = error instanceof APIError
  const status = isAnswer ? (error.status ?? streamedStatus(member(error.error, 'error'))) : null
  return providerFailure(messagesUrl(config), status, detailOf(error), config.endpoint)
}

function detailOf(error: unknown): string {
  // The library's own message would quote the whole response.
  const isAnswer = error instanceof APIError && !(error instanceof APIConnectionError)
  return isAnswer ? errorText(error.error) : plainDetail(error)
}

/**
 * Converts a conversation to Anthropic's format: system text separate, user and assistant
 * alternating, all results of one answer's calls in one user message, no empty blocks, and tools
 * defined if the conversation contains a call. The server caches what all turns of a question
 * share: tools, instruction, and the conversation so far.
 */
function anthropicBody(
  request: ChatRequest,
  given: {
    readonly model: string
    readonly tokensMax: number
    readonly options: Readonly<Record<string, unknown>>
    readonly refused: ReadonlySet<ModelFeature>
  },
): MessageCreateParams {
  const { model, tokensMax, options, refused } = given
  const messages = withSystemFirst(request.messages)
  const words = messages.flatMap((message) => {
    return message.role === 'system' && message.content !== '' ? [message.content] : []
  })
  const isCached = !refused.has('caching')
  const turns = mergedTurns(messages, request.tools)
  return {
    model,
    max_tokens: tokenLimit(options.max_tokens) ?? tokensMax,
    stream: !refused.has('streaming'),
    messages: isCached ? withCachedEnd(turns) : turns,
    ...systemParam(words.join('\n\n'), isCached),
    ...toolParams(request),
    ...(refused.has('response_format') ? {} : formatParam(request)),
    ...(refused.has('sampling') ? {} : givenOptions(ANTHROPIC_SAMPLING, options)),
  }
}

function tokenLimit(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}

const CACHED = { cache_control: { type: 'ephemeral' as const } }

/** A cache mark on the instruction also covers the tools, which come before it. */
function systemParam(text: string, isCached: boolean): Pick<MessageCreateParams, 'system'> {
  if (text === '') return {}
  return { system: isCached ? [{ type: 'text', text, ...CACHED }] : text }
}

/** Only from the second turn on, because a question without tools is sent only once. */
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

interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: ContentBlockParam[]
}

function mergedTurns(messages: readonly ChatMessage[], tools: readonly ToolSpec[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    const content = contentBlocks(message, tools)
    if (content.length === 0) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  return turns
}

function contentBlocks(message: ChatMessage, tools: readonly ToolSpec[]): ContentBlockParam[] {
  const text = (content: string): ContentBlockParam[] => {
    return content.trim() === '' ? [] : [{ type: 'text', text: content }]
  }
  switch (message.role) {
    case 'system':
      return []
    case 'user':
      return [
        ...(message.images ?? []).map(({ mediaType: media_type, base64: data }) => {
          const source = { type: 'base64' as const, media_type, data }
          return { type: 'image' as const, source }
        }),
        ...text(message.content),
      ]
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

/** The signed reasoning, unchanged, because the server refuses a call without it. */
function thoughtsOf(message: Extract<ChatMessage, { role: 'assistant' }>): ContentBlockParam[] {
  const blocks = message.toolCalls[0]?.kept?.thinking
  // `AnthropicAnswer` built these from blocks of the same server.
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
