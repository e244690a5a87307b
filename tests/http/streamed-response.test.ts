import { expect, test } from 'bun:test'
import { jsonAnswer, streamedResponse } from '../../src/api/http/answers/streamed-response.ts'
import { RequestScope } from '../../src/api/http/request/running-requests.ts'
import { NOTHING_NOTED } from '../../src/core/domain/ports/engine-ports.ts'

function scope(onEnd = () => {}): RequestScope {
  const request = new Request('http://localhost/x?y=z')
  const connection = { address: 'unknown', port: 0, onArrived() {} }
  return new RequestScope('1', request, {
    ...{ number: 1, startMs: 0 },
    ...{ onEnd, connection, running: NOTHING_NOTED },
  })
}

async function* never(): AsyncGenerator<string> {
  yield 'first'
  await new Promise(() => {})
}

test('comments are sent during silence, so that no proxy times out', async () => {
  const keepAlive = { text: ': keep-alive\n\n', everyMs: 1 }
  const response = streamedResponse(never(), { headers: {}, scope: scope(), keepAlive })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const seen: (string | undefined)[] = []
  while (seen.length < 3) seen.push((await reader?.read())?.value)
  expect(seen).toContain('first')
  expect(seen.filter((text) => text === ': keep-alive\n\n').length).toBe(2)
})

test('the request is over when the last piece is read, once', async () => {
  let ends = 0
  const one = scope(() => ends++)
  async function* pieces() {
    yield 'a'
    yield 'b'
  }
  const response = streamedResponse(pieces(), { headers: {}, scope: one })
  one.answered(200)
  expect(ends).toBe(0)
  expect(await response.text()).toBe('ab')
  expect(ends).toBe(1)
  expect(one.path).toBe('/x')
})

test('a long list is written in pieces, which together are its JSON', async () => {
  const items = Array.from({ length: 2_000 }, (_, id) => ({
    id,
    text: 'x'.repeat(200),
    none: undefined,
  }))
  const short = { a: [1], b: undefined, c: null }
  for (const value of [
    items,
    { items, left: undefined, empty: [], total: 2_000 },
    short,
    [],
    'x',
  ]) {
    const response = jsonAnswer(value, 201, scope())
    expect(response.status).toBe(201)
    expect(response.headers.get('content-type')).toBe(
      Response.json({}).headers.get('content-type') ?? '',
    )
    const pieces = await Array.fromAsync(response.body ?? [])
    expect(Buffer.concat(pieces).toString()).toBe(JSON.stringify(value))
    expect(pieces.length > 3).toBe(JSON.stringify(value).length > 10_000)
  }
})
