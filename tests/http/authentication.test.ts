import { describe, expect, test } from 'bun:test'
import type { ServerDeps } from '../../src/api/http/request/route-context.ts'
import { callerOf } from '../../src/core/runtime/cancellation.ts'
import { type Received, send, type TestServer, testServer } from './server-fixture.ts'

const RIGHT = { username: 'ada', password: 'pässword=1' }

function lockedServer(overrides: Partial<ServerDeps> = {}): TestServer {
  const { deps } = testServer()
  return testServer({ ...overrides, settings: { ...deps.settings, ...RIGHT } })
}

async function login({ server }: TestServer): Promise<{ token: string; cookie: string }> {
  const { json, headers } = await send(server, 'POST /api/login', { json: RIGHT })
  const token = String(Object(json).token)
  return { token, cookie: headers.get('set-cookie') ?? '' }
}

function projectsWith({ server }: TestServer, headers: Record<string, string>): Promise<Received> {
  return send(server, 'GET /api/projects', { headers })
}

describe('with a login', () => {
  const CLOSED = [
    'GET /api/projects/',
    'POST /api/sql/query',
    'PUT /api/files/x',
    'POST /api/logout',
    'GET /api/config',
    'GET /api/util/readiness',
    'HEAD /api/projects',
  ]
  for (const line of CLOSED) {
    test(`${line} needs a token`, async () => {
      const { status, headers, json } = await send(lockedServer().server, line)
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toStartWith('Bearer')
      if (line.startsWith('HEAD')) return
      expect(json).toMatchObject({
        title: 'Unauthorized',
        code: 'unauthorized',
        detail: expect.stringMatching(
          /^Authorization is required to complete the request: send a token of POST \/api\/login/,
        ),
      })
    })
  }

  const OPEN = [
    'GET /api/status',
    'GET /api/status/',
    'GET /api/util/ping/',
    'HEAD /healthz',
    'GET /healthz',
    'GET /',
    'GET /favicon.ico',
    'GET /docs',
    'GET /openapi.json',
  ]
  for (const line of OPEN) {
    test(`${line} is public`, async () => {
      expect((await send(lockedServer().server, line)).status).toBe(200)
    })
  }

  test('an unknown path is 404, a wrong method 405', async () => {
    const { server } = lockedServer()
    expect((await send(server, 'GET /api/nothing')).status).toBe(404)
    expect((await send(server, 'POST /cloud/login')).status).toBe(404)
    expect((await send(server, 'GET /api/login')).status).toBe(405)
  })

  test('the token is checked before the body is read', async () => {
    const body = new ReadableStream({
      pull() {
        throw new Error('read')
      },
    })
    const headers = { 'content-type': 'application/json' }
    const { status } = await send(lockedServer().server, 'POST /api/sql/query', { body, headers })
    expect(status).toBe(401)
  })

  test('valid credentials give a token that works as bearer, in any case, and as cookie', async () => {
    const fixture = lockedServer()
    const { token, cookie } = await login(fixture)
    expect(cookie).toBe(`session=${token}; Max-Age=3600; Path=/; HttpOnly; SameSite=Lax`)
    expect(token).not.toContain('=')
    const ways = [
      { authorization: `Bearer ${token}` },
      { authorization: `bearer ${token}` },
      { authorization: `BEARER  ${token}` },
      { cookie: `a=b; session=${token}` },
      { authorization: 'Basic abc', cookie: `session=${token}` },
    ]
    for (const headers of ways) expect((await projectsWith(fixture, headers)).status).toBe(200)
  })

  test('a login has its own share of the server, from any address', async () => {
    const callers: (string | undefined)[] = []
    const { deps } = testServer()
    const query: ServerDeps['query'] = (request, principal, signal) => {
      callers.push(callerOf(signal))
      return deps.query(request, principal, signal)
    }
    const locked = lockedServer({ query })
    const json = { query: 'SELECT 1' }
    for (const { token } of [await login(locked), await login(locked)]) {
      const headers = { authorization: `Bearer ${token}` }
      for (let round = 0; round < 2; round += 1) {
        await send(locked.server, 'POST /api/sql/query', { json, headers })
      }
    }
    await send(testServer({ query }).server, 'POST /api/sql/query', { json })
    const [first, again, second, secondAgain, open] = callers
    expect([first, second, open]).toEqual([again, secondAgain, 'unknown'])
    expect(new Set(callers).size).toBe(3)
  })

  test('nothing else grants access', async () => {
    const fixture = lockedServer()
    const { token } = await login(fixture)
    // A valid token does not make similar ones valid.
    expect((await projectsWith(fixture, { authorization: `Bearer ${token}` })).status).toBe(200)
    const [header, payload, signature = ''] = token.split('.')
    const none = btoa('{"alg":"none"}').replaceAll('=', '')
    const forged = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    const ways = [
      { authorization: token },
      { authorization: `Basic ${token}` },
      { authorization: 'Bearer' },
      { authorization: `Bearer ${forged}` },
      { authorization: `Bearer ${none}.${payload}.` },
      { authorization: `Bearer ${'x'.repeat(5000)}` },
      { 'x-api-key': token },
      { cookie: `other=${token}` },
    ]
    for (const headers of ways) expect((await projectsWith(fixture, headers)).status).toBe(401)
  })

  test('a token ends with its time', async () => {
    const fixture = lockedServer()
    const { token } = await login(fixture)
    fixture.clock.nowMs += 3_599_000
    expect((await projectsWith(fixture, { authorization: `Bearer ${token}` })).status).toBe(200)
    fixture.clock.nowMs += 2_000
    const { status, json } = await projectsWith(fixture, { authorization: `Bearer ${token}` })
    expect([status, Object(json).detail]).toEqual([401, expect.stringContaining('has expired')])
  })

  test('a token outlives a restart, but not a change of the password', async () => {
    const before = lockedServer()
    const headers = { authorization: `Bearer ${(await login(before)).token}` }
    expect((await projectsWith(lockedServer(), headers)).status).toBe(200)
    const settings = { ...before.deps.settings, password: 'another' }
    expect((await projectsWith(testServer({ settings }), headers)).status).toBe(401)
  })

  test('logout ends this session only, and clears the cookie', async () => {
    const fixture = lockedServer()
    const first = await login(fixture)
    const second = await login(fixture)
    const headers = { authorization: `Bearer ${first.token}` }
    const {
      status,
      text,
      headers: answered,
    } = await send(fixture.server, 'POST /api/logout', { headers })
    expect([status, text]).toEqual([200, '""'])
    expect(answered.get('set-cookie')).toStartWith('session=; Max-Age=0')
    expect((await projectsWith(fixture, headers)).status).toBe(401)
    expect((await projectsWith(fixture, { cookie: `session=${first.token}` })).status).toBe(401)
    expect((await projectsWith(fixture, { cookie: `session=${second.token}` })).status).toBe(200)
  })

  test('the cookie is for TLS alone where the client came by it', async () => {
    const fixture = lockedServer()
    const { server } = fixture
    const cookieFor = async (headers: Record<string, string>, line = 'POST /api/login') => {
      const answer = await send(server, line, { json: RIGHT, headers })
      return answer.headers.get('set-cookie') ?? ''
    }
    const named = { host: 'eider.example' }
    const tls = { ...named, origin: 'https://eider.example' }
    expect(await cookieFor(tls)).toEndWith('; HttpOnly; SameSite=Lax; Secure')
    expect(await cookieFor({ ...named, 'x-forwarded-proto': 'https' })).toEndWith('; Secure')
    expect(await cookieFor({ ...named, 'x-forwarded-proto': 'https, http' })).toEndWith('; Secure')
    const plain = { ...named, origin: 'http://eider.example' }
    // The browser decides, because it would lose a cookie that requires TLS.
    expect(await cookieFor({ ...plain, 'x-forwarded-proto': 'https' })).not.toContain('Secure')
    expect(await cookieFor({ ...named, 'x-forwarded-proto': 'http' })).not.toContain('Secure')
    expect(await cookieFor(named)).not.toContain('Secure')
    const { token } = await login(fixture)
    const again = { ...tls, authorization: `Bearer ${token}` }
    expect(await cookieFor(again, 'POST /api/logout')).toEndWith('; Secure')
  })

  test('status says whether the caller is logged in', async () => {
    const fixture = lockedServer()
    const { token } = await login(fixture)
    const auth = { http_auth_enabled: true, provider: 'local' }
    const without = await send(fixture.server, 'GET /api/status')
    expect(without.json).toMatchObject({ auth: { ...auth, confirmed: false } })
    const headers = { authorization: `Bearer ${token}` }
    const withToken = await send(fixture.server, 'GET /api/status', { headers })
    const scopes = ['read', 'write', 'ask', 'admin']
    expect(withToken.json).toMatchObject({
      auth: { ...auth, confirmed: true },
      principal: { kind: 'user', id: '0', name: 'ada', scopes, projects: null },
    })
    expect(without.json).not.toHaveProperty('principal')
  })
})

describe('POST /api/login', () => {
  test('ignores what it does not need', async () => {
    const json = { ...RIGHT, email: 'ada@example.com', other: [1] }
    const { status } = await send(lockedServer().server, 'POST /api/login', { json })
    expect(status).toBe(200)
  })

  const MALFORMED = [
    {},
    { username: 'ada' },
    { username: '', password: '' },
    { username: 1, password: {} },
  ]
  for (const json of MALFORMED) {
    test(`${JSON.stringify(json)} is 400`, async () => {
      const answer = await send(lockedServer().server, 'POST /api/login', { json })
      expect(answer.status).toBe(400)
      expect(answer.json).toMatchObject({ title: 'Error in username or password' })
    })
  }

  const WRONG = [
    { ...RIGHT, password: 'x' },
    { ...RIGHT, username: 'x' },
    { ...RIGHT, password: `${RIGHT.password} ` },
  ]
  for (const json of WRONG) {
    test(`${JSON.stringify(json)} is 401 without a token`, async () => {
      const answer = await send(lockedServer().server, 'POST /api/login', { json })
      expect(answer.status).toBe(401)
      expect(answer.json).toMatchObject({
        title: 'Forbidden',
        detail: 'Invalid username or password',
      })
      expect(answer.headers.get('set-cookie')).toBeNull()
      expect(answer.text).not.toContain(RIGHT.password)
    })
  }

  test('a large body is not read from someone unknown', async () => {
    const json = { ...RIGHT, email: 'x'.repeat(20_000) }
    const { status } = await send(lockedServer().server, 'POST /api/login', { json })
    expect(status).toBe(413)
  })
})

test('how busy the server is stays hidden from those who are not logged in', async () => {
  const { server, deps } = testServer({ settings: { ...testServer().deps.settings, ...RIGHT } })
  const hidden = await send(server, 'GET /api/status')
  expect(hidden.json).not.toHaveProperty('statements')
  const { token } = (await send(server, 'POST /api/login', { json: RIGHT })).json as {
    token: string
  }
  const headers = { authorization: `Bearer ${token}` }
  const shown = await send(server, 'GET /api/status', { headers })
  expect(shown.json).toMatchObject(deps.serverState())
})

test('without a login everything is open, and who logs in anyway gets a token', async () => {
  const fixture = testServer()
  expect((await send(fixture.server, 'GET /api/projects')).status).toBe(200)
  const answer = await send(fixture.server, 'POST /api/login', { json: RIGHT })
  expect(answer.json).toEqual({ token: expect.any(String) })
  const status = await send(fixture.server, 'GET /api/status')
  expect(status.json).toMatchObject({
    mindsdb_version: '25.9.1.2',
    eider_version: '0.1.0',
    environment: 'local',
    auth: { confirmed: true, http_auth_enabled: false, provider: 'disabled' },
    indexes: {
      exact: { possible: true },
      ivf: { possible: true },
      hnsw: { possible: false, reason: 'The vss extension was not found' },
    },
  })
})

describe('a change that a page of another site asks for', () => {
  const change = (headers: Record<string, string>, isLoopback = true) => {
    const settings = { ...testServer().deps.settings, isLoopback }
    const { server } = testServer({ settings })
    return send(server, 'POST /api/projects', { json: { name: 'p' }, headers })
  }
  const REFUSED: readonly Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { origin: 'http://evil.example', host: 'evil.example' },
  ]
  for (const headers of REFUSED) {
    test(`is refused with ${JSON.stringify(headers)}`, async () => {
      const { status, json } = await change(headers)
      expect(status).toBe(403)
      expect(json).toMatchObject({ code: 'forbidden_origin' })
    })
  }

  test('the own page and clients without an origin are let in', async () => {
    expect((await change({ origin: 'http://localhost' })).status).toBe(201)
    expect(
      (await change({ origin: 'http://127.0.0.1:47334', host: '127.0.0.1:47334' })).status,
    ).toBe(201)
    expect((await change({})).status).toBe(201)
    const named = { origin: 'https://eider.example', host: 'eider.example' }
    expect((await change(named, false)).status).toBe(201)
  })
})

test('the page is let in behind a proxy with a name, where there is a login', async () => {
  const fixture = lockedServer()
  const { token } = await login(fixture)
  const named = { host: 'eider.example', cookie: `session=${token}` }
  const change = (origin: string) => {
    const headers = { ...named, origin }
    return send(fixture.server, 'POST /api/projects', { json: { name: 'p' }, headers })
  }
  expect((await change('https://evil.example')).status).toBe(403)
  expect((await change('https://eider.example')).status).toBe(201)
})

describe('a name that is not this machine’s own', () => {
  const asked = (
    host: string,
    { isLoopback = true, hasLogin = false, line = 'GET /healthz' } = {},
  ) => {
    const settings = { ...testServer().deps.settings, isLoopback, ...(hasLogin ? RIGHT : {}) }
    return send(testServer({ settings }).server, line, { headers: { host } })
  }
  const LINES = [
    'GET /healthz',
    'GET /',
    'GET /openapi.json',
    'GET /api/projects',
    'GET /no',
    'OPTIONS /',
  ]
  for (const line of LINES) {
    test(`${line} is refused under it, with nothing but the login off`, async () => {
      const { status, json } = await asked('evil.example:47334', { line })
      expect(status).toBe(403)
      expect(json).toMatchObject({
        code: 'forbidden_origin',
        detail:
          'The Host "evil.example:47334" does not name this machine; open Eider by its loopback ' +
          'address (localhost or 127.0.0.1), or turn the login on',
      })
    })
  }

  const FOREIGN = [
    'localhost.evil.example',
    'evil-localhost',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '[::2]',
    '',
  ]
  for (const host of FOREIGN) {
    test(`${JSON.stringify(host)} is one`, async () => {
      expect((await asked(host)).status).toBe(403)
    })
  }

  const OWN = [
    'localhost',
    'LOCALHOST:47334',
    'kb.localhost:1',
    '127.0.0.1',
    '127.1.2.3:80',
    '[::1]:47334',
  ]
  for (const host of OWN) {
    test(`${host} is none`, async () => {
      expect((await asked(host)).status).toBe(200)
    })
  }

  test('is answered with the login on, or where others may reach the server', async () => {
    expect((await asked('kb.example', { hasLogin: true })).status).toBe(200)
    expect((await asked('kb.example', { isLoopback: false })).status).toBe(200)
  })
})
