import { expect, test } from 'bun:test'
import { healthOf } from '../../src/wiring/metric-parts.ts'
import { send, testServer } from './server-fixture.ts'

const DOWN = { database: 'not answering', disk: 'ok' } as const
const UP = { database: 'ok', disk: 'ok' } as const

/** A database that answers on command, and a clock that has stopped. */
function database(answerMs: number) {
  const asked: PromiseWithResolvers<unknown>[] = []
  const clock = { ms: 0 }
  const health = healthOf({
    askDatabase: () => {
      const question = Promise.withResolvers()
      asked.push(question)
      return question.promise
    },
    isDiskFull: () => false,
    nowMs: () => clock.ms,
    answerMs,
  })
  return { health, asked, clock }
}

test('a database that does not answer is reported, is asked once, and is well when it answers', async () => {
  const { health, asked, clock } = database(1)
  expect(await Promise.all([health(), health(), health()])).toEqual([DOWN, DOWN, DOWN])
  expect(asked.length).toBe(1)
  asked[0]?.resolve(1)
  await asked[0]?.promise
  clock.ms = 10
  expect(await health()).toEqual(UP)
  expect(asked.length).toBe(1)
})

test('one that fails does not answer; a second later it is asked again', async () => {
  const { health, asked, clock } = database(60_000)
  const first = health()
  asked[0]?.reject(new Error('the file is gone'))
  expect(await first).toEqual(DOWN)
  expect(await health()).toEqual(DOWN)
  clock.ms = 1_000
  const next = health()
  asked[1]?.resolve(1)
  expect(await next).toEqual(UP)
})

test('it fails /healthz and readiness with a problem, and no ping', async () => {
  const { server } = testServer({ health: database(1).health })
  for (const path of ['/healthz', '/api/util/readiness']) {
    const { status, json } = await send(server, `GET ${path}`)
    expect([path, status]).toEqual([path, 503])
    expect(json).toMatchObject({ code: 'unhealthy' })
  }
  expect((await send(server, 'GET /api/util/ping')).status).toBe(200)
})
