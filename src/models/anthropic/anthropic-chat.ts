import Anthropic, { APIConnectionError, APIError } from '@anthropic-ai/sdk'
import type { ChatModel } from '../../domain/ports/model-ports.ts'
import type { AppError } from '../../errors.ts'
import { type ChatConfig, chatDeltas, type ProviderCall } from '../chat-stream.ts'
import { ANTHROPIC_PUBLIC_URL, anthropicBaseUrl, type Endpoint } from '../endpoint.ts'
import { providerFetch } from '../provider-answer.ts'
import { refusalWithin } from '../provider-call.ts'
import { errorText, plainDetail, providerFailure } from '../provider-failure.ts'
import { AnthropicAnswer } from './anthropic-answer.ts'
import { anthropicBody } from './anthropic-body.ts'

const PATH = '/v1/messages'

/** Sent where a server wants no key: the client insists on one. */
const NO_KEY = 'none'

/** Answers through Anthropic's messages API. */
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
  return {
    respond(request, signal) {
      const body = anthropicBody(request, { model: modelName, tokensMax: limits.answerTokensMax })
      const call: ProviderCall = {
        url: urlOf(config),
        limits,
        send: (either) => client.messages.create(body, { signal: either }).withResponse(),
        failureOf: (error) => failureOf(error, config),
      }
      return chatDeltas(new AnthropicAnswer(request), call, signal)
    },
  }
}

/**
 * The client sends its key as a bearer token (1.11); compatible servers want it in either header,
 * so those other than Anthropic's get both.
 */
function isPublic({ url }: Endpoint): boolean {
  return new URL(url).origin === ANTHROPIC_PUBLIC_URL
}

function urlOf({ endpoint }: ChatConfig): string {
  return `${anthropicBaseUrl(endpoint.url)}${PATH}`
}

/** Never hands on what the client threw: that holds the answer's headers and body. */
function failureOf(error: unknown, config: ChatConfig): AppError {
  const refusal = refusalWithin(error)
  if (refusal !== null) return refusal
  const status = error instanceof APIError ? (error.status ?? null) : null
  return providerFailure(urlOf(config), status, detailOf(error), config.endpoint)
}

function detailOf(error: unknown): string {
  // The client's own message would quote whatever came.
  const isAnswer = error instanceof APIError && !(error instanceof APIConnectionError)
  return isAnswer ? errorText(error.error) : plainDetail(error)
}
