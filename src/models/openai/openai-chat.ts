import type OpenAI from 'openai'
import { APIConnectionTimeoutError } from 'openai'
import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import type { ChatDelta, ChatMessage, ChatModel, ChatRequest } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import type { ChatLimits } from '../chat-limits.ts'
import { type Endpoint, openaiBaseUrl } from '../endpoint.ts'
import { watched } from '../idle-watch.ts'
import { toolArguments, toolName, toolSchema, withSystemFirst } from '../tool-arguments.ts'
import { OpenaiAnswer } from './openai-answer.ts'
import { openaiClient, openaiFailure } from './openai-client.ts'

const PATH = '/chat/completions'

export interface OpenaiChatConfig {
  readonly endpoint: Endpoint
  readonly modelName: string
  readonly limits: ChatLimits
}

/** Answers through any server with OpenAI's chat completions API. */
export function openaiChat(config: OpenaiChatConfig): ChatModel {
  const client = openaiClient(config.endpoint, config.limits)
  return { respond: (request, signal) => respond(request, { client, config, signal }) }
}

interface Call {
  readonly client: OpenAI
  readonly config: OpenaiChatConfig
  readonly signal: AbortSignal
}

async function* respond(request: ChatRequest, call: Call): AsyncGenerator<ChatDelta> {
  const answer = new OpenaiAnswer(request)
  try {
    for await (const piece of piecesOf(request, call)) {
      const text = answer.add(piece)
      if (text !== '') yield { kind: 'text', text }
    }
  } catch (error) {
    call.signal.throwIfAborted()
    throw chatFailure(error, call.config)
  }
  if (!answer.isComplete) {
    const url = urlOf(call.config)
    throw new AppError('provider_failed', `${url} broke off in the middle of its answer`)
  }
  for (const toolCall of answer.toolCalls()) yield { kind: 'tool_call', call: toolCall }
}

/** The answer's chunks, or the one completion of a server that does not stream. */
async function* piecesOf(request: ChatRequest, call: Call): AsyncGenerator<unknown> {
  const { client, config, signal } = call
  // Whatever ends this generator ends the request: a stall, a break, the caller's abort.
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const body = bodyOf(request, config.modelName)
  try {
    const { data, response } = await client.chat.completions
      .create(body, { signal: either })
      .withResponse()
    const isStream = !/^application\/json/.test(response.headers.get('content-type') ?? '')
    const pieces: AsyncIterable<unknown> = isStream ? data : whole(response)
    const url = urlOf(config)
    yield* watched(pieces, { url, idleMs: config.limits.idleMs, signal })
  } finally {
    stop.abort()
  }
}

function urlOf({ endpoint }: OpenaiChatConfig): string {
  return `${openaiBaseUrl(endpoint.url)}${PATH}`
}

function chatFailure(error: unknown, config: OpenaiChatConfig): AppError {
  if (!(error instanceof APIConnectionTimeoutError)) {
    return openaiFailure(error, config.endpoint, PATH)
  }
  const message = `${urlOf(config)} did not begin its answer within ${config.limits.timeoutMs} ms`
  return new AppError('timeout', message)
}

async function* whole(response: Response): AsyncGenerator<unknown> {
  yield await response.json()
}

function bodyOf(request: ChatRequest, model: string): ChatCompletionCreateParamsStreaming {
  const messages = withSystemFirst(request.messages).map((message) => {
    return messageParam(message, request)
  })
  const tools = request.tools.map((tool) => {
    const parameters = toolSchema(tool)
    const { name, description } = tool
    return { type: 'function' as const, function: { name, description, parameters } }
  })
  // Some servers refuse an empty list.
  return { model, messages, stream: true, ...(tools.length === 0 ? {} : { tools }) }
}

function messageParam(message: ChatMessage, request: ChatRequest): ChatCompletionMessageParam {
  if (message.role === 'tool') {
    return { role: 'tool', tool_call_id: message.callId, content: message.content }
  }
  if (message.role !== 'assistant') return { role: message.role, content: message.content }
  if (message.toolCalls.length === 0) return { role: 'assistant', content: message.content }
  const toolCalls = message.toolCalls.map((call) => {
    const values = JSON.stringify(toolArguments(call, request.tools))
    const called = { name: toolName(call.name), arguments: values }
    return { type: 'function' as const, id: call.id, function: called }
  })
  const content = message.content === '' ? null : message.content
  return { role: 'assistant', content, tool_calls: toolCalls }
}
