import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { limitedBody } from '../../src/api/http/bodies/body.ts'
import type { Listener } from '../../src/api/http/listen.ts'
import { type TestServer, testServer } from './server-fixture.ts'

let fixture: TestServer
let listener: Listener
beforeAll(() => {
  fixture = testServer()
  listener = fixture.server.listen({ hostname: '127.0.0.1', port: 0 })
})
afterAll(() => listener.stop(0))

interface Exchange {
  /** What was received until the server closed the connection or sent `until`. */
  readonly text: string
  readonly hasEnded: boolean
}

/** Sends bytes unchanged. It disconnects after receiving `until`, and at the latest after `patienceMs`. */
function exchange(bytes: string | Uint8Array, { until = '\r\n\r\n', patienceMs = 1500 } = {}) {
  return new Promise<Exchange>((resolve) => {
    let text = ''
    const socket = connect(Number(listener.url.port), '127.0.0.1', () => socket.write(bytes))
    const leave = (hasEnded: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ text, hasEnded })
    }
    const timer = setTimeout(() => leave(false), patienceMs)
    socket.on('data', (data) => {
      text += data.toString('latin1')
      if (text.includes(until)) leave(false)
    })
    socket.once('end', () => leave(true))
    socket.once('error', () => leave(true))
  })
}

async function expectPing(): Promise<void> {
  const answer = await fetch(new URL('/api/util/ping', listener.url))
  expect(answer.status).toBe(200)
}

/** Checks that the text reveals nothing of how the server is built. */
function expectNoInside(text: string): void {
  expect(text).not.toMatch(/\.ts\b|node_modules|\bat [\w.]+ \(|Bun v|Elysia|stack/i)
}

const HEAD = 'host: localhost\r\ncontent-type: application/json\r\n'
const SQL = `POST /api/sql/query HTTP/1.1\r\n${HEAD}`
const BODY = '{"query":"SELECT 1"}'
const PING = 'GET /api/util/ping HTTP/1.1\r\nhost: localhost\r\n\r\n'

/**
 * What is sent, and the statuses that may come back. Without a status, the connection is closed, or
 * no response comes.
 */
const ODD: Readonly<Record<string, readonly [string | Uint8Array, ...number[]]>> = {
  'two lengths that differ': [`${SQL}content-length: 20\r\ncontent-length: 5\r\n\r\n${BODY}`, 400],
  'a length and chunks': [
    `${SQL}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  'a negative length': [`${SQL}content-length: -1\r\n\r\n${BODY}`, 400],
  'a length of letters': [`${SQL}content-length: abc\r\n\r\n${BODY}`, 400],
  'a length of thirty digits': [`${SQL}content-length: ${'9'.repeat(30)}\r\n\r\n${BODY}`, 400, 413],
  'a length over the limit': [`${SQL}content-length: 99999999999\r\n\r\n`, 413],
  'a chunk whose size is no number': [`${SQL}transfer-encoding: chunked\r\n\r\nzz\r\n${BODY}`, 400],
  'a chunk of a negative size': [`${SQL}transfer-encoding: chunked\r\n\r\n-5\r\n${BODY}`, 400],
  'a chunk of a huge size': [
    `${SQL}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n${BODY}`,
    400,
    413,
  ],
  'a chunk that is longer than it says': [
    `${SQL}transfer-encoding: chunked\r\n\r\n3\r\n${BODY}\r\n0\r\n\r\n`,
    400,
  ],
  'an unknown transfer encoding': [`${SQL}transfer-encoding: gzip\r\n\r\n${BODY}`, 400, 501],
  'a header of a megabyte': [
    `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(1e6)}\r\n\r\n`,
    431,
  ],
  'ten thousand headers': [
    `GET / HTTP/1.1\r\nhost: localhost\r\n${Array.from({ length: 10_000 }, (_, n) => `x${n}: 1\r\n`).join('')}\r\n`,
    400,
    431,
  ],
  'an address of a megabyte': [
    `GET /${'a'.repeat(1e6)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
    414,
    431,
  ],
  'a NUL in the path': ['GET /api\0/status HTTP/1.1\r\nhost: localhost\r\n\r\n', 400, 404, 505],
  'a NUL as an escape': ['GET /api/files/%00 HTTP/1.1\r\nhost: localhost\r\n\r\n', 400, 404],
  'an escape that is no UTF-8': ['GET /api/files/%ff%fe HTTP/1.1\r\nhost: localhost\r\n\r\n', 400],
  'an escape without its end': ['GET /api/files/%2 HTTP/1.1\r\nhost: localhost\r\n\r\n', 400],
  'a path that climbs': ['GET /../../../etc/passwd HTTP/1.1\r\nhost: localhost\r\n\r\n', 400, 404],
  'a path that climbs by escapes': [
    'GET /api/files/..%2f..%2f..%2fetc%2fpasswd HTTP/1.1\r\nhost: localhost\r\n\r\n',
    400,
    404,
  ],
  'a header without a colon': ['GET / HTTP/1.1\r\nhost localhost\r\n\r\n', 400],
  'a header that is folded': ['GET / HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\n\r\n', 400],
  'a header with a NUL': ['GET / HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n', 400],
  'no Host': ['GET / HTTP/1.1\r\n\r\n', 400],
  'two Hosts': ['GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil\r\n\r\n', 400, 403],
  'a method of a megabyte': [`${'A'.repeat(1e6)} / HTTP/1.1\r\nhost: localhost\r\n\r\n`, 400, 431],
  'an unknown method': ['BREW /api/status HTTP/1.1\r\nhost: localhost\r\n\r\n', 400, 405, 501],
  'a proxy request': ['CONNECT example.com:443 HTTP/1.1\r\nhost: localhost\r\n\r\n', 400, 404, 405],
  'the words of HTTP/0.9': ['GET /\r\n', 400, 505],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 505],
  'a future HTTP': ['GET / HTTP/9.9\r\nhost: localhost\r\n\r\n', 400, 505],
  'the beginning of TLS': [Uint8Array.from([22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]), 400],
  'line ends without the first half': ['GET / HTTP/1.1\nhost: localhost\n\n', 400, 505],
  'bytes of nothing': [new Uint8Array(5000), 400],
  'a body in UTF-16': [`${SQL}content-length: 10\r\n\r\n\xff\xfe{\0"\0}\0\0\0`, 400],
  'a body that says it is zipped': [
    `${SQL}content-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x8b\x08\x00`,
    400,
    415,
  ],
}

describe('an odd request is refused, while others are answered:', () => {
  for (const [name, [bytes, ...statuses]] of Object.entries(ODD)) {
    test(name, async () => {
      const raw = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
      const { text } = await exchange(raw)
      const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1]
      if (status !== undefined) expect(statuses).toContain(Number(status))
      expectNoInside(text)
      await expectPing()
    })
  }
  test('no request of these was a fault of the server', () => {
    expect(fixture.errors).toEqual([])
    expect(fixture.logged.filter(({ status }) => status >= 500)).toEqual([])
  })
})

describe('a request is answered', () => {
  test('that asks before it sends its body', async () => {
    const asked = `${SQL}expect: 100-continue\r\ncontent-length: ${BODY.length}\r\n\r\n`
    const { text } = await exchange(asked + BODY, { until: '"data"' })
    expect(text).toContain('200 OK')
  })

  test('that comes byte by byte', async () => {
    const whole = `${SQL}content-length: ${BODY.length}\r\n\r\n${BODY}`
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(listener.url.port), '127.0.0.1', async () => {
        socket.setNoDelay(true)
        for (const byte of whole) {
          socket.write(byte)
          await new Promise((next) => setImmediate(next))
        }
      })
      socket.once('data', (data) => {
        socket.destroy()
        resolve(String(data))
      })
      socket.once('error', reject)
    })
    expect(answer).toStartWith('HTTP/1.1 200')
  })

  test('each of a hundred over one connection, in their order', async () => {
    const answers: string[] = []
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket = connect(Number(listener.url.port), '127.0.0.1', () => socket.write(PING))
    socket.on('data', (data) => {
      const count = answers.push(data.toString('latin1').slice(0, 'HTTP/1.1 200'.length))
      if (count === 100) resolve()
      else socket.write(count === 99 ? PING.replace('/api/util/ping', '/nowhere') : PING)
    })
    socket.once('close', () => reject(new Error('closed')))
    await promise
    socket.destroy()
    expect(answers).toEqual([...Array(99).fill('HTTP/1.1 200'), 'HTTP/1.1 404'])
  })
})

test('several requests in one packet end their connection, and no other', async () => {
  const { text, hasEnded } = await exchange(PING.repeat(3))
  expect([text, hasEnded]).toEqual(['', true])
  await expectPing()
})

/** Opens connections and sends their first bytes. */
async function opened(count: number, words: string): Promise<readonly Socket[]> {
  return Promise.all(
    Array.from({ length: count }, () => {
      return new Promise<Socket>((resolve, reject) => {
        const socket = connect(Number(listener.url.port), '127.0.0.1', () => {
          socket.write(words, () => resolve(socket))
        })
        socket.on('error', reject)
      })
    }),
  )
}

describe('others are answered beside', () => {
  const SILENT: Readonly<Record<string, string>> = {
    '500 connections that say nothing': '',
    '200 that say half a request': 'GET /api/util/pi',
    '200 that say a head and no body': `${SQL}content-length: 50000\r\n\r\n{"query":`,
    '200 that began a chunk': `${SQL}transfer-encoding: chunked\r\n\r\nffff\r\n{"qu`,
  }
  for (const [name, words] of Object.entries(SILENT)) {
    test(name, async () => {
      const sockets = await opened(Number(/\d+/.exec(name)?.[0]), words)
      for (let count = 0; count < 20; count += 1) await expectPing()
      for (const socket of sockets) socket.destroy()
      await expectPing()
    })
  }
})

test('a body in pieces of one byte is read in larger ones', async () => {
  const counts: number[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const pieces = await Array.fromAsync(limitedBody(request, { bytesMax: 1e9, name: 'none' }))
      counts.push(pieces.length, Buffer.concat(pieces).length)
      return new Response()
    },
  })
  const answered = Promise.withResolvers<void>()
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port ?? 0,
    socket: { data: () => answered.resolve(), drain: () => send() },
  })
  const head = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'
  let unsent = Buffer.from(`${head}${'1\r\na\r\n'.repeat(100_000)}0\r\n\r\n`)
  const send = () => {
    unsent = unsent.subarray(socket.write(unsent))
  }
  send()
  await answered.promise
  expect(counts[1]).toBe(100_000)
  expect(counts[0]).toBeLessThan(10_000)
  socket.end()
  await server.stop(true)
})
