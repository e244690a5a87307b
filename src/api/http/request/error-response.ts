import { t } from 'elysia'
import { timestampOfMillis } from '../../../core/domain/timestamp.ts'
import { AppError, ERRORS, type ErrorCode, toAppError } from '../../../core/errors.ts'
import { oneOf, TIME, type Wire } from './schema-words.ts'

// The keys of the table are the codes.
const CODES = Object.keys(ERRORS) as readonly ErrorCode[]

export const PROBLEM = t.Object(
  {
    type: t.String({ description: 'Where the code is explained', format: 'uri-reference' }),
    title: t.String(),
    status: t.Integer({ minimum: 400, maximum: 599 }),
    detail: t.String({ description: 'What is wrong, and what to do' }),
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

/**
 * A failure as `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, and
 * beyond the RFC `code` and `timestamp`. Nothing of the cause is in it.
 */
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
    // An address may hold a key, and what failed once may work the next time.
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  })
  if (error.code === 'unauthorized') headers.set('www-authenticate', 'Bearer realm="Eider"')
  if (retryAfterSeconds !== undefined) headers.set('retry-after', String(retryAfterSeconds))
  return new Response(JSON.stringify(body), { status, headers })
}

/** The failure of a request. Once the request is aborted, whatever is thrown comes of that and is not a bug. */
export function requestError(error: unknown, signal: AbortSignal): AppError {
  if (error instanceof AppError || !signal.aborted) return toAppError(error)
  if (signal.reason instanceof AppError) return signal.reason
  return new AppError('cancelled', 'The client closed the connection', { cause: error })
}
