import { APIError } from 'openai'
import type {
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import { type ModelFeature, OPENAI_SAMPLING } from '../../core/domain/model-ref.ts'
import type {
  ChatMessage,
  ChatModel,
  ChatRequest,
  ToolCall,
} from '../../core/domain/ports/model-ports.ts'
import { adaptiveChat } from '../adaptive-chat.ts'
import {
  type ChatConfig,
  chatDeltas,
  featuresUsed,
  type ProviderCall,
  streamPieces,
} from '../chat-stream.ts'
import { OPENAI_PUBLIC_URL, openaiBaseUrl } from '../endpoint.ts'
import { member } from '../provider-answer.ts'
import { givenOptions } from '../provider-call.ts'
import {
  isStrictSchema,
  shortCallId,
  toolArguments,
  toolName,
  toolSchema,
  withSystemFirst,
} from '../tool-arguments.ts'
import { OpenaiAnswer } from './openai-answer.ts'
import { openaiClient, openaiFailure } from './openai-client.ts'

const CHAT_PATH = '/chat/completions'

export function openaiChat(config: ChatConfig): ChatModel {
  const { endpoint, limits } = config
  const client = openaiClient(endpoint, limits)
  const url = `${openaiBaseUrl(endpoint.url)}${CHAT_PATH}`
  return adaptiveChat({ ...config, url }, (request, refused, signal) => {
    const body = chatBody(request, config, refused)
    const call: ProviderCall = {
      url,
      limits,
      answer: new OpenaiAnswer(request),
      used: usedFeatures(body),
      async send(either) {
        const asked = client.chat.completions.create(body, { signal: either })
        const { data, response } = await asked.withResponse()
        return streamPieces(data, response, (answer) => {
          return new APIError(undefined, answerErrorOf(answer), undefined, response.headers)
        })
      },
      failureOf: (error) => openaiFailure(error, endpoint, CHAT_PATH),
    }
    return chatDeltas(call, signal)
  })
}

/** The error in the form in which the client library reports errors of a stream. */
function answerErrorOf(answer: unknown): object {
  const error = member(answer, 'error')
  return typeof error === 'object' && error !== null ? error : { message: error }
}

type Refused = ReadonlySet<ModelFeature>

function chatBody(
  request: ChatRequest,
  { modelName: model, options = {}, endpoint }: ChatConfig,
  refused: Refused,
): ChatCompletionCreateParams {
  const messages = plainMessages(request.messages, refused).map((message) => {
    return messageParam(message, request, refused)
  })
  const tools = request.tools.map((tool) => {
    const parameters = { ...toolSchema(tool) }
    const { name, description } = tool
    return { type: 'function' as const, function: { name, description, parameters } }
  })
  const isStreamed = !refused.has('streaming')
  const isCounted = isStreamed && !refused.has('usage')
  return {
    model,
    messages,
    stream: isStreamed,
    ...(isCounted ? { stream_options: { include_usage: true } } : {}),
    // Left out because some servers refuse an empty list.
    ...(tools.length === 0 ? {} : { tools }),
    ...(refused.has('response_format') ? {} : formatParam(request)),
    ...tokenLimit(options, { refused, isOpenai: endpoint.url.startsWith(OPENAI_PUBLIC_URL) }),
    ...(refused.has('sampling') ? {} : givenOptions(OPENAI_SAMPLING, options)),
  }
}

function formatParam({ responseFormat }: ChatRequest) {
  if (responseFormat === undefined) return {}
  const { name, schema } = responseFormat
  const json_schema = { name, schema: { ...schema }, strict: isStrictSchema(schema) }
  return { response_format: { type: 'json_schema' as const, json_schema } }
}

/** OpenAI's reasoning models refuse `max_tokens`; most other servers support only that. */
function tokenLimit(
  options: Readonly<Record<string, unknown>>,
  { refused, isOpenai }: { readonly refused: Refused; readonly isOpenai: boolean },
) {
  const limit = options.max_completion_tokens ?? options.max_tokens
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) return {}
  const [first, second] = isOpenai ? NEW_FIRST : OLD_FIRST
  if (!refused.has(first)) return { [first]: limit }
  return refused.has(second) ? {} : { [second]: limit }
}

const OLD_FIRST = ['max_tokens', 'max_completion_tokens'] as const
const NEW_FIRST = ['max_completion_tokens', 'max_tokens'] as const

function usedFeatures(body: ChatCompletionCreateParams): ReadonlySet<ModelFeature> {
  const has = (test: (message: ChatCompletionMessageParam) => boolean) => body.messages.some(test)
  return featuresUsed({
    streaming: body.stream === true,
    usage: body.stream_options !== undefined,
    tools: body.tools !== undefined,
    response_format: body.response_format !== undefined,
    max_tokens: body.max_tokens !== undefined,
    max_completion_tokens: body.max_completion_tokens !== undefined,
    sampling: OPENAI_SAMPLING.some((name) => name in body),
    system_role: has(({ role }) => role === 'system'),
    role_order: true,
    parallel_calls: has((message) => {
      return message.role === 'assistant' && (message.tool_calls?.length ?? 0) > 1
    }),
    call_ids: has(({ role }) => role === 'tool'),
    reasoning_history: has((message) => 'reasoning_content' in message),
    caching: false,
  } satisfies Record<ModelFeature, boolean>)
}

function messageParam(
  message: ChatMessage,
  request: ChatRequest,
  refused: Refused,
): ChatCompletionMessageParam {
  if (message.role === 'tool') {
    return { role: 'tool', tool_call_id: message.callId, content: message.content }
  }
  if (message.role === 'user' && message.images !== undefined) {
    const images = message.images.map(({ mediaType, base64 }) => {
      const url = `data:${mediaType};base64,${base64}`
      return { type: 'image_url' as const, image_url: { url } }
    })
    return { role: 'user', content: [{ type: 'text', text: message.content }, ...images] }
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content }
  if (message.toolCalls.length === 0) return { role: 'assistant', content: message.content }
  const toolCalls = message.toolCalls.map((call) => {
    const values = JSON.stringify(toolArguments(call, request.tools))
    const called = { name: toolName(call.name), arguments: values }
    // Gemini 3 refuses its own call if it is sent back without the signature.
    const extra = call.kept?.extra_content
    const kept = extra === undefined ? {} : { extra_content: extra }
    return { type: 'function' as const, id: call.id, function: called, ...kept }
  })
  const content = message.content === '' ? null : message.content
  // DeepSeek's thinking models refuse a call that is sent back without its reasoning; other servers
  // send none.
  const thought = message.toolCalls[0]?.kept?.reasoning_content
  const isKept = thought !== undefined && !refused.has('reasoning_history')
  const kept = isKept ? { reasoning_content: thought } : {}
  return { role: 'assistant', content, tool_calls: toolCalls, ...kept }
}

/** What the server accepts: system text first or in the first message, roles alternating. */
function plainMessages(
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

/** Merges a message into the previous one if that has the same role or is a tool result. */
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

/** Replaces ids by nine letters and digits, as Mistral requires; equal ids stay equal. */
function withShortIds(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const short = new Map<string, string>()
  const shortId = (id: string): string => {
    const known = short.get(id) ?? shortCallId(short.size + 1)
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
