import Anthropic, { APIConnectionTimeoutError, APIError } from '@anthropic-ai/sdk'
import type { ChatDelta, ChatModel, ChatRequest } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import { boundedFetch } from '../bounded-fetch.ts'
import type { ChatLimits } from '../chat-limits.ts'
import { anthropicBaseUrl, type Endpoint } from '../endpoint.ts'
import { watched } from '../idle-watch.ts'
import { providerFailure, saidBy } from '../provider-failure.ts'
import { AnthropicAnswer } from './anthropic-answer.ts'
import { anthropicBody } from './anthropic-body.ts'
import { ANTHROPIC_PUBLIC_URL } from './anthropic-public-url.ts'

const PATH = '/v1/messages'

export interface AnthropicChatConfig {
  readonly endpoint: Endpoint
  readonly modelName: string
  readonly limits: ChatLimits
}

/** Sent where a server wants no key: the client insists on one. */
const NO_KEY = 'none'

/** Answers through Anthropic's messages API. */
export function anthropicChat(config: AnthropicChatConfig): ChatModel {
  const apiKey = config.endpoint.apiKey ?? NO_KEY
  const client = new Anthropic({
    baseURL: anthropicBaseUrl(config.endpoint.url),
    apiKey,
    defaultHeaders: isPublic(config.endpoint) ? {} : { 'x-api-key': apiKey },
    webhookKey: null,
    defaultQuery: config.endpoint.query,
    maxRetries: config.limits.retriesMax,
    timeout: config.limits.timeoutMs,
    fetch: boundedFetch(config.limits.answerBytesMax),
    logLevel: 'off',
  })
  return { respond: (request, signal) => respond(request, { client, config, signal }) }
}

/**
 * The client sends its key as a bearer token (1.11); compatible servers want it in either header,
 * so those other than Anthropic's get both.
 */
function isPublic({ url }: Endpoint): boolean {
  return new URL(url).origin === ANTHROPIC_PUBLIC_URL
}

interface Call {
  readonly client: Anthropic
  readonly config: AnthropicChatConfig
  readonly signal: AbortSignal
}

async function* respond(request: ChatRequest, call: Call): AsyncGenerator<ChatDelta> {
  const answer = new AnthropicAnswer(request)
  try {
    for await (const event of eventsOf(request, call)) {
      const text = answer.add(event)
      if (text !== '') yield { kind: 'text', text }
    }
  } catch (error) {
    call.signal.throwIfAborted()
    throw failureOf(error, call.config)
  }
  if (!answer.isComplete) {
    const url = urlOf(call.config)
    throw new AppError('provider_failed', `${url} broke off in the middle of its answer`)
  }
  for (const toolCall of answer.toolCalls()) yield { kind: 'tool_call', call: toolCall }
}

/** The answer's events, or the one message of a server that does not stream. */
async function* eventsOf(request: ChatRequest, call: Call): AsyncGenerator<unknown> {
  const { client, config, signal } = call
  // Whatever ends this generator ends the request: a stall, a break, the caller's abort.
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const body = anthropicBody(request, {
    model: config.modelName,
    tokensMax: config.limits.answerTokensMax,
  })
  try {
    const { data, response } = await client.messages.create(body, { signal: either }).withResponse()
    const isStream = !/^application\/json/.test(response.headers.get('content-type') ?? '')
    const events: AsyncIterable<unknown> = isStream ? data : whole(response)
    yield* watched(events, { url: urlOf(config), idleMs: config.limits.idleMs, signal })
  } finally {
    stop.abort()
  }
}

async function* whole(response: Response): AsyncGenerator<unknown> {
  yield await response.json()
}

function urlOf({ endpoint }: AnthropicChatConfig): string {
  return `${anthropicBaseUrl(endpoint.url)}${PATH}`
}

/** Never hands on what the client threw: that holds the answer's headers and body. */
function failureOf(error: unknown, config: AnthropicChatConfig): AppError {
  if (error instanceof AppError) return error
  const url = urlOf(config)
  if (error instanceof APIConnectionTimeoutError) {
    const message = `${url} did not begin its answer within ${config.limits.timeoutMs} ms`
    return new AppError('timeout', message)
  }
  const status = error instanceof APIError ? (error.status ?? null) : null
  return providerFailure({ url, status, detail: detailOf(error) }, config.endpoint)
}

function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const said = error instanceof APIError ? saidBy(error.error) : ''
  if (said !== '') return said
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  return `${error.message.replace(/^\d+ /, '')}${cause}`
}
