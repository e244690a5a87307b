/** Failures as OpenAI's API tells them, for every path below `/v1`. */
import { t } from 'elysia'
import { type AppError, ERRORS, type ErrorCode } from '../../../core/errors.ts'
import { errorResponse } from './error-response.ts'
import { named, orNull, type Wire } from './schema-words.ts'

export function isOpenAiPath(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/')
}

/** A failure in the form of the API that a path belongs to. */
export function failureResponseAt(path: string, error: AppError, nowMs: number): Response {
  return isOpenAiPath(path) ? openAiErrorResponse(error) : errorResponse(error, nowMs)
}

export const OPENAI_FAILURE = named('OpenAiFailure', 'What went wrong, as that API tells it', {
  error: t.Object({
    message: t.String(),
    type: t.String(),
    param: orNull(t.String(), { description: 'The field of the body that is wrong' }),
    code: t.String(),
  }),
})

export type OpenAiError = Wire<typeof OPENAI_FAILURE>['error']

/** What those clients make of a code where they know it by another name. */
const CODES: Partial<Readonly<Record<ErrorCode, string>>> = {
  unauthorized: 'invalid_api_key',
  not_found: 'unknown_url',
  too_many_questions: 'rate_limit_exceeded',
  context_exceeded: 'context_length_exceeded',
  content_refused: 'content_filter',
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

export function openAiError({ code, message, param }: AppError): OpenAiError {
  const { status } = ERRORS[code]
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { message, type, param: param ?? null, code: CODES[code] ?? code }
}

function openAiErrorResponse(error: AppError): Response {
  const { status } = ERRORS[error.code]
  const { retryAfterSeconds } = error
  const headers = new Headers({ 'content-type': 'application/json' })
  if (error.code === 'unauthorized') headers.set('www-authenticate', 'Bearer realm="Eider"')
  if (retryAfterSeconds !== undefined) headers.set('retry-after', String(retryAfterSeconds))
  // OpenAI's own clients try every 408, 409, 429 and 5xx again, twice: a question that ran out of time would be asked thrice.
  if (status >= 408) headers.set('x-should-retry', String(retryAfterSeconds !== undefined))
  return new Response(JSON.stringify({ error: openAiError(error) }), { status, headers })
}
