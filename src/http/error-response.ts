import { timestampOfMillis } from '../domain/timestamp.ts'
import { type AppError, ERRORS, type ErrorCode } from '../errors.ts'

/** Seconds after which a client may try again, where waiting helps. */
const RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, string>> = {
  too_busy: '1',
  shutting_down: '5',
}

/**
 * A failure as `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, and
 * beyond the RFC `code` and `timestamp`. Nothing of the cause is in it.
 */
export function errorResponse(error: AppError, nowMs: number): Response {
  const { status } = ERRORS[error.code]
  const body = {
    type: `/docs#${error.code}`,
    title: error.title,
    status,
    detail: error.message,
    code: error.code,
    timestamp: timestampOfMillis(nowMs),
  }
  const headers = new Headers({ 'content-type': 'application/problem+json' })
  if (error.code === 'unauthorized') headers.set('www-authenticate', 'Bearer realm="Eider"')
  const retryAfter = RETRY_AFTER_SECONDS[error.code]
  if (retryAfter !== undefined) headers.set('retry-after', retryAfter)
  return new Response(JSON.stringify(body), { status, headers })
}
