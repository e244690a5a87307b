import { beforeAll, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { type Received, send, type TestServer, testServer } from './server-fixture.ts'

const RIGHT = { username: 'ada', password: 'secret' }

interface Route {
  readonly line: string
  readonly isPublic: boolean
}

interface Described {
  readonly security?: readonly unknown[]
}

function lockedServer(): TestServer {
  const { deps } = testServer()
  return testServer({ settings: { ...deps.settings, ...RIGHT } })
}

async function loggedIn({ server }: TestServer): Promise<string> {
  const { json } = await send(server, 'POST /api/login', { json: RIGHT })
  return String(Object(json).token)
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Returns every route that the server describes, with a name for each parameter. */
async function describedRoutes(): Promise<readonly Route[]> {
  const locked = lockedServer()
  const headers = bearer(await loggedIn(locked))
  const { json } = await send(locked.server, 'GET /openapi.json', { headers })
  const paths: Readonly<Record<string, Readonly<Record<string, Described>>>> = Object(json).paths
  return Object.entries(paths).flatMap(([path, methods]) => {
    return Object.entries(methods).map(([method, { security }]) => ({
      line: `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, 'x')}`,
      isPublic: security?.length === 0,
    }))
  })
}

const ROUTES = await describedRoutes()

function segment(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Returns a JSON Web Token with the claims of the valid one. */
function forged(header: object, token: string, key: string): string {
  const claims = token.split('.')[1] ?? ''
  const signed = `${segment(header)}.${claims}`
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}

const HS256 = { alg: 'HS256', typ: 'JWT' }

interface Attempt {
  /** Appended to the path. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** For each attempt, what it sends, given a valid token. */
const ATTEMPTS: Readonly<Record<string, (token: string) => Attempt>> = {
  'no token': () => ({}),
  'an empty token': () => ({ headers: { authorization: 'Bearer ' } }),
  garbage: () => ({ headers: bearer('garbage') }),
  'garbage of three parts': () => ({ headers: bearer('a.b.c') }),
  'a long token': () => ({ headers: bearer('a'.repeat(8000)) }),
  'a cookie of garbage': () => ({ headers: { cookie: 'session=garbage' } }),
  'the algorithm none': (token) => {
    const unsigned = `${segment({ alg: 'none' })}.${token.split('.')[1]}.`
    return { headers: bearer(unsigned) }
  },
  'the algorithm none, with a signature': (token) => ({
    headers: bearer(forged({ alg: 'None' }, token, '')),
  }),
  'another key': (token) => ({ headers: bearer(forged(HS256, token, 'another key')) }),
  'an empty key': (token) => ({ headers: bearer(forged(HS256, token, '')) }),
  'no signature': (token) => ({ headers: bearer(token.split('.').slice(0, 2).join('.')) }),
  'changed claims': (token) => {
    const [header, , signature] = token.split('.')
    const claims = segment({ jti: 'id-1', exp: 9_999_999_999 })
    return { headers: bearer(`${header}.${claims}.${signature}`) }
  },
  'the token in the address': (token) => ({ query: `?token=${token}&access_token=${token}` }),
  'the token in another header': (token) => ({
    headers: { 'x-token': token, 'x-auth-token': token, 'x-session': 'a' },
  }),
  'the token as Basic': (token) => ({ headers: { authorization: `Basic ${btoa(token)}` } }),
  'the token alone': (token) => ({ headers: { authorization: token } }),
  'the password as a token': () => ({ headers: bearer(RIGHT.password) }),
  'the password as Basic': () => ({
    headers: { authorization: `Basic ${btoa(`${RIGHT.username}:${RIGHT.password}`)}` },
  }),
  'a cookie of another name': (token) => ({ headers: { cookie: `token=${token}` } }),
}

function request(locked: TestServer, { line }: Route, { query = '', headers }: Attempt) {
  const [method = '', path = ''] = line.split(' ')
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method)
  return send(locked.server, `${method} ${path}${query}`, {
    ...(hasBody ? { json: {} } : {}),
    ...(headers === undefined ? {} : { headers }),
  })
}

const PROBLEM_KEYS = ['code', 'detail', 'status', 'timestamp', 'title', 'type']

/** Checks that the answer says only who must be asked. */
function expectRefused({ status, headers, text }: Received): void {
  expect(status).toBe(401)
  expect(headers.get('www-authenticate')).toStartWith('Bearer')
  const told = JSON.parse(text)
  // OpenAI's API has its own form of errors.
  const keys = told.error === undefined ? PROBLEM_KEYS : ['message', 'type', 'param', 'code']
  expect(Object.keys(told.error ?? told).sort()).toEqual(keys.toSorted())
}

test('the routes are those of the document, most of them closed', () => {
  expect(ROUTES.length).toBeGreaterThan(40)
  const open = ROUTES.filter(({ isPublic }) => isPublic).map(({ line }) => line)
  expect(open.sort()).toEqual(
    [
      ...['GET /', 'GET /docs', 'GET /docs/api', 'GET /api/status', 'GET /api/util/ping'],
      ...['GET /healthz', 'POST /api/login'],
    ].sort(),
  )
})

describe('each closed route is refused with', () => {
  const closed = ROUTES.filter(({ isPublic }) => !isPublic)
  let locked: TestServer
  let token: string
  beforeAll(async () => {
    locked = lockedServer()
    token = await loggedIn(locked)
  })

  for (const [what, attempt] of Object.entries(ATTEMPTS)) {
    test(what, async () => {
      for (const route of closed) {
        expectRefused(await request(locked, route, attempt(token)))
        const slashed = { ...route, line: `${route.line}/` }
        expectRefused(await request(locked, slashed, attempt(token)))
      }
    })
  }

  test('a token that has expired', async () => {
    const late = lockedServer()
    const headers = bearer(await loggedIn(late))
    late.clock.nowMs += 3601 * 1000
    for (const route of closed) expectRefused(await request(late, route, { headers }))
  })

  test('a token that was logged out', async () => {
    const left = lockedServer()
    const headers = bearer(await loggedIn(left))
    expect((await send(left.server, 'POST /api/logout', { headers })).status).toBe(200)
    for (const route of closed) expectRefused(await request(left, route, { headers }))
  })

  test('a token of a server with another password', async () => {
    const { deps } = testServer()
    const other = testServer({ settings: { ...deps.settings, ...RIGHT, password: 'changed' } })
    for (const route of closed) {
      expectRefused(await request(other, route, { headers: bearer(token) }))
    }
  })

  test('and with the right token, as a bearer and as a cookie, it is not', async () => {
    for (const headers of [bearer(token), { cookie: `session=${token}` }]) {
      // A new server is used for each, because one of the routes is the logout.
      for (const route of closed) {
        const { status } = await request(lockedServer(), route, { headers: { ...headers } })
        expect(status).not.toBe(401)
      }
    }
  })
})

test('each public route answers without a token', async () => {
  for (const route of ROUTES.filter(({ isPublic }) => isPublic)) {
    expect((await request(lockedServer(), route, {})).status).not.toBe(401)
  }
})
