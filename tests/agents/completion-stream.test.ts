import { expect, test } from 'bun:test'
import { errorOf, failureToSend, parseFromWorker } from '../../src/agents/actors/worker-messages.ts'
import { failureEvent } from '../../src/agents/questions/completion-stream.ts'
import { AppError, type ErrorCode } from '../../src/core/errors.ts'

const CASES: readonly (readonly [ErrorCode, number | undefined, string])[] = [
  ['timeout', undefined, 'timeout'],
  ['step_limit', undefined, 'timeout'],
  ['provider_refused', undefined, 'authentication'],
  ['provider_refused', 401, 'authentication'],
  ['provider_refused', 403, 'authentication'],
  ['provider_refused', 404, 'not_found'],
  ['provider_refused', 400, 'general'],
  ['provider_failed', undefined, 'connection'],
  ['provider_failed', 429, 'rate_limit'],
  ['provider_failed', 503, 'connection'],
  ['agent_crashed', undefined, 'general'],
  ['internal', 404, 'general'],
]

test.each(CASES)('%s with the status %p is an error of type %s', (code, status, type) => {
  const sent = failureToSend(new AppError(code, 'It failed', { cause: { status } }))
  // The message as it arrives on the main thread.
  const message = parseFromWorker(structuredClone({ kind: 'failed', failure: sent }))
  if (message?.kind !== 'failed') throw new Error('the failure was not understood')
  expect(failureEvent(errorOf(message.failure), 'trace-1')).toEqual({
    type: 'error',
    content: 'It failed',
    // The table above holds the types as text.
    error_type: type as 'general',
    error_code: code,
    trace_id: 'trace-1',
  })
})
