import Anthropic, { APIConnectionError, APIError } from '@anthropic-ai/sdk'
import type { MessageCreateParams } from '@anthropic-ai/sdk/resources/messages'
import type { ModelFeature } from '../../domain/model-features.ts'
import { ANTHROPIC_SAMPLING } from '../../domain/model-options.ts'
import type { ChatModel } from '../../domain/ports/model-ports.ts'
import type { AppError } from '../../errors.ts'
import { adaptiveChat } from '../adaptive-chat.ts'
import { type ChatConfig, chatDeltas, type ProviderCall, piecesOf } from '../chat-stream.ts'
import { ANTHROPIC_PUBLIC_URL, anthropicBaseUrl, type Endpoint } from '../endpoint.ts'
import { member, providerFetch } from '../provider-answer.ts'
import { refusalWithin } from '../provider-call.ts'
import { errorText, plainDetail, providerFailure, streamedStatus } from '../provider-failure.ts'
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
  return adaptiveChat({ ...config, url: urlOf(config) }, (request, refused, signal) => {
    const { options = {} } = config
    const tokensMax = limits.answerTokensMax
    const body = anthropicBody(request, { model: modelName, tokensMax, options, refused })
    const call: ProviderCall = {
      url: urlOf(config),
      limits,
      answer: new AnthropicAnswer(request),
      used: usedFeatures(body),
      async send(either) {
        const asked = client.messages.create(body, { signal: either })
        const { data, response } = await asked.withResponse()
        return piecesOf(data, response, (answer) => {
          // Its member `error` was found.
          return new APIError(undefined, answer as object, undefined, response.headers)
        })
      },
      failureOf: (error) => failureOf(error, config),
    }
    return chatDeltas(call, signal)
  })
}

/** What a server might refuse of a body. Anthropic's own refuses nothing; those that are compatible know less. */
function usedFeatures(body: MessageCreateParams): ReadonlySet<ModelFeature> {
  const uses: Partial<Readonly<Record<ModelFeature, boolean>>> = {
    streaming: body.stream === true,
    tools: body.tools !== undefined,
    response_format: body.output_config !== undefined,
    caching: Array.isArray(body.system),
    sampling: ANTHROPIC_SAMPLING.some((name) => name in body),
  }
  // The entries are those of the table.
  const used = Object.entries(uses).filter(([, isUsed]) => isUsed) as [ModelFeature, boolean][]
  return new Set(used.map(([feature]) => feature))
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
  // An error within a stream has no status, but a type.
  const isAnswer = error instanceof APIError
  const status = isAnswer ? (error.status ?? streamedStatus(errorOf(error))) : null
  return providerFailure(urlOf(config), status, detailOf(error), config.endpoint)
}

function errorOf({ error }: APIError): unknown {
  return member(error, 'error')
}

function detailOf(error: unknown): string {
  // The client's own message would quote whatever came.
  const isAnswer = error instanceof APIError && !(error instanceof APIConnectionError)
  return isAnswer ? errorText(error.error) : plainDetail(error)
}
