import { describe, expect, test } from 'bun:test'
import { createGzip } from 'node:zlib'
import { AppError } from '../../../src/core/errors.ts'
import {
  answering,
  type Behaviour,
  chunk,
  chunkedHead,
  forEver,
  hostileServer,
} from '../../models/fixtures/hostile-server.ts'
import {
  HURRIED_CLIENTS,
  PATIENT_CLIENTS,
  type ProviderClients,
} from '../../models/fixtures/provider-clients.ts'
import { KEY } from '../../models/fixtures/rerank-support.ts'

/** A text in every response, outside of the protocol's error message. Eider must never show it. */
const INSIDE = 'inside-4711'

const JSON_TYPE = { 'content-type': 'application/json' }
const json = (body: unknown) => answering(200, JSON_TYPE, JSON.stringify(body))

const CONNECTIONS: Readonly<Record<string, Behaviour>> = {
  'closes at once': (socket) => socket.destroy(),
  'ends without an answer': (socket) => socket.end(),
  'says nothing': () => {},
  'says nothing after its head': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n')
  },
  'says nothing after the head of a failure': (socket) => {
    socket.write('HTTP/1.1 400 X\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n')
  },
  'breaks off in the middle': (socket) => {
    socket.write(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"a',
    )
    setTimeout(() => socket.destroy(), 20)
  },
  'drips its body': (socket) => {
    socket.write(chunkedHead('application/json'))
    forEver(socket, chunk(' '), 5)
  },
  'drips its head': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    forEver(socket, 'x-a: b\r\n', 5)
  },
  'has a head without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    forEver(socket, `x-a: ${'b'.repeat(8_000)}\r\n`, null)
  },
  'speaks another protocol': (socket) => socket.end(`220 ${INSIDE} ESMTP\r\n`),
  'has a status that is no number': (socket) => socket.end(`HTTP/1.1 ${INSIDE}\r\n\r\n`),
  'sends chunks that are none': (socket) => {
    socket.end(`${chunkedHead('application/json')}ZZZ\r\n${INSIDE}\r\n`)
  },
  'sends less than it says': (socket) => {
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{}')
  },
}

const BODIES: Readonly<Record<string, Behaviour>> = {
  HTML: answering(200, { 'content-type': 'text/html' }, `<html>${INSIDE}</html>`),
  'HTML that calls itself JSON': answering(200, JSON_TYPE, `<html>${INSIDE}</html>`),
  'a word that is almost JSON': answering(200, JSON_TYPE, `${INSIDE.replace('-', '')}`),
  'JSON that is cut': answering(200, JSON_TYPE, `{"${INSIDE}": [1, 2`),
  'nothing at all': answering(200, JSON_TYPE),
  'no content': answering(204, {}),
  'invalid UTF-8': answering(200, JSON_TYPE, Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])),
  'nested JSON': answering(200, JSON_TYPE, '['.repeat(200_000)),
  null: json(null),
  'a list': json([INSIDE]),
  'a text': json(INSIDE),
  'a number': json(1),
  'lists that are none': json({ data: INSIDE, choices: INSIDE, content: INSIDE, results: INSIDE }),
  'lists of nothing': json({ data: [null, null], choices: [null], results: [null, null] }),
  'numbers that are texts': json({
    data: [{ embedding: ['1', INSIDE] }, { embedding: [{}] }],
    results: [
      { index: '0', relevance_score: INSIDE },
      { index: 1, relevance_score: '1' },
    ],
  }),
  'numbers that are none': answering(
    200,
    JSON_TYPE,
    '{"data":[{"embedding":[1e999,null]},{"embedding":[null]}],"results":[{"index":0,"relevance_score":1e999},{"index":1,"relevance_score":null}]}',
  ),
  'too few': json({ data: [{ embedding: [1] }], results: [{ index: 0, relevance_score: 1 }] }),
  'too many': json({
    data: Array.from({ length: 9 }, (_, index) => ({ index, embedding: [1] })),
    results: Array.from({ length: 9 }, (_, index) => ({ index, relevance_score: 1 })),
  }),
  'vectors of several lengths': json({ data: [{ embedding: [1] }, { embedding: [1, 2] }] }),
  'an encoding that it is not': answering(
    200,
    { ...JSON_TYPE, 'content-encoding': 'gzip' },
    `{"${INSIDE}":1}`,
  ),
  'an unknown encoding': answering(
    200,
    { ...JSON_TYPE, 'content-encoding': 'x-inside' },
    `{"${INSIDE}":1}`,
  ),
  'an event stream where none is wanted, and no event': (socket) => {
    socket.write(chunkedHead('text/event-stream'))
    forEver(socket, chunk(': quiet\n\n'), 5)
  },
  'events that are broken': answering(
    200,
    { 'content-type': 'text/event-stream' },
    `data: {"${INSIDE}\n\nevent: x\ndata\n\n: \n\ndata: [1\n\n`,
  ),
  'an error as an event': answering(
    200,
    { 'content-type': 'text/event-stream' },
    `event: error\ndata: {"error": {"${INSIDE}": 1, "type": "x"}}\n\n`,
  ),
}

/** Repeats a piece of a chat model's stream. */
function streaming(delta: unknown, pauseMs: number | null): Behaviour {
  const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`
  return (socket) => {
    socket.write(chunkedHead('text/event-stream'))
    forEver(socket, chunk(event), pauseMs)
  }
}

function toolCall(changes: object): object {
  return {
    tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{' }, ...changes }],
  }
}

const STREAMS: Readonly<Record<string, Behaviour>> = {
  'words without end': streaming({ content: 'word' }, 5),
  'a word without end': streaming({ content: 'w'.repeat(20_000) }, null),
  'arguments without end': streaming(
    toolCall({ function: { arguments: '['.repeat(20_000) } }),
    null,
  ),
  'the same tool call again and again': streaming(toolCall({}), 5),
  'calls without an index': streaming(toolCall({ index: undefined }), 5),
}

function redirectTo(status: number, location: string): Behaviour {
  return answering(status, { ...JSON_TYPE, location }, INSIDE)
}

/** Returns the failure of each client, or nothing for a client that returned a value. */
async function failuresAt(
  url: string,
  clients: ProviderClients,
): Promise<Readonly<Record<string, AppError>>> {
  const entries = Object.entries(clients).map(async ([name, call]) => {
    const error = await call(url).then(
      (value: unknown) => new Error(`${name} gave ${Bun.inspect(value)}`),
      (cause: unknown) => cause,
    )
    if (error instanceof AppError) return [name, error] as const
    throw new Error(`${name} did not fail as expected`, { cause: error })
  })
  return Object.fromEntries(await Promise.all(entries))
}

const CODES: readonly string[] = ['provider_failed', 'provider_busy', 'provider_refused', 'timeout']

function expectWellMade(failures: Readonly<Record<string, AppError>>, origin: string): void {
  for (const [name, error] of Object.entries(failures)) {
    expect([name, CODES.includes(error.code)]).toEqual([name, true])
    expect(error.message).toContain(origin)
    expect(error.message.length).toBeLessThan(600)
    const shown = Bun.inspect(error, { depth: 10 })
    for (const hidden of [KEY, INSIDE, INSIDE.replace('-', '')]) {
      expect([name, shown.includes(hidden)]).toEqual([name, false])
    }
  }
}

async function expectFailures(
  behave: Behaviour,
  clients = HURRIED_CLIENTS,
): Promise<Readonly<Record<string, AppError>>> {
  await using server = await hostileServer(behave)
  const failures = await failuresAt(server.url, clients)
  expectWellMade(failures, server.url)
  await server.closed()
  return failures
}

describe('a provider that', () => {
  for (const [what, behave] of Object.entries(CONNECTIONS)) {
    test(`${what} is a failure, and its connections are closed`, async () => {
      await expectFailures(behave)
    })
  }
})

describe('a provider that answers with', () => {
  for (const [what, behave] of Object.entries({ ...BODIES, ...STREAMS })) {
    test(what, async () => {
      await expectFailures(behave)
    })
  }
})

describe('a redirect', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    test(`${status} to another host is not followed`, async () => {
      await using other = await hostileServer(json({ data: [] }))
      const failures = await expectFailures(
        redirectTo(status, `${other.url}/v1/embeddings`),
        PATIENT_CLIENTS,
      )
      for (const { message } of Object.values(failures)) {
        expect(message).toEndWith(`answered ${status} (redirects are not followed)`)
      }
      expect(other.requests).toEqual([])
    })
  }

  for (const location of ['/again', 'file:///etc/passwd', 'data:application/json,{}', '\u0001']) {
    test(`to ${JSON.stringify(location)} is not followed`, async () => {
      await using server = await hostileServer(redirectTo(302, location))
      expectWellMade(await failuresAt(server.url, PATIENT_CLIENTS), server.url)
      const paths = server.requests.map((request) => request.split(' ')[1])
      expect(paths.filter((path) => path === '/again')).toEqual([])
    })
  }
})

describe('a status', () => {
  for (const status of [400, 401, 403, 404, 418, 429, 500, 503, 599]) {
    for (const after of [
      null,
      '0',
      '3600',
      'Fri, 31 Dec 2199 23:59:59 GMT',
      'soon',
      '-1',
      '1e999',
    ]) {
      test(`${status} with Retry-After ${after}`, async () => {
        const message = `not today, ${KEY}`
        const headers = after === null ? JSON_TYPE : { ...JSON_TYPE, 'retry-after': after }
        const body = JSON.stringify({ error: { message, type: 'x', secret: INSIDE } })
        const failures = await expectFailures(answering(status, headers, body), PATIENT_CLIENTS)
        for (const error of Object.values(failures)) {
          expect(error.message).toContain(`answered ${status}`)
          expect(error.message).toContain('not today, ******')
          const isLater = after === '3600' || after?.startsWith('Fri') === true
          const isBusy = status === 429 || status >= 500
          expect(error.message.includes('it asks to wait')).toBe(isLater && isBusy)
        }
      })
    }
  }

  test('with a page instead of a message shows the status alone', async () => {
    const page = `<html>${INSIDE}${' '.repeat(10_000_000)}</html>`
    for (const [type, body] of [
      ['text/html', page],
      ['application/json', JSON.stringify({ user: INSIDE, stack: [INSIDE] })],
      ['application/json', JSON.stringify({ error: { code: INSIDE } })],
      ['text/plain', INSIDE],
    ] as const) {
      const failures = await expectFailures(
        answering(500, { 'content-type': type }, body),
        PATIENT_CLIENTS,
      )
      for (const error of Object.values(failures)) expect(error.message).toEndWith('answered 500')
    }
  })
})

test('TLS against a server that speaks none is a failure', async () => {
  await using server = await hostileServer(answering(200, JSON_TYPE, '{}'))
  const url = server.url.replace('http:', 'https:')
  expectWellMade(await failuresAt(url, HURRIED_CLIENTS), url)
})

/** Returns this many zeros in gzip format. */
async function bombOf(megabytes: number): Promise<Uint8Array> {
  const packer = createGzip({ level: 9 })
  const parts: Uint8Array[] = []
  packer.on('data', (part: Uint8Array) => parts.push(part))
  const ended = new Promise((resolve) => packer.once('end', resolve))
  const zeros = new Uint8Array(1024 * 1024)
  for (let count = 0; count < megabytes; count += 1) {
    if (!packer.write(zeros)) await new Promise((resolve) => packer.once('drain', resolve))
  }
  packer.end()
  await ended
  return Buffer.concat(parts)
}

test('what unpacks to 250 MB, and what never ends, takes little memory', async () => {
  const bomb = await bombOf(250)
  const packed = { ...JSON_TYPE, 'content-encoding': 'gzip' }
  const endless: Behaviour = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n')
    forEver(socket, Buffer.alloc(65_536, 0x20), null)
  }
  const events: Behaviour = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ')
    forEver(socket, Buffer.alloc(65_536, 0x20), null)
  }
  Bun.gc(true)
  const before = process.memoryUsage.rss()
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 5)
  await expectFailures(answering(200, packed, bomb))
  await expectFailures(answering(500, packed, bomb))
  await expectFailures(endless)
  await expectFailures(events)
  clearInterval(watch)
  // All data in memory would take more than a gigabyte, because five clients unpack it at once.
  expect((peak - before) / 1e6).toBeLessThan(700)
})
