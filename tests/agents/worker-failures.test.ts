import { expect, test } from 'bun:test'
import { errorOf, failureToSend, parseFromWorker } from '../../src/agents/actors/worker-messages.ts'
import { errorResponse } from '../../src/api/http/request/error-response.ts'
import { AppError } from '../../src/core/errors.ts'

/** Returns what arrives at the other thread. */
function sent(error: unknown): AppError {
  const message = parseFromWorker({ kind: 'failed', failure: failureToSend(error) })
  if (message?.kind !== 'failed') throw new Error('the message was not understood')
  return errorOf(message.failure)
}

test('the cause of a bug in a thread arrives for the log, and no client sees it', async () => {
  const arrived = sent(new TypeError('rows is not a list'))
  expect(arrived.cause).toBeInstanceOf(Error)
  expect(arrived.cause).toHaveProperty('stack', expect.stringContaining('rows is not a list'))
  expect(arrived.cause).toHaveProperty('stack', expect.stringContaining('worker-failures.test.ts'))
  const body = await errorResponse(arrived, 0).text()
  expect(body).not.toContain('rows')
})

test('it is passed in both directions, and limited in size', () => {
  const arrived = sent(sent(new Error('x'.repeat(100_000))))
  expect(String(arrived.cause).length).toBeLessThan(5_000)
  expect(arrived.cause).toHaveProperty('message', expect.stringContaining('xxx'))
})

test('of an expected failure, only what a client may see is passed on', () => {
  const arrived = sent(new AppError('provider_failed', 'The model is gone', { cause: 'sk-secret' }))
  expect(arrived).toMatchObject({ code: 'provider_failed', message: 'The model is gone' })
  expect(arrived.cause).toBeUndefined()
})
