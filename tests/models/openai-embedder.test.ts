import { expect, test } from 'bun:test'
import type { Embedder } from '../../src/core/domain/ports/model-ports.ts'
import { chosenEndpoint } from '../../src/models/endpoint.ts'
import { EMBED_LIMITS, openaiEmbedder } from '../../src/models/providers/openai-embedder.ts'
import { failure, type SeenRequest, scriptedServer, thrownBy } from './fixtures/scripted-server.ts'

const KEY = 'sk-proj-Zx81kQpTTvv09LmNq77'
const never = new AbortController().signal

function embedderAt(
  baseUrl: string,
  options: { apiKey?: string; timeoutMs?: number } = {},
): Embedder {
  const endpoint = chosenEndpoint({
    own: { baseUrl, apiKey: options.apiKey },
    defaults: {},
    publicUrl: 'https://api.openai.com/v1',
    code: 'invalid_knowledge_base',
  })
  const limits = { ...EMBED_LIMITS, timeoutMs: options.timeoutMs ?? 5000 }
  return openaiEmbedder({ endpoint, modelName: 'embed-small', limits })
}

function textsOf(request: SeenRequest): readonly string[] {
  return Array.isArray(request.body.input) ? request.body.input : []
}

const base64 = (numbers: readonly number[]) => {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64')
}

const asBase64 = (request: SeenRequest) => {
  const data = textsOf(request).map((text, index) => {
    return { object: 'embedding', index, embedding: base64([text.length, 0.5]) }
  })
  return Response.json({ object: 'list', model: request.body.model, data })
}

const answering = (data: unknown) => () => Response.json({ data })
const vectors = (items: readonly (Float32Array | undefined)[]) => {
  return items.map((item) => [...(item ?? [])])
}

test('sends model, texts and key, and decodes base64', async () => {
  await using server = scriptedServer(asBase64)
  const found = await embedderAt(server.url, { apiKey: KEY }).embed(['a', 'four'], never)
  expect(vectors(found)).toEqual([
    [1, 0.5],
    [4, 0.5],
  ])
  const [request] = server.seen
  expect(request?.path).toBe('/v1/embeddings')
  expect(request?.body).toEqual({
    model: 'embed-small',
    input: ['a', 'four'],
    encoding_format: 'base64',
  })
  expect(request?.headers.get('authorization')).toBe(`Bearer ${KEY}`)
})

test.each(['', '/', '/v1', '/v1/', '/v1/embeddings'])(
  'accepts the address with "%s"',
  async (tail) => {
    await using server = scriptedServer(asBase64)
    await embedderAt(server.url + tail).embed(['a'], never)
    expect(server.seen[0]?.path).toBe('/v1/embeddings')
  },
)

test('keeps a path and a query of the server itself', async () => {
  await using server = scriptedServer(asBase64)
  await embedderAt(`${server.url}/openai/v4/?api-version=2`).embed(['a'], never)
  expect(server.seen[0]?.path).toBe('/openai/v4/embeddings')
  expect(server.seen[0]?.query).toBe('?api-version=2')
})

test('takes numbers where base64 was asked for, and puts a mixed order right', async () => {
  await using server = scriptedServer(
    answering([
      { index: 1, embedding: [2, 2] },
      { index: 0, embedding: [1, 1] },
    ]),
  )
  const found = await embedderAt(server.url).embed(['a', 'b'], never)
  expect(vectors(found)).toEqual([
    [1, 1],
    [2, 2],
  ])
})

test('does without index where a server leaves it out', async () => {
  await using server = scriptedServer(answering([{ embedding: [1] }, { embedding: [2] }]))
  expect(vectors(await embedderAt(server.url).embed(['a', 'b'], never))).toEqual([[1], [2]])
})

test.each([
  ['too few vectors', [{ index: 0, embedding: [1] }], '1 vectors came back for 2 texts'],
  [
    'an index twice',
    [
      { index: 0, embedding: [1] },
      { index: 0, embedding: [1] },
    ],
    'index of vector 2',
  ],
  [
    'an index out of range',
    [
      { index: 0, embedding: [1] },
      { index: 2, embedding: [1] },
    ],
    'index',
  ],
  [
    'mixed dimensions',
    [
      { index: 0, embedding: [1] },
      { index: 1, embedding: [1, 2] },
    ],
    '1 and 2 dimensions',
  ],
  [
    'an empty vector',
    [
      { index: 0, embedding: [] },
      { index: 1, embedding: [] },
    ],
    'not a list of numbers',
  ],
  [
    'null for NaN',
    [
      { index: 0, embedding: [1] },
      { index: 1, embedding: [null] },
    ],
    'not a list of numbers',
  ],
  [
    'NaN in base64',
    [{ embedding: base64([1]) }, { embedding: base64([Number.NaN]) }],
    'not finite',
  ],
  ['numbers beyond float32', [{ embedding: [1e300] }, { embedding: [1] }], 'not finite'],
  ['broken base64', [{ embedding: 'AAA' }, { embedding: 'AAA' }], 'not a list of numbers'],
  ['no list', 'nothing', 'no list "data"'],
])('refuses %s', async (_, data, said) => {
  await using server = scriptedServer(answering(data))
  const error = await thrownBy(embedderAt(server.url).embed(['a', 'b'], never))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toContain(said)
  expect(String(error)).toContain(`${server.url}/v1/embeddings`)
})

test('HTML with status 200 is a failure, not a vector', async () => {
  const html = () =>
    new Response('<html>hello</html>', { headers: { 'content-type': 'text/html' } })
  await using server = scriptedServer(html)
  const error = await thrownBy(embedderAt(server.url).embed(['a'], never))
  expect(error).toMatchObject({ code: 'provider_failed' })
})

test('cuts many texts into calls, at most four at once, and keeps the order', async () => {
  let running = 0
  let mostRunning = 0
  await using server = scriptedServer(async (request) => {
    running += 1
    mostRunning = Math.max(mostRunning, running)
    await Bun.sleep(10)
    running -= 1
    return asBase64(request)
  })
  const texts = Array.from({ length: 2100 }, (_, index) => 'x'.repeat(index % 50))
  const found = await embedderAt(server.url).embed(texts, never)
  // An empty text is sent as a blank, because the API refuses empty ones.
  expect(found.map((vector) => vector[0])).toEqual(texts.map((text) => Math.max(1, text.length)))
  expect(server.seen).toHaveLength(9)
  expect(Math.max(...server.seen.map((request) => textsOf(request).length))).toBe(256)
  expect(mostRunning).toBe(4)
})

test('cuts long texts into calls by their bytes', async () => {
  await using server = scriptedServer(asBase64)
  await embedderAt(server.url).embed(
    Array.from({ length: 6 }, () => 'é'.repeat(50_000)),
    never,
  )
  expect(server.seen.map((request) => textsOf(request).length)).toEqual([2, 2, 2])
})

test('tries again after 429 when the server says so, and after 500', async () => {
  await using server = scriptedServer(
    () => failure(429, 'slow down', { 'retry-after-ms': '20' }),
    () => failure(500, 'oops', { 'retry-after-ms': '1' }),
    asBase64,
  )
  expect(await embedderAt(server.url).embed(['a'], never)).toHaveLength(1)
  expect(server.seen).toHaveLength(3)
})

test('gives up after its retries and names URL and status', async () => {
  await using server = scriptedServer(() => failure(429, 'quota', { 'retry-after-ms': '1' }))
  const error = await thrownBy(embedderAt(server.url).embed(['a'], never))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toContain(`${server.url}/v1/embeddings answered 429: quota`)
  expect(server.seen).toHaveLength(1 + EMBED_LIMITS.retriesMax)
})

test.each([400, 401, 403, 404, 422])('%i is a refusal and is not tried again', async (status) => {
  await using server = scriptedServer(() => failure(status, 'no such model'))
  const error = await thrownBy(embedderAt(server.url, { apiKey: KEY }).embed(['a'], never))
  expect(error).toMatchObject({ code: 'provider_refused' })
  expect(String(error)).toContain(`answered ${status}: no such model`)
  expect(server.seen).toHaveLength(1)
})

test('a key that the server echoes is in no message, whole, in part or in other case', async () => {
  const echoes = [KEY, KEY.toUpperCase(), KEY.slice(0, 12), `"${KEY.slice(4)}"`, `Bearer ${KEY}`]
  for (const echo of echoes) {
    await using server = scriptedServer(() => failure(401, `Incorrect API key provided: ${echo}.`))
    const error = await thrownBy(embedderAt(server.url, { apiKey: KEY }).embed(['a'], never))
    const shown = Bun.inspect(error).toLowerCase()
    for (let start = 0; start + 6 <= KEY.length; start += 1) {
      expect(shown).not.toContain(KEY.slice(start, start + 6).toLowerCase())
    }
    expect(String(error)).toContain('Incorrect API key provided')
  }
})

test('credentials and query of the address are in no message', async () => {
  await using server = scriptedServer(() =>
    failure(403, 'user bob has pass pa55word/1 and tok-12345678'),
  )
  const url = `${server.url.replace('//', '//bobby17:pa55word%2F1@')}/v1?token=tok-12345678`
  const shown = Bun.inspect(await thrownBy(embedderAt(url).embed(['a'], never)))
  for (const secret of ['bobby17', 'pa55word', 'tok-12345678']) expect(shown).not.toContain(secret)
  expect(shown).toContain('no api_key was sent')
})

test('an unreachable server is a failure that names the URL', async () => {
  const server = scriptedServer(asBase64)
  await server[Symbol.asyncDispose]()
  const endpoint = chosenEndpoint({
    own: { baseUrl: server.url },
    defaults: {},
    publicUrl: 'https://api.openai.com/v1',
    code: 'invalid_knowledge_base',
  })
  const limits = { ...EMBED_LIMITS, retriesMax: 0 }
  const embedder = openaiEmbedder({ endpoint, modelName: 'm', limits })
  const error = await thrownBy(embedder.embed(['a'], never))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toContain(`${server.url}/v1/embeddings failed`)
})

test('one failed call stops the others', async () => {
  const others = [1, 2, 3].map(() => Promise.withResolvers<void>())
  let otherCount = 0
  await using server = scriptedServer(async (request) => {
    if (textsOf(request)[0] === 'bad') {
      await Bun.sleep(20)
      return failure(400, 'bad text')
    }
    const closed = others[otherCount]
    otherCount += 1
    request.signal.addEventListener('abort', () => closed?.resolve())
    return new Promise<Response>(() => undefined)
  })
  const texts = Array.from({ length: 2048 }, (_, index) => (index === 768 ? 'bad' : 'good'))
  const error = await thrownBy(embedderAt(server.url).embed(texts, never))
  expect(error).toMatchObject({ code: 'provider_refused' })
  await Promise.all(others.map((closed) => closed.promise))
  expect(server.seen).toHaveLength(4)
})

test('an abort closes the connection and throws its reason', async () => {
  const reason = new Error('client went away')
  const stop = new AbortController()
  const closed = Promise.withResolvers<void>()
  await using server = scriptedServer((request) => {
    request.signal.addEventListener('abort', () => closed.resolve())
    stop.abort(reason)
    return new Promise<Response>(() => undefined)
  })
  expect(await thrownBy(embedderAt(server.url).embed(['a'], stop.signal))).toBe(reason)
  await closed.promise
})

test('an answer that never ends breaks off at its limit', async () => {
  await using server = scriptedServer(() => {
    const chunk = new Uint8Array(1024 * 1024).fill(32)
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(chunk) })
    return new Response(body, { headers: { 'content-type': 'application/json' } })
  })
  const endpoint = chosenEndpoint({
    own: { baseUrl: server.url },
    defaults: {},
    publicUrl: 'https://api.openai.com/v1',
    code: 'invalid_knowledge_base',
  })
  const limits = { ...EMBED_LIMITS, retriesMax: 0, answerBytesMax: 4 * 1024 * 1024 }
  const embedder = openaiEmbedder({ endpoint, modelName: 'm', limits })
  const error = await thrownBy(embedder.embed(['a'], never))
  expect(error).toMatchObject({ code: 'provider_failed' })
  expect(String(error)).toContain('longer than 4194304 bytes')
})
