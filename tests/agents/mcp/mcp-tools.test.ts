import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { askScripted, calls, says } from '../ask-scripted.ts'
import { ECHO, handMadeServer, officialServer, servedBy, textResult } from './mcp-fixture.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
})

afterAll(async () => {
  await app.close()
})

/** Tools for the weather in a town and for a failure. */
function weather(options: { readonly hasSessions?: boolean; readonly isJson?: boolean }) {
  return officialServer({
    ...options,
    tools: (server) => {
      server.registerTool(
        'weather.now',
        { description: 'The weather of a town', inputSchema: { town: z.string() } },
        ({ town }) => ({ content: [{ type: 'text', text: `It rains in ${town}.` }] }),
      )
      server.registerTool('broken', { description: 'Fails' }, () => {
        throw new Error('the sensor is wet')
      })
      server.registerTool(
        'measured',
        { description: 'Numbers', outputSchema: { degrees: z.number() } },
        () => ({
          structuredContent: { degrees: 11 },
          content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
        }),
      )
    },
  })
}

describe.each([
  ['stateless', {}],
  ['stateless, JSON', { isJson: true }],
  ['with sessions', { hasSessions: true }],
])('an official server, %s', (_name, options) => {
  test("the model sees a server's tools, calls them and gets their results", async () => {
    const server = weather(options)
    try {
      const asked = await askScripted(app, {
        data: {
          mcp: [{ name: 'sky', url: server.url, tools: ['weather*', 'broken', 'measured'] }],
        },
        turns: [
          calls('sky__weather_now', { town: 'Bergen' }),
          calls('sky__broken', {}),
          calls('sky__measured', {}),
          says('It rains.'),
        ],
      })
      expect(asked.seen[0]).toBe('It rains in Bergen.')
      expect(asked.seen[1]).toStartWith('Error reported by sky__broken: ')
      expect(asked.seen[1]).toContain('the sensor is wet')
      expect(asked.seen[2]).toBe(
        '[image of the type image/png, 3 bytes, not shown]\n{"degrees":11}',
      )
      expect(asked.message.content).toBe('It rains.')
      expect(asked.message.citations).toEqual([])
      const tool = asked.tools.get('sky__weather_now')
      expect(tool?.description).toContain('The weather of a town')
      expect(tool?.parameters).toMatchObject({
        type: 'object',
        properties: { town: { type: 'string' } },
        required: ['town'],
      })
    } finally {
      server.close()
    }
  })
})
test('a tool that is not allowed is neither shown nor called', async () => {
  const server = weather({})
  try {
    const asked = await askScripted(app, {
      data: { mcp: [{ name: 'sky', url: server.url, tools: ['measured', 'nothing_*'] }] },
      turns: [calls('sky__broken', {}), says('No.')],
    })
    expect(asked.seen[0]).toContain('sky__broken is not a valid tool')
    expect(server.requests.map(({ method }) => method)).not.toContain('tools/call')
    expect(asked.warnings[0]).toContain('No tool found on the MCP server sky: nothing_*')
  } finally {
    server.close()
  }
})

test('without an allow-list no tool is called, and the answer says which there are', async () => {
  const server = weather({})
  try {
    const asked = await askScripted(app, {
      data: { mcp: [{ name: 'sky', url: server.url }] },
      turns: [says('No.')],
    })
    expect(asked.warnings).toEqual([
      'No tool of the MCP server sky is allowed: name some in "tools". It offers weather.now, broken, measured',
    ])
  } finally {
    server.close()
  }
})

/**
 * Asks a question with one call of `echo`.
 * @returns what the model saw of the call, and the warnings
 */
async function echoed(url: string, extra: object = {}) {
  const asked = await askScripted(app, {
    data: { mcp: [{ name: 'odd', url, tools: ['*'], ...extra }] },
    turns: [calls('odd__echo', {}), says('Done.')],
  })
  return { seen: asked.seen[0] ?? '', warnings: asked.warnings, asked }
}

const MISBEHAVING: readonly (readonly [string, Parameters<typeof handMadeServer>[0], string])[] = [
  [
    'another id',
    () => Response.json({ jsonrpc: '2.0', id: 999, result: {} }),
    'not one to this request',
  ],
  [
    'no JSON',
    () => new Response('<html>', { headers: { 'content-type': 'application/json' } }),
    'not one to this request',
  ],
  [
    'HTML',
    () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    'not one to this request',
  ],
  [
    'a batch',
    (_, { id }) => Response.json([{ jsonrpc: '2.0', id, result: {} }]),
    'not one to this request',
  ],
  [
    'a huge answer',
    (_, message) => textResult(message, 'x'.repeat(2_000_000)),
    'longer than 1048576 bytes',
  ],
  [
    'a failure',
    () => new Response('stack trace at /srv/secret.js', { status: 500 }),
    'answers with HTTP 500',
  ],
  [
    'a JSON-RPC error',
    (_, { id }) =>
      Response.json({ jsonrpc: '2.0', id, error: { code: -32602, message: 'bad town' } }),
    'bad town',
  ],
  ['an endless stream', () => events(endless()), 'too many events'],
  [
    'a stream without an answer',
    () => events(['data: {"jsonrpc":"2.0","method":"x"}\n\n']),
    'ended without an answer',
  ],
  [
    'a redirect elsewhere',
    () => Response.redirect('http://10.0.0.1/mcp?key=secretsecret', 307),
    'redirects to http://10.0.0.1/mcp, which is not followed.',
  ],
]

function events(pieces: Iterable<string>): Response {
  const iterator = pieces[Symbol.iterator]()
  const body = new ReadableStream({
    pull(controller) {
      const { done, value } = iterator.next()
      if (done) controller.close()
      else controller.enqueue(new TextEncoder().encode(value))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function* endless(): Iterable<string> {
  for (;;) yield 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'
}

test.each(MISBEHAVING)(
  '%s reaches the model, and the question goes on',
  async (_name, answering, told) => {
    const server = handMadeServer(answering, [ECHO])
    try {
      const { seen, warnings, asked } = await echoed(server.url)
      expect(seen).toStartWith('Error: The MCP server odd (http://127.0.0.1:')
      expect(seen).toContain(told)
      expect(seen).not.toContain('secret')
      expect(warnings.join()).toContain(told)
      expect(asked.message.content).toBe('Done.')
    } finally {
      server.close()
    }
  },
)

test('a server that is down, and one that refuses the login, are warnings with the next step', async () => {
  const locked = servedBy(() => new Response('who?', { status: 401 }))
  // Last: otherwise, the next server may get its port.
  const gone = servedBy(() => new Response())
  gone.close()
  try {
    const asked = await askScripted(app, {
      data: {
        mcp: [
          { name: 'gone', url: gone.url, tools: ['*'] },
          { name: 'locked', url: locked.url, tools: ['*'] },
        ],
      },
      turns: [says('Done.')],
    })
    const [first, second] = asked.warnings
    expect(first).toContain('The MCP server gone')
    expect(first).toContain('cannot be reached')
    expect(second).toContain('refuses the login (401): put its key into "headers"')
    expect(asked.system).toContain('refuses the login (401)')
  } finally {
    locked.close()
  }
})

test('a key goes to the server and is never shown, not even if the server repeats it', async () => {
  const server = handMadeServer(
    (request, message) =>
      textResult(
        message,
        `you sent ${request.headers.get('authorization')} to ${request.url} of the kind issues`,
      ),
    [ECHO],
  )
  try {
    const headers = { Authorization: 'Bearer s3cr3t-value-1' }
    const { seen } = await echoed(`${server.url}?set=issues&api_key=s3cr3t-value-2`, { headers })
    expect(seen).toContain('you sent ')
    expect(seen).toEndWith('of the kind issues')
    expect(seen).not.toContain('s3cr3t-value')
    const [request] = server.requests
    expect(request?.headers.get('authorization')).toBe('Bearer s3cr3t-value-1')
    expect(request?.url).toContain('s3cr3t-value-2')
    const shown = await app.send('GET', '/api/projects/mindsdb/agents')
    const traces = await app.send('GET', '/api/traces?limit=1')
    expect(traces.status).toBe(200)
    expect(shown.text + traces.text).not.toContain('s3cr3t-value')
  } finally {
    server.close()
  }
})

test('a redirect within the server is followed, as frameworks send one for a missing slash', async () => {
  const inner = handMadeServer((_, message) => textResult(message, 'ok'), [ECHO])
  const server = servedBy((request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/mcp')
      return new Response(null, { status: 307, headers: { location: '/mcp/' } })
    return fetch(inner.url, {
      method: request.method,
      headers: request.headers,
      body: request.body,
    })
  })
  try {
    expect((await echoed(server.url)).seen).toBe('ok')
  } finally {
    server.close()
    inner.close()
  }
})
