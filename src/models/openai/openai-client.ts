import OpenAI, { APIConnectionTimeoutError, APIError } from 'openai'
import { AppError } from '../../errors.ts'
import { type Endpoint, openaiBaseUrl } from '../endpoint.ts'
import { boundedFetch } from '../provider-answer.ts'
import { errorText, providerFailure } from '../provider-failure.ts'

export interface OpenaiCallLimits {
  /**
   * Tries after the first, on 408, 409, 429, 5xx and broken connections; `Retry-After` is kept to.
   */
  readonly retriesMax: number
  readonly timeoutMs: number
  readonly answerBytesMax: number
}

/** Sent where a server wants no key: the client insists on one. */
const NO_KEY = 'none'

/** A client that takes nothing from the environment and writes nothing to the log. */
export function openaiClient(endpoint: Endpoint, limits: OpenaiCallLimits): OpenAI {
  return new OpenAI({
    baseURL: openaiBaseUrl(endpoint.url),
    apiKey: endpoint.apiKey ?? NO_KEY,
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    defaultQuery: endpoint.query,
    maxRetries: limits.retriesMax,
    timeout: limits.timeoutMs,
    fetch: boundedFetch(limits.answerBytesMax),
    logLevel: 'off',
  })
}

/**
 * What a failed call is to its caller. Never hands on what the client threw: that holds the
 * answer's headers and body.
 * @param path of the call below the base URL, as `/embeddings`
 */
export function openaiFailure(error: unknown, endpoint: Endpoint, path: string): AppError {
  if (error instanceof AppError) return error
  const url = `${openaiBaseUrl(endpoint.url)}${path}`
  const status = error instanceof APIError ? (error.status ?? null) : null
  return providerFailure(url, status, detailOf(error), endpoint)
}

function detailOf(error: unknown): string {
  if (error instanceof APIConnectionTimeoutError) return 'no answer in time'
  if (error instanceof APIError && error.status !== undefined) {
    const said = errorText(error.error)
    // Without a JSON body the message is the status and the body's text.
    return said === '' ? error.message.replace(/^\d+ /, '') : said
  }
  if (!(error instanceof Error)) return ''
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
  return `${error.message}${cause}`
}
