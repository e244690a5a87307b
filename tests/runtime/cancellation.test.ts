import { describe, expect, test } from 'bun:test'
import { getEventListeners } from 'node:events'
import { AppError } from '../../src/core/errors.ts'
import {
  abortable,
  onAbort,
  sleep,
  startDeadline,
  withDeadline,
} from '../../src/core/runtime/cancellation.ts'

const never = new Promise<never>(() => {})
const timeoutError = (ms: number) => new AppError('timeout', `Longer than ${ms} ms`)
const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}

describe('nothing stays behind on a signal that outlives the work', () => {
  const { signal } = new AbortController()
  for (const [name, work] of [
    ['sleep', () => sleep(1, signal)],
    ['abortable', () => abortable(Promise.resolve(1), signal)],
    ['abortable, failed', () => abortable(Promise.reject(new Error('no')), signal).catch(() => {})],
    ['withDeadline', () => withDeadline({ timeoutMs: 9, signal, timeoutError }, async () => 1)],
    ['onAbort', async () => onAbort(signal, () => {})()],
    [
      'startDeadline',
      async () => startDeadline({ timeoutMs: 9, signals: [signal], timeoutError }).end(),
    ],
  ] as const) {
    test(name, async () => {
      await work()
      expect(listenersOf(signal)).toBe(0)
    })
  }
})

test('an abort ends a sleep with its reason', async () => {
  const controller = new AbortController()
  const sleeping = failureOf(sleep(60_000, controller.signal))
  controller.abort(new Error('enough'))
  expect(await sleeping).toEqual(new Error('enough'))
  expect(await failureOf(sleep(60_000, controller.signal))).toEqual(new Error('enough'))
})

test('an abort that came before ends the wait for work that never ends', async () => {
  expect(await failureOf(abortable(never, AbortSignal.abort('gone')))).toBe('gone')
})

test('a deadline ends what it is given with an error of its own', async () => {
  const { signal } = new AbortController()
  const work = withDeadline({ timeoutMs: 1, signal, timeoutError }, (ended) => {
    return abortable(never, ended)
  })
  expect(await failureOf(work)).toEqual(timeoutError(1))
})

test('work that fails by itself before its deadline says why', async () => {
  const { signal } = new AbortController()
  const work = withDeadline({ timeoutMs: 60_000, signal, timeoutError }, async () => {
    throw new Error('broken')
  })
  expect(await failureOf(work)).toEqual(new Error('broken'))
})

test('a caller that has gone ends a deadline before it begins', () => {
  const options = { timeoutMs: 60_000, timeoutError, cancelledMessage: 'Cancelled' }
  const signals = [new AbortController().signal, AbortSignal.abort('gone')]
  const deadline = startDeadline({ ...options, signals })
  expect(deadline.signal.reason).toMatchObject({ code: 'cancelled', cause: 'gone' })
  deadline.end()
})
