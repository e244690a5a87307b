import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { namedOrder } from '../../src/models/rerankers/chat-rerankers.ts'
import { completion, NEVER, rerankerAt, sentData } from './fixtures/rerank-support.ts'
import { failure, type SeenRequest, scriptedServer, thrownBy } from './fixtures/scripted-server.ts'

interface Numbered {
  readonly number: number
  readonly text: string
}

const passagesOf = (request: SeenRequest) => {
  // The prompt has this form, and the tests below check what the model receives.
  return sentData(request).passages as readonly Numbered[]
}

/** A model that sorts passages by the number in their text, the largest first. */
const orderingModel = (request: SeenRequest) => {
  const ordered = passagesOf(request).toSorted((a, b) => Number(b.text) - Number(a.text))
  return completion(JSON.stringify(ordered.map(({ number }) => number)))
}

const listwise = (url: string, options = {}) => {
  return rerankerAt(url, 'openai', { mode: 'listwise', ...options })
}

test('positions become scores in the order of the passages', async () => {
  await using server = scriptedServer(orderingModel)
  const scores = await listwise(server.url).rerank('q', ['5', '9', '1', '7'], NEVER)
  expect(scores).toEqual([0.5, 1, 0.25, 0.75])
  expect(server.seen).toHaveLength(1)
  expect(server.seen[0]?.body.logprobs).toBeUndefined()
})

test('a good passage rises through all windows', async () => {
  await using server = scriptedServer(orderingModel)
  const passages = Array.from({ length: 47 }, (_, index) => String(index))
  const scores = await listwise(server.url).rerank('q', passages, NEVER)
  expect(server.seen.length).toBe(4)
  for (const request of server.seen) expect(passagesOf(request).length).toBeLessThanOrEqual(20)
  // The best ten come first and in order, because a window moves by ten.
  const best = scores
    .map((score, index) => ({ score, index }))
    .toSorted((a, b) => b.score - a.score)
  expect(best.slice(0, 10).map(({ index }) => index)).toEqual([
    46, 45, 44, 43, 42, 41, 40, 39, 38, 37,
  ])
  expect(scores.toSorted((a, b) => a - b)).toEqual(passages.map((_, index) => (index + 1) / 47))
})

test('one passage or none needs no call', async () => {
  const reranker = listwise('http://127.0.0.1:1')
  expect(await reranker.rerank('q', ['only'], NEVER)).toEqual([1])
  expect(await reranker.rerank('q', [], NEVER)).toEqual([])
})

test('a model that refuses a limit of tokens is asked without one', async () => {
  await using server = scriptedServer((request) => {
    return 'max_tokens' in request.body ? failure(400, 'no max_tokens') : orderingModel(request)
  })
  expect(await listwise(server.url).rerank('q', ['1', '2'], NEVER)).toEqual([0.5, 1])
})

test('the limit of tokens has room for the whole list', async () => {
  await using server = scriptedServer(orderingModel)
  const passages = Array.from({ length: 20 }, (_, index) => String(index))
  await listwise(server.url, { max_tokens: 5 }).rerank('q', passages, NEVER)
  expect(Number(server.seen[0]?.body.max_tokens)).toBeGreaterThan(80)
})

test('an answer that names nothing is a failure', async () => {
  await using server = scriptedServer(() => completion('I would rather not.'))
  const error = await thrownBy(listwise(server.url).rerank('q', ['1', '2'], NEVER))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toContain('did not return an order')
})

test('a window that names nothing stays as it was', async () => {
  await using server = scriptedServer(() => completion('no idea'), orderingModel)
  const passages = Array.from({ length: 25 }, (_, index) => String(index))
  const scores = await listwise(server.url).rerank('q', passages, NEVER)
  expect(scores[19]).toBe(1)
  expect(scores[24]).toBe(1 / 25)
})

test('a refused key is not tried in another form', async () => {
  await using server = scriptedServer(() => failure(401, 'who are you'))
  const error = await thrownBy(listwise(server.url).rerank('q', ['1', '2'], NEVER))
  expect(error).toMatchObject({ code: 'provider_refused' })
  expect(server.seen).toHaveLength(1)
})

test.each([
  ['[2, 3, 1]', [1, 2, 0]],
  ['[2] > [3] > [1]', [1, 2, 0]],
  ['The order is [3,1,2], as [1] is off topic', [2, 0, 1]],
  ['{"ranking": [3, 2, 1]}', [2, 1, 0]],
  ['1. 3\n2. 1', [0, 2, 1]],
  ['[3, 3, 3]', [2, 0, 1]],
  ['[7, 0, -1, 2]', [1, 0, 2]],
  ['[2, 99999999999999999999]', [1, 0, 2]],
  ['2', [1, 0, 2]],
])('the answer %s of three passages is the order %p', (answer, order) => {
  expect(namedOrder(answer, 3)).toEqual(order)
})

test.each([[''], ['none of them'], ['[9, 8]'], ['0']])('the answer %p names no order', (answer) => {
  expect(namedOrder(answer, 3)).toBeNull()
})

test('an order has each passage once, for every answer', () => {
  const answers = fc.oneof(
    fc.string(),
    fc.array(fc.integer()).map((list) => JSON.stringify(list)),
  )
  fc.assert(
    fc.property(answers, fc.integer({ min: 1, max: 40 }), (answer, count) => {
      const order = namedOrder(answer, count) ?? Array.from({ length: count }, (_, at) => at)
      expect(order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, at) => at))
    }),
  )
})
