import { expect, test } from 'bun:test'
import { clientOptionsOf, httpClient } from '../../src/cli/http-client.ts'

interface Seen {
  readonly method: string
  readonly path: string
  readonly authorization: string | null
  readonly body: string
}

/** A server that answers by path and remembers its requests. */
function fakeServer(answers: Readonly<Record<string, () => Response>>) {
  const seen: Seen[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { pathname: path } = new URL(request.url)
      const authorization = request.headers.get('authorization')
      seen.push({ method: request.method, path, authorization, body: await request.text() })
      return answers[path]?.() ?? Response.json({ title: 'Not found' }, { status: 404 })
    },
  })
  return { seen, url: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) }
}

const STATUS = { eider_version: '0.1.0' }

test('a key is sent as a bearer token', async () => {
  await using server = fakeServer({ '/api/status': () => Response.json(STATUS) })
  const client = httpClient({ url: `${server.url}/`, apiKey: 'k1' })
  expect(await client.send('GET', '/api/status')).toEqual(STATUS)
  expect(server.seen).toEqual([
    { method: 'GET', path: '/api/status', authorization: 'Bearer k1', body: '' },
  ])
})

test('without a key it logs in once, with name and password', async () => {
  await using server = fakeServer({
    '/api/login': () => Response.json({ token: 't1' }),
    '/api/backups': () => Response.json([]),
  })
  const client = httpClient({ url: server.url, username: 'ann', password: 'p' })
  await Promise.all([client.send('GET', '/api/backups'), client.send('GET', '/api/backups')])
  expect(server.seen.map(({ path, authorization, body }) => [path, authorization, body])).toEqual([
    ['/api/login', null, '{"username":"ann","password":"p"}'],
    ['/api/backups', 'Bearer t1', ''],
    ['/api/backups', 'Bearer t1', ''],
  ])
})

test('an expired login is renewed, once', async () => {
  let count = 0
  await using server = fakeServer({
    '/api/login': () => Response.json({ token: `t${++count}` }),
    '/mcp': () => (count < 2 ? Response.json({}, { status: 401 }) : Response.json('in')),
    '/api/keys': () => Response.json({}, { status: 401 }),
  })
  const client = httpClient({ url: server.url, username: 'ann', password: 'p' })
  const both = [client.send('POST', '/mcp', { json: 1 }), client.send('POST', '/mcp', { json: 1 })]
  expect(await Promise.all(both)).toEqual(['in', 'in'])
  expect(count).toBe(2)
  await expect(client.send('GET', '/api/keys')).rejects.toMatchObject({ status: 401 })
  expect(count).toBe(3)
})

test("a refusal is shown in the server's own words, with its code", async () => {
  const refusals = {
    title: 'Unauthorized',
    detail: 'Authorization is required',
    code: 'unauthorized',
  }
  await using server = fakeServer({ '/api/status': () => Response.json(refusals, { status: 401 }) })
  const client = httpClient({ url: server.url })
  await expect(client.send('GET', '/api/status')).rejects.toMatchObject({
    message: expect.stringContaining('Authorization is required. Set EIDER_API_KEY'),
    code: 'unauthorized',
    status: 401,
  })
})

test('a missing server and one that is not Eider are distinguished', async () => {
  await using server = fakeServer({ '/api/status': () => new Response('<html>') })
  const client = httpClient({ url: server.url })
  await expect(client.send('GET', '/api/status')).rejects.toThrow('is not Eider')
  await server[Symbol.asyncDispose]()
  await expect(client.send('GET', '/api/status')).rejects.toMatchObject({ code: 'no_server' })
})

test('a key is sent to no other address', async () => {
  await using other = fakeServer({ '/api/status': () => Response.json({}) })
  await using server = fakeServer({
    '/api/status': () => Response.redirect(`${other.url}/api/status`),
  })
  const client = httpClient({ url: server.url, apiKey: 'k' })
  await expect(client.send('GET', '/api/status')).rejects.toThrow()
  expect(other.seen).toEqual([])
})

test('the address is EIDER_URL, else where a server with these settings listens', () => {
  const url = (host: string) => clientOptionsOf({ EIDER_HOST: host, EIDER_PORT: '99' }).url
  expect(clientOptionsOf({}).url).toBe('http://127.0.0.1:47334')
  expect(clientOptionsOf({ EIDER_PORT: '99' }).url).toBe('http://127.0.0.1:99')
  expect(url('192.168.1.5')).toBe('http://192.168.1.5:99')
  expect([url('::1'), url('[fd00::1]')]).toEqual(['http://[::1]:99', 'http://[fd00::1]:99'])
  expect(['0.0.0.0', '::', '[::]'].map(url)).toEqual(Array(3).fill('http://127.0.0.1:99'))
  expect(clientOptionsOf({ EIDER_URL: 'https://h/eider/' }).url).toBe('https://h/eider')
  expect(() => clientOptionsOf({ EIDER_URL: 'h:1' })).toThrow('EIDER_URL')
  expect(() => clientOptionsOf({ EIDER_USERNAME: 'ann' })).toThrow('EIDER_PASSWORD is missing')
})

test('a login in EIDER_URL is used, and in no address that is shown', () => {
  expect(clientOptionsOf({ EIDER_URL: 'http://ann:s%40crt@h:1' })).toEqual({
    url: 'http://h:1',
    apiKey: undefined,
    username: 'ann',
    password: 's@crt',
  })
  expect(() => clientOptionsOf({ EIDER_URL: 'x://ann:secret@h' })).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') }),
  )
})
