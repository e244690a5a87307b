import OpenAI, { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai'
import type { AppError } from '../../core/errors.ts'
import { type Endpoint, openaiBaseUrl } from '../endpoint.ts'
import { providerFetch } from '../provider-answer.ts'
import { refusalWithin } from '../provider-call.ts'
import { errorText, plainDetail, providerFailure, streamedStatus } from '../provider-failure.ts'

/** Sent if a server needs no key, because the client library requires one. */
const NO_KEY = 'none'

/** A client that ignores the environment, logs nothing, and does not retry. */
export function openaiClient(
  endpoint: Endpoint,
  limits: {
    /** The time limit until an answer starts. */
    readonly timeoutMs: number
    readonly answerBytesMax: number
  },
): OpenAI {
  return new OpenAI({
    baseURL: openaiBaseUrl(endpoint.url),
    apiKey: endpoint.apiKey ?? NO_KEY,
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    defaultQuery: endpoint.query,
    defaultHeaders: endpoint.headers ?? {},
    maxRetries: 0,
    timeout: limits.timeoutMs,
    fetch: providerFetch(endpoint.guard, limits.answerBytesMax),
    logLevel: 'off',
  })
}

/** The library's error contains headers and body. @param path below the base URL */
export function openaiFailure(error: unknown, endpoint: Endpoint, path: string): AppError {
  const refusal = refusalWithin(error)
  if (refusal !== null) return refusal
  const url = `${openaiBaseUrl(endpoint.url)}${path}`
  // An error within a stream has a code instead of a status.
  const isAnswer = error instanceof APIError
  const status = isAnswer ? (error.status ?? streamedStatus(error.error)) : null
  return providerFailure(url, status, detailOf(error), endpoint)
}

function detailOf(error: unknown): string {
  if (error instanceof APIConnectionTimeoutError) return 'no answer in time'
  // The library keeps the answer's member `error`. Its own message would quote the whole response.
  if (error instanceof APIError && !(error instanceof APIConnectionError)) {
    return errorText({ error: error.error })
  }
  return plainDetail(error)
}
