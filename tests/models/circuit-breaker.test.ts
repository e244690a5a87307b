import { expect, test } from 'bun:test'
import { AppError } from '../../src/core/errors.ts'
import { CircuitBreaker } from '../../src/models/registries/reranker-registry.ts'

const NEVER = new AbortController().signal

/** A reranker and a clock that the test controls. */
function fixture() {
  const state = { nowMs: 0, calls: 0, answer: async (): Promise<readonly number[]> => [1] }
  const inner = {
    rerank: () => {
      state.calls += 1
      return state.answer()
    },
  }
  const reranker = new CircuitBreaker(inner, () => state.nowMs)
  const asked = (signal = NEVER) => reranker.rerank('q', ['p'], signal)
  return { state, asked }
}

const fails = async () => {
  throw new AppError('provider_failed', 'http://r/rerank answered 500')
}

test('a reranker that failed is not asked for five seconds, and says so', async () => {
  const { state, asked } = fixture()
  state.answer = fails
  await expect(asked()).rejects.toThrow(/^http:\/\/r\/rerank answered 500$/)
  state.nowMs = 1_500
  const said = 'http://r/rerank answered 500 (it was not called: the next attempt is in 4 s)'
  await expect(asked()).rejects.toThrow(said)
  await expect(asked()).rejects.toMatchObject({ code: 'provider_failed' })
  expect(state.calls).toBe(1)
  state.nowMs = 5_000
  state.answer = async () => [0.5]
  expect(await asked()).toEqual([0.5])
  state.nowMs += 1
  expect(await asked()).toEqual([0.5])
  expect(state.calls).toBe(3)
})

test('the pause doubles up to a minute, and starts over after a success', async () => {
  const { state, asked } = fixture()
  state.answer = fails
  for (const seconds of [5, 10, 20, 40, 60, 60]) {
    const { calls } = state
    await asked().catch(() => undefined)
    state.nowMs += seconds * 1000 - 1
    await asked().catch(() => undefined)
    expect(state.calls).toBe(calls + 1)
    state.nowMs += 1
  }
  state.answer = async () => [1]
  await asked()
  state.answer = fails
  await asked().catch(() => undefined)
  state.nowMs += 5_000
  const { calls } = state
  await asked().catch(() => undefined)
  expect(state.calls).toBe(calls + 1)
})

test('after the pause one call tries it, the others do not wait', async () => {
  const { state, asked } = fixture()
  state.answer = fails
  await asked().catch(() => undefined)
  state.nowMs = 5_000
  const answered = Promise.withResolvers<readonly number[]>()
  state.answer = () => answered.promise
  const trying = asked()
  await expect(asked()).rejects.toThrow('it was not called')
  expect(state.calls).toBe(2)
  answered.resolve([1])
  expect(await trying).toEqual([1])
})

test('one outage that many calls meet at once counts once', async () => {
  const { state, asked } = fixture()
  state.answer = fails
  await Promise.allSettled(Array.from({ length: 8 }, () => asked()))
  expect(state.calls).toBe(8)
  state.nowMs = 5_000
  state.answer = async () => [1]
  expect(await asked()).toEqual([1])
})

test('aborted and invalid requests do not count as failures of the provider', async () => {
  const { state, asked } = fixture()
  const leaving = new AbortController()
  state.answer = async () => {
    leaving.abort(new AppError('cancelled', 'gone'))
    throw leaving.signal.reason
  }
  await expect(asked(leaving.signal)).rejects.toThrow('gone')
  state.answer = async () => {
    throw new AppError('invalid_request', '2000 passages to rerank')
  }
  await expect(asked()).rejects.toThrow('2000 passages')
  state.answer = async () => [1]
  expect(await asked()).toEqual([1])
})

test('a try that its caller gave up leaves room for the next one', async () => {
  const { state, asked } = fixture()
  state.answer = fails
  await asked().catch(() => undefined)
  state.nowMs = 5_000
  const leaving = new AbortController()
  state.answer = async () => {
    leaving.abort(new AppError('cancelled', 'gone'))
    throw leaving.signal.reason
  }
  await expect(asked(leaving.signal)).rejects.toThrow('gone')
  state.answer = async () => [1]
  expect(await asked()).toEqual([1])
})
