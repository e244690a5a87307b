import type { ErrorEvent, FailureType } from '../domain/completion-event.ts'
import type { AppError, ErrorCode } from '../errors.ts'
import { failureOf } from './protocol.ts'

const FAILURE_TYPES: Partial<Readonly<Record<ErrorCode, FailureType>>> = {
  timeout: 'timeout',
  step_limit: 'timeout',
  provider_refused: 'authentication',
  provider_failed: 'connection',
}

const STATUS_TYPES: Readonly<Record<number, FailureType>> = {
  401: 'authentication',
  403: 'authentication',
  404: 'not_found',
  429: 'rate_limit',
}

/** What a client of a stream that has begun is told. */
export function failureEvent(error: AppError, traceId: string): ErrorEvent {
  const type = failureType(error)
  return { type: 'error', content: error.message, error_type: type, trace_id: traceId }
}

/** Where the status of the model's provider is known, it says more than the code. */
function failureType(error: AppError): FailureType {
  const { providerStatus: status } = failureOf(error)
  const isRefusal = error.code === 'provider_refused'
  if (status !== undefined && (isRefusal || error.code === 'provider_failed')) {
    return STATUS_TYPES[status] ?? (isRefusal ? 'general' : 'connection')
  }
  return FAILURE_TYPES[error.code] ?? 'general'
}
