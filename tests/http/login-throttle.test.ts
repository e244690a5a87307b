import { describe, expect, test } from 'bun:test'
import { request } from 'node:http'
import type { ServerDeps } from '../../src/api/http/request/route-context.ts'
import { ANYONE } from '../../src/core/domain/access/principal.ts'
import type { KnownUser, Users } from '../../src/core/domain/ports/access-ports.ts'
import { NO_USERS } from '../support/access-keys.ts'
import { requestOf, type TestServer, testServer } from './server-fixture.ts'

const RIGHT = { username: 'ada', password: 'right' }
const HERE = '198.51.100.7'
const ELSEWHERE = '203.0.113.9'

function lockedServer(overrides: Partial<ServerDeps> = {}): TestServer {
  const { settings } = testServer().deps
  return testServer({ ...overrides, settings: { ...settings, ...RIGHT } })
}

/** A server whose wrong attempts wait until the test continues them. */
function patientServer() {
  const waits: (() => void)[] = []
  const fixture = lockedServer({
    sleep: (_ms, signal) => {
      return new Promise<void>((resolve, reject) => {
        waits.push(resolve)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
    },
  })
  const letGo = () => {
    for (const resolve of waits.splice(0)) resolve()
  }
  return { fixture, waits, letGo }
}

interface Tried {
  readonly password?: string
  readonly username?: string
  readonly address?: string
  readonly signal?: AbortSignal
}

async function attempt({ server }: TestServer, tried: Tried = {}): Promise<Response> {
  const { address = HERE, signal, ...sent } = tried
  const init = { json: { ...RIGHT, ...sent }, ...(signal === undefined ? {} : { signal }) }
  return server.handle(requestOf('POST /api/login', init), { address, port: 1 })
}

function wrongly(fixture: TestServer, count: number, tried: Tried = {}): Promise<Response>[] {
  return Array.from({ length: count }, () => attempt(fixture, { password: 'wrong', ...tried }))
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

describe('the right password', () => {
  for (const [where, address] of [
    ['the same address', HERE],
    ['another address', ELSEWHERE],
  ] as const) {
    test(`is answered at once while wrong ones wait, from ${where}`, async () => {
      const { fixture, waits, letGo } = patientServer()
      const wrong = wrongly(fixture, 32)
      await until(() => waits.length === 32)
      expect((await attempt(fixture, { address })).status).toBe(200)
      expect(waits.length).toBe(32)
      letGo()
      for (const response of await Promise.all(wrong)) expect(response.status).toBe(401)
    })
  }

  test('makes the next wrong one of its client wait the first delay again', async () => {
    const fixture = lockedServer()
    for (const response of wrongly(fixture, 6)) await response
    expect(fixture.delays).toEqual([250, 500, 1000, 1000, 1000, 1000])
    await attempt(fixture)
    await attempt(fixture, { password: 'wrong' })
    expect(fixture.delays.at(-1)).toBe(250)
  })
})

describe('wrong ones', () => {
  test('of one client and name wait longer and longer; others start over', async () => {
    const fixture = lockedServer()
    await Promise.all(wrongly(fixture, 3))
    await Promise.all(wrongly(fixture, 2, { address: ELSEWHERE }))
    await Promise.all(wrongly(fixture, 2, { username: 'bob' }))
    expect(fixture.delays).toEqual([250, 500, 1000, 250, 500, 250, 500])
  })

  test('start over after a quiet quarter of an hour', async () => {
    const fixture = lockedServer()
    await Promise.all(wrongly(fixture, 3))
    fixture.clock.nowMs += 16 * 60_000
    await attempt(fixture, { password: 'wrong' })
    expect(fixture.delays.at(-1)).toBe(250)
  })

  test('in parallel have an end: the rest is refused unchecked, for this client only', async () => {
    const { fixture, waits, letGo } = patientServer()
    const wrong = wrongly(fixture, 64)
    await until(() => waits.length === 64)
    for (const password of ['wrong', RIGHT.password]) {
      const refused = await attempt(fixture, { password })
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
      expect(await refused.json()).toMatchObject({ code: 'too_many_logins' })
    }
    expect((await attempt(fixture, { address: ELSEWHERE })).status).toBe(200)
    letGo()
    await Promise.all(wrong)
  })

  test('whose client hangs up count until their delay is over', async () => {
    const { fixture, waits } = patientServer()
    const gone = new AbortController()
    const wrong = wrongly(fixture, 64, { signal: gone.signal })
    await until(() => waits.length === 64)
    gone.abort()
    await Promise.all(wrong)
    expect((await attempt(fixture)).status).toBe(429)
    fixture.clock.nowMs += 1_001
    expect((await attempt(fixture)).status).toBe(200)
  })

  test('from one IPv6 network are those of one client', async () => {
    const fixture = lockedServer()
    for (const address of ['2001:db8::1', '2001:db8::ffff:2', '2001:db8:0:1::1']) {
      await attempt(fixture, { password: 'wrong', address })
    }
    expect(fixture.delays).toEqual([250, 500, 250])
  })

  test('from many addresses slow down the name they guess at, but no one with the right password', async () => {
    const fixture = lockedServer()
    for (let index = 0; index < 900; index++) {
      await attempt(fixture, { password: 'wrong', address: `10.0.${index >> 8}.${index & 255}` })
    }
    for (const response of wrongly(fixture, 7, { address: ELSEWHERE })) await response
    expect(fixture.delays.slice(-7)).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000])
    for (const response of wrongly(fixture, 5, { username: 'bob' })) await response
    expect(fixture.delays.at(-1)).toBe(1000)
    expect((await attempt(fixture, { address: ELSEWHERE })).status).toBe(200)
  })

  test('wait the same under a right name and under a wrong one', async () => {
    const seen = await Promise.all(
      [RIGHT.username, 'nobody'].map(async (username) => {
        const fixture = lockedServer()
        const responses = await Promise.all(wrongly(fixture, 66, { username }))
        const bodies = responses.map(async (response) => [response.status, await response.text()])
        return JSON.stringify([fixture.delays, await Promise.all(bodies)])
      }),
    )
    expect(seen[0]).toBe(seen[1])
  })

  test('of very many clients hear at once that they were wrong', async () => {
    const { fixture, waits, letGo } = patientServer()
    const wrong = Array.from({ length: 1_000 }, (_, index) => {
      return attempt(fixture, { password: 'wrong', address: `10.1.${index >> 8}.${index & 255}` })
    })
    await until(() => waits.length === 1_000)
    expect((await attempt(fixture, { password: 'wrong', address: ELSEWHERE })).status).toBe(401)
    expect((await attempt(fixture, { address: ELSEWHERE })).status).toBe(200)
    letGo()
    await Promise.all(wrong)
  })
})

/** Sends one login over a connection from an address of this machine. */
function statusFrom(localAddress: string, port: number, password: string): Promise<number> {
  const answer = Promise.withResolvers<number>()
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1' }
  const path = '/api/login'
  const sent = request({ host: '127.0.0.1', port, path, method: 'POST', localAddress, headers })
  sent.on('response', (response) => {
    response.resume()
    answer.resolve(response.statusCode ?? 0)
  })
  sent.on('error', answer.reject)
  sent.end(JSON.stringify({ ...RIGHT, password }))
  return answer.promise
}

test('a client is known by its connection, not by its headers', async () => {
  const { fixture, waits, letGo } = patientServer()
  const listener = fixture.server.listen({ hostname: '127.0.0.1', port: 0 })
  const port = Number(listener.url.port)
  const wrong = Array.from({ length: 64 }, () => statusFrom('127.0.0.1', port, 'wrong'))
  await until(() => waits.length === 64)
  expect(await statusFrom('127.0.0.1', port, RIGHT.password)).toBe(429)
  expect(await statusFrom('127.0.0.2', port, RIGHT.password)).toBe(200)
  letGo()
  expect(new Set(await Promise.all(wrong))).toEqual(new Set([401]))
  await listener.stop(0)
})

describe('a login whose password takes time to compare', () => {
  const EVE = { username: 'eve', password: 'right' }
  const eve: KnownUser = {
    id: 5,
    mark: 'm',
    principal: { ...ANYONE, kind: 'user', id: '5', name: 'eve' },
  }

  /** A server whose comparisons wait until the test continues them. */
  function comparingServer() {
    const compared: { readonly client: string; go(): void }[] = []
    const users: Users = {
      ...NO_USERS,
      named: (name) => (name === EVE.username ? eve : undefined),
      known: () => eve,
      isPassword: (_id, password, client) => {
        return new Promise((resolve) => {
          compared.push({ client, go: () => resolve(password === EVE.password) })
        })
      },
    }
    return { compared, fixture: lockedServer({ users }) }
  }

  test('counts while it is compared: guesses at once have an end, for their client only', async () => {
    const { compared, fixture } = comparingServer()
    const wrong = wrongly(fixture, 64, { username: 'eve' })
    await until(() => compared.length === 64)
    expect((await attempt(fixture, EVE)).status).toBe(429)
    const owner = attempt(fixture, { ...EVE, address: ELSEWHERE })
    await until(() => compared.length === 65)
    expect(compared[64]?.client).not.toBe(compared[0]?.client)
    compared[64]?.go()
    expect((await owner).status).toBe(200)
    // Other users behind the same proxy are not delayed.
    expect((await attempt(fixture)).status).toBe(200)
    for (const { go } of compared) go()
    expect(new Set((await Promise.all(wrong)).map(({ status }) => status))).toEqual(new Set([401]))
  })

  test('waits as long under a right name as under a wrong one', async () => {
    const { compared, fixture } = comparingServer()
    const [right] = wrongly(fixture, 1, { username: 'eve' })
    await until(() => compared.length === 1)
    fixture.clock.nowMs += 100
    compared[0]?.go()
    await right
    expect(fixture.delays).toEqual([150])
  })

  test('of an unknown name compares nothing', async () => {
    const { compared, fixture } = comparingServer()
    for (let index = 0; index < 100; index++) {
      await attempt(fixture, { username: `nobody ${index}`, password: 'x' })
    }
    expect(compared.length).toBe(0)
  })
})
