import { t } from 'elysia'
import { AppError, ERRORS, type ErrorCode, toAppError } from '../../../core/errors.ts'
import { timestampOfMillis } from '../../../core/time.ts'
import { integer, named, oneOf, orNull, TIME, type Wire } from './schema-words.ts'

// All keys of the table are codes.
const CODES = Object.keys(ERRORS) as readonly ErrorCode[]

export const PROBLEM = t.Object(
  {
    type: t.String({ description: 'URL of the code’s documentation', format: 'uri-reference' }),
    title: t.String(),
    status: integer({ minimum: 400, maximum: 599 }),
    detail: t.String({ description: 'What is wrong and what to do' }),
    code: oneOf(CODES, { $id: 'ErrorCode' }),
    timestamp: TIME,
  },
  {
    $id: 'Problem',
    description: 'What went wrong (RFC 9457)',
    examples: [
      {
        type: '/docs#knowledge_base_not_found',
        title: 'Knowledge Base not found',
        status: 404,
        detail: 'Knowledge Base with name tea does not exist',
        code: 'knowledge_base_not_found',
        timestamp: '2026-04-30 12:00:00.000000',
      },
    ],
  },
)

/** `application/problem+json` (RFC 9457), with `code` and `timestamp`. Never the cause. */
export function errorResponse(error: AppError, nowMs: number): Response {
  const { status } = ERRORS[error.code]
  const { retryAfterSeconds } = error
  const body: Wire<typeof PROBLEM> = {
    type: `/docs#${error.code}`,
    title: error.title,
    status,
    detail: error.message,
    code: error.code,
    timestamp: timestampOfMillis(nowMs),
  }
  const headers = new Headers({
    'content-type': 'application/problem+json',
    // The URL may contain a key, and a repeated request may succeed.
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  })
  if (error.code === 'unauthorized') headers.set('www-authenticate', 'Bearer realm="Eider"')
  if (retryAfterSeconds !== undefined) headers.set('retry-after', String(retryAfterSeconds))
  return new Response(JSON.stringify(body), { status, headers })
}

/** The failure of a request. Errors after an abort are consequences of the abort, not bugs. */
export function requestError(error: unknown, signal: AbortSignal): AppError {
  if (error instanceof AppError || !signal.aborted) return toAppError(error)
  if (signal.reason instanceof AppError) return signal.reason
  return new AppError('cancelled', 'The client closed the connection', { cause: error })
}

export function isOpenAiPath(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/')
}

/** The failure in the format of the API that the path belongs to. */
export function failureResponseAt(path: string, error: AppError, nowMs: number): Response {
  return isOpenAiPath(path) ? openAiErrorResponse(error) : errorResponse(error, nowMs)
}

export const OPENAI_FAILURE = named('OpenAiFailure', 'The error in OpenAI’s form', {
  error: t.Object({
    message: t.String(),
    type: t.String(),
    param: orNull(t.String(), { description: 'The invalid field of the body' }),
    code: t.String(),
  }),
})

type OpenAiError = Wire<typeof OPENAI_FAILURE>['error']

/** Codes that have another name in OpenAI's API. */
const OPENAI_CODES: Partial<Readonly<Record<ErrorCode, string>>> = {
  unauthorized: 'invalid_api_key',
  not_found: 'unknown_url',
  too_many_questions: 'rate_limit_exceeded',
  context_exceeded: 'context_length_exceeded',
  content_refused: 'content_filter',
}

const FAILURE_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

export function openAiError({ code, message, param }: AppError): OpenAiError {
  const { status } = ERRORS[code]
  const type = FAILURE_TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { message, type, param: param ?? null, code: OPENAI_CODES[code] ?? code }
}

function openAiErrorResponse(error: AppError): Response {
  const { status } = ERRORS[error.code]
  const { retryAfterSeconds } = error
  const headers = new Headers({ 'content-type': 'application/json' })
  if (error.code === 'unauthorized') headers.set('www-authenticate', 'Bearer realm="Eider"')
  if (retryAfterSeconds !== undefined) headers.set('retry-after', String(retryAfterSeconds))
  // OpenAI's clients retry every 408, 409, 429 and 5xx twice, so a timed-out question would be
  // asked three times.
  if (status >= 408) headers.set('x-should-retry', String(retryAfterSeconds !== undefined))
  return new Response(JSON.stringify({ error: openAiError(error) }), { status, headers })
}

/** The JSON-RPC error for a request that MCP does not answer. */
export function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
