/** Requests begin in turns of the event loop, so that a flood of them leaves time for earlier ones. */
import { afterEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Peer } from '../../src/api/http/access/rate-limits.ts'
import type { Listener } from '../../src/api/http/listen.ts'
import { requestOf, type TestServer, testServer } from './server-fixture.ts'

const listeners: Listener[] = []

afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.stop(0)
})

const PING = 'GET /api/util/ping'

function from({ server }: TestServer, peer: Peer, line = PING): Promise<Response> {
  return server.handle(requestOf(line, {}), peer)
}

/** Sends the first requests of connections. */
function fromNew(fixture: TestServer, count: number, address: string, firstPort = 1) {
  return Array.from({ length: count }, (_, index) => {
    return from(fixture, { address, port: firstPort + index })
  })
}

/** Counts how often each status occurred. */
async function statuses(answers: readonly Promise<Response>[]): Promise<Record<number, number>> {
  const found = (await Promise.all(answers)).map(({ status }) => status)
  return Object.fromEntries([200, 429].map((one) => [one, found.filter((s) => s === one).length]))
}

/** Computes for a few milliseconds. */
function compute(): void {
  createHash('sha256').update(Buffer.alloc(4_000_000)).digest()
}

test('a statement is answered during a flood of connections, not after it', async () => {
  const requests = 450
  const begun = Promise.withResolvers<void>()
  let floodCount = 0
  const fixture = testServer({
    sqlFunctions: async () => {
      compute()
      floodCount += 1
      if (floodCount === 20) begun.resolve()
      return []
    },
    query: async ({ db }) => {
      // Like DuckDB, this takes several steps, each of which returns through the event loop.
      for (let step = 0; step < 3; step += 1) await Bun.file(import.meta.path).bytes()
      return { kind: 'ok', affectedRows: 0, context: { db } }
    },
  })
  const listener = fixture.server.listen({ hostname: '127.0.0.1', port: 0 })
  listeners.push(listener)
  const url = new URL('/api/sql/query', listener.url)
  const flood = [listener.url.port, '{"path":"/api/sql/functions"}', '8', String(requests)]
  const program = join(import.meta.dir, '../../bench/connection-flood.ts')
  const child = Bun.spawn([process.execPath, program, ...flood], { stderr: 'inherit' })
  await begun.promise
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: '{"query":"SELECT 1"}' })
  expect(await answer.json()).toMatchObject({ type: 'ok' })
  expect(floodCount).toBeLessThan(requests / 2)
  expect(await child.exited).toBe(0)
})

test('simultaneous requests that compute start in separate turns of the event loop', async () => {
  let turn = 0
  let isOver = false
  const count = () => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  const turns: number[] = []
  const fixture = testServer({
    sqlFunctions: async () => {
      turns.push(turn)
      compute()
      return []
    },
  })
  count()
  const lines = Array.from({ length: 20 }, () => 'GET /api/sql/functions')
  const peer = { address: '192.0.2.1', port: 1 }
  await Promise.all(lines.map((line) => from(fixture, peer, line)))
  isOver = true
  expect(turns[0]).toBeGreaterThan(1)
  expect(new Set(turns).size).toBe(lines.length)
})

test('requests over known connections come first, and new ones still get in between', async () => {
  const fixture = testServer()
  const known = { address: '192.0.2.1', port: 1 }
  await from(fixture, known)
  const order: string[] = []
  const noted = async (answer: Promise<Response>, name: string) => {
    await answer
    order.push(name)
  }
  const others = fromNew(fixture, 4, '192.0.2.2').map((answer) => noted(answer, 'new'))
  const own = Array.from({ length: 7 }, () => noted(from(fixture, known), 'known'))
  await Promise.all([...others, ...own])
  const three = ['known', 'known', 'known']
  expect(order).toEqual([...three, 'new', ...three, 'new', 'known', 'new', 'new'])
})

test('a client that opens connection after connection waits, then is refused', async () => {
  const fixture = testServer()
  const { delays, clock } = fixture
  expect(await statuses(fromNew(fixture, 500, '192.0.2.1'))).toEqual({ 200: 500, 429: 0 })
  expect(delays).toEqual([])

  // The rate is one in 5 ms, and nothing waits longer than two seconds.
  expect(await statuses(fromNew(fixture, 410, '192.0.2.1', 1_000))).toEqual({ 200: 400, 429: 10 })
  expect(delays.map(Math.round).slice(0, 3)).toEqual([5, 10, 15])
  expect(delays.length).toBe(400)

  const refused = await from(fixture, { address: '192.0.2.1', port: 2_000 }, 'GET /v1/models')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.text()).toContain('opens more than 200 connections a second')

  // Its existing connections and those of others are not affected.
  await from(fixture, { address: '192.0.2.1', port: 1_001 })
  expect(await statuses(fromNew(fixture, 64, '192.0.2.2'))).toEqual({ 200: 64, 429: 0 })
  expect(delays.length).toBe(400)

  clock.nowMs += 60_000
  expect(await statuses(fromNew(fixture, 500, '192.0.2.1', 3_000))).toEqual({ 200: 500, 429: 0 })
  expect(delays.length).toBe(400)
})

test('an IPv6 client is identified by its network, not by its address', async () => {
  const fixture = testServer()
  await statuses(fromNew(fixture, 500, '2001:db8::1'))
  await from(fixture, { address: '2001:db8::2', port: 1 })
  expect(fixture.delays.length).toBe(1)
  await from(fixture, { address: '2001:db8:1::1', port: 1 })
  expect(fixture.delays.length).toBe(1)
})
