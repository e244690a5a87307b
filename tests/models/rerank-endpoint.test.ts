import { describe, expect, test } from 'bun:test'
import { KEY, NEVER, rerankerAt } from './fixtures/rerank-support.ts'
import { failure, type SeenRequest, scriptedServer, thrownBy } from './fixtures/scripted-server.ts'

const textsOf = ({ body }: SeenRequest) => {
  const texts = body.documents ?? body.texts
  return Array.isArray(texts) ? texts.map(String) : []
}

/** Scores passages with their own numbers and returns the best first, as servers do. */
const scored = (request: SeenRequest) => {
  return textsOf(request)
    .map((text, index) => ({ index, relevance_score: Number(text) }))
    .toSorted((first, second) => second.relevance_score - first.relevance_score)
}
const rerankServer = (request: SeenRequest) => Response.json({ id: 'x', results: scored(request) })
const teiServer = (request: SeenRequest) => {
  return Response.json(
    scored(request).map(({ index, relevance_score: score }) => ({ index, score })),
  )
}

const PASSAGES = ['0.2', '0.9', '0.5']

describe('servers', () => {
  test.each([
    ['cohere', '/v2/rerank', {}],
    ['jina', '/v1/rerank', { return_documents: false }],
    ['vllm', '/v1/rerank', {}],
    ['rerank', '/v1/rerank', {}],
  ])('%s is asked at %s', async (provider, path, more) => {
    await using server = scriptedServer(rerankServer)
    const scores = await rerankerAt(server.url, provider).rerank('which?', PASSAGES, NEVER)
    expect(scores).toEqual([0.2, 0.9, 0.5])
    const [request] = server.seen
    expect(request?.path).toBe(path)
    expect(request?.headers.get('authorization')).toBe(`Bearer ${KEY}`)
    expect(request?.body).toEqual({
      model: 'judge-small',
      query: 'which?',
      documents: PASSAGES,
      top_n: 3,
      ...more,
    })
  })

  test('tei is asked in its own way, in parts that it takes', async () => {
    await using server = scriptedServer(teiServer)
    const passages = Array.from({ length: 70 }, (_, index) => String(index / 100))
    const scores = await rerankerAt(server.url, 'tei').rerank('which?', passages, NEVER)
    expect(scores).toEqual(passages.map(Number))
    expect(server.seen.map((request) => textsOf(request).length).toSorted()).toEqual([32, 32, 6])
    expect(server.seen[0]?.path).toBe('/rerank')
    expect(server.seen[0]?.body).toMatchObject({
      query: 'which?',
      raw_scores: false,
      truncate: true,
    })
  })

  test.each([
    ['/cohere/', '/cohere/rerank'],
    ['/v1', '/v1/rerank'],
    ['/v2/rerank', '/v2/rerank'],
  ])('an address with the path %s is asked at %s', async (written, path) => {
    await using server = scriptedServer(rerankServer)
    await rerankerAt(`${server.url}${written}?tenant=seven`, 'rerank').rerank('q', PASSAGES, NEVER)
    expect(server.seen[0]?.path).toBe(path)
    expect(server.seen[0]?.query).toBe('?tenant=seven')
  })

  test('scores outside of 0 to 1 are mapped by a sigmoid, for all of their answer but not the next', async () => {
    await using server = scriptedServer(rerankServer)
    const reranker = rerankerAt(server.url, 'rerank')
    expect(await reranker.rerank('q', ['0.5'], NEVER)).toEqual([0.5])
    const scores = await reranker.rerank('q', ['-3', '0', '8', '0.5', '-1000', '1000'], NEVER)
    expect(scores.map((score) => Number(score.toFixed(4)))).toEqual([
      0.0474, 0.5, 0.9997, 0.6225, 0, 1,
    ])
    expect(await reranker.rerank('q', ['0.25'], NEVER)).toEqual([0.25])
  })

  test('scores are what the option raw_scores says', async () => {
    await using server = scriptedServer(rerankServer)
    const raw = rerankerAt(server.url, 'rerank', { raw_scores: true })
    expect(await raw.rerank('q', ['0'], NEVER)).toEqual([0.5])
    const unit = rerankerAt(server.url, 'rerank', { raw_scores: false })
    const error = await thrownBy(unit.rerank('q', ['2'], NEVER))
    expect(error).toMatchObject({ code: 'provider_failed' })
    expect(String(error)).toContain('a score is not from 0 to 1')
  })

  test('a service whose scores are from 0 to 1 fails with another one', async () => {
    await using server = scriptedServer(rerankServer)
    const error = await thrownBy(rerankerAt(server.url, 'cohere').rerank('q', ['5'], NEVER))
    expect(String(error)).toContain('a score is not from 0 to 1')
  })
})

describe('failures', () => {
  const result = (index: unknown, relevance_score: unknown = 0.5) => ({ index, relevance_score })

  test.each([
    ['too few scores', { results: [result(0), result(1)] }, '2 scores came back for 3'],
    ['too many', { results: [0, 1, 2, 3].map((at) => result(at)) }, '4 scores came back for 3'],
    ['an index twice', { results: [result(0), result(1), result(1)] }, 'index of score 3'],
    ['an index out of range', { results: [result(0), result(1), result(3)] }, 'index of score 3'],
    ['a negative index', { results: [result(-1), result(1), result(2)] }, 'index of score 1'],
    ['half an index', { results: [result(0.5), result(1), result(2)] }, 'index of score 1'],
    ['a text as index', { results: [result('0'), result(1), result(2)] }, 'index of score 1'],
    [
      'a null score',
      { results: [result(0, null), result(1), result(2)] },
      'score 1 is not a finite',
    ],
    [
      'a text score',
      { results: [result(0, 'NaN'), result(1), result(2)] },
      'score 1 is not a finite',
    ],
    ['an endless score', '{"results":[{"index":0,"score":1e999},1,1]}', 'score 1 is not a finite'],
    ['NaN in the JSON', '{"results":[{"index":0,"score":NaN}]}', 'not JSON'],
    ['no list', { message: 'ok' }, 'no list "results"'],
    ['null', null, 'no list "results"'],
    ['HTML', '<html><body>login</body></html>', 'not JSON'],
    ['nothing', '', 'not JSON'],
  ])('an answer with %s is refused', async (_, answer, said) => {
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    await using server = scriptedServer(() => new Response(text))
    const error = await thrownBy(rerankerAt(server.url, 'jina').rerank('q', PASSAGES, NEVER))
    expect(error).toMatchObject({ code: 'provider_failed' })
    expect(String(error)).toContain(`${server.url}/v1/rerank failed: `)
    expect(String(error)).toContain(said)
    expect(server.seen).toHaveLength(1)
  })

  test.each([
    [400, 'provider_refused', 1],
    [401, 'provider_refused', 1],
    [404, 'provider_refused', 1],
    [413, 'provider_refused', 1],
    [429, 'provider_failed', 3],
    [503, 'provider_failed', 3],
  ])('%i is %s after %i tries', async (status, code, tries) => {
    await using server = scriptedServer(() => failure(status, `wrong key ${KEY}`))
    const error = await thrownBy(rerankerAt(server.url, 'cohere').rerank('q', PASSAGES, NEVER))
    expect(error).toMatchObject({ code })
    expect(String(error)).toContain(`${server.url}/v2/rerank answered ${status}: wrong key`)
    expect(Bun.inspect(error)).not.toContain(KEY)
    expect(server.seen).toHaveLength(tries)
  })

  test('429 and then an answer is the answer', async () => {
    const busy = () => failure(429, 'busy', { 'retry-after': '0' })
    await using server = scriptedServer(busy, rerankServer)
    const reranker = rerankerAt(server.url, 'cohere', { retry_delay: 10 })
    expect(await reranker.rerank('q', PASSAGES, NEVER)).toEqual([0.2, 0.9, 0.5])
  })

  test('a key does not follow a redirection', async () => {
    await using other = scriptedServer(rerankServer)
    await using server = scriptedServer(() => Response.redirect(`${other.url}/v1/rerank`, 307))
    const error = await thrownBy(rerankerAt(server.url, 'vllm').rerank('q', PASSAGES, NEVER))
    expect(error).toMatchObject({ code: 'provider_failed' })
    expect(String(error)).toContain('answered 307')
    expect(other.seen).toHaveLength(0)
  })

  test('an answer without end is broken off', async () => {
    const noise = new Uint8Array(1024 * 1024).fill(0x20)
    await using server = scriptedServer(() => {
      return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(noise) }))
    })
    const reranker = rerankerAt(server.url, 'tei', { max_retries: 0 })
    const error = await thrownBy(reranker.rerank('q', PASSAGES, NEVER))
    expect(error).toMatchObject({ code: 'provider_failed' })
    expect(String(error)).toContain('longer than')
  })

  test('a call that is not answered in time fails, and is not made again', async () => {
    await using server = scriptedServer(() => new Promise<Response>(() => undefined))
    const reranker = rerankerAt(server.url, 'tei', { request_timeout: 0.05 })
    const error = await thrownBy(reranker.rerank('q', PASSAGES, NEVER))
    expect(error).toMatchObject({ code: 'provider_failed' })
    expect(String(error)).toContain(`${server.url}/rerank failed: no answer in time`)
    expect(server.seen).toHaveLength(1)
  })

  test('a server that wants a pause beyond the deadline fails at once', async () => {
    await using server = scriptedServer(() => failure(503, 'busy', { 'retry-after': '5' }))
    const reranker = rerankerAt(server.url, 'tei', { timeout: 2 })
    const error = await thrownBy(reranker.rerank('q', PASSAGES, NEVER))
    expect(String(error)).toContain('asks to wait 5 s before another attempt')
    expect(server.seen).toHaveLength(1)
  })

  test('a server that stays busy meets the deadline', async () => {
    await using server = scriptedServer(() => failure(503, 'busy', { 'retry-after-ms': '50' }))
    const reranker = rerankerAt(server.url, 'tei', { timeout: 0.1, max_retries: 10 })
    const error = await thrownBy(reranker.rerank('q', PASSAGES, NEVER))
    expect(error).toMatchObject({ code: 'provider_failed' })
    expect(server.seen.length).toBeLessThan(4)
  })

  test('an unreachable server is a failure', async () => {
    const server = scriptedServer(rerankServer)
    await server[Symbol.asyncDispose]()
    const error = await thrownBy(rerankerAt(server.url, 'jina').rerank('q', PASSAGES, NEVER))
    expect(error).toMatchObject({ code: 'provider_failed' })
  })

  test('an abort throws its reason and closes the connection', async () => {
    const closed = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    await using server = scriptedServer((request) => {
      request.signal.addEventListener('abort', () => closed.resolve())
      asked.resolve()
      return new Promise<Response>(() => undefined)
    })
    const stop = new AbortController()
    const reason = new Error('client went away')
    const work = thrownBy(rerankerAt(server.url, 'vllm').rerank('q', PASSAGES, stop.signal))
    await asked.promise
    stop.abort(reason)
    expect(await work).toBe(reason)
    await closed.promise
  })
})
