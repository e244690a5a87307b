import { timestampOfMillis } from '../../domain/timestamp.ts'
import { AppError, ERRORS, toAppError } from '../../errors.ts'

/**
 * A failure as `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, and
 * beyond the RFC `code` and `timestamp`. Nothing of the cause is in it.
 */
export function errorResponse(error: AppError, nowMs: number): Response {
  const { status } = ERRORS[error.code]
  const { retryAfterSeconds } = error
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
  if (retryAfterSeconds !== undefined) headers.set('retry-after', String(retryAfterSeconds))
  return new Response(JSON.stringify(body), { status, headers })
}

/** The failure of a request. Once the request is aborted, whatever is thrown comes of that and is not a bug. */
export function requestError(error: unknown, signal: AbortSignal): AppError {
  if (error instanceof AppError || !signal.aborted) return toAppError(error)
  if (signal.reason instanceof AppError) return signal.reason
  return new AppError('cancelled', 'The client closed the connection', { cause: error })
}
