/** SCRAM-SHA-256 with node-postgres as the client, as from another machine without TLS. */
import { describe, expect, test } from 'bun:test'
import { createRequire } from 'node:module'
import { Authentication } from '../../../src/api/http/access/authentication.ts'
import { PgConnection, type Wire } from '../../../src/api/postgres/pg-connection.ts'
import { failureOf, Inbox, int32, message, type Received, START, text } from './postgres-fixture.ts'

interface ScramSession {
  readonly mechanism: string
  readonly response: string
}

const sasl: {
  startSession(mechanisms: readonly string[]): ScramSession
  continueSession(session: ScramSession, password: string, serverFirst: string): Promise<void>
  /** @throws Error if the server does not know the password */
  finalizeSession(session: ScramSession, serverFinal: string): void
} = createRequire(import.meta.url)('pg/lib/crypto/sasl')

const authentication = new Authentication({
  settings: { username: 'eider', password: 'pâss ①', tokenTtlSeconds: 60, keyRequestsPerMinute: 0 },
  users: {
    known: () => undefined,
    named: () => undefined,
    isPassword: async () => false,
    change: () => Promise.reject(new Error('no user changes here')),
  },
  keys: { find: () => undefined, noteUse() {} } as never,
  revokedTokens: { revoke: async () => {}, isRevoked: () => false },
  signingKey: Buffer.alloc(32, 7),
  newId: () => 'id',
  now: Date.now,
  sleep: async () => {},
})

/** A connection that receives nothing from a network. */
function connected() {
  const inbox = new Inbox()
  const received: Received[] = []
  const seen = { isOver: false, wake: () => {} }
  const wire: Wire = {
    isEncrypted: false,
    isLoopback: false,
    write: (bytes) => {
      received.push(...inbox.push(bytes))
      seen.wake()
    },
    drained: async () => {},
    encrypt: () => false,
    pause() {},
    resume() {},
    end: () => {
      seen.isOver = true
    },
  }
  const connection = new PgConnection(wire, {
    hasLogin: true,
    isFull: false,
    logIn: () => Promise.reject(new Error('the password itself never comes')),
    logInByProof: (user, proves, signal) => {
      return authentication.loginByProof(user, proves, '192.0.2.7', signal)
    },
    projectOf: () => 'mindsdb',
    run: () => Promise.reject(new Error('no statement runs')),
    cancel() {},
    processId: 1,
    secret: Buffer.alloc(32),
  })
  const next = async () => {
    while (received.length === 0) {
      await new Promise<void>((resolve) => {
        seen.wake = resolve
      })
    }
    return received.shift() ?? { kind: '', body: Buffer.alloc(0) }
  }
  return { connection, next, seen }
}

/** Returns the last message of the exchange and what followed. */
async function logIn(password: string, start = START, change = (final: string) => final) {
  const { connection, next, seen } = connected()
  connection.receive(start)
  const offered = await next()
  expect(offered.body).toEqual(Buffer.concat([int32(10), text('SCRAM-SHA-256'), text('')]))
  const session = sasl.startSession(['SCRAM-SHA-256'])
  const first = Buffer.from(session.response)
  connection.receive(message('p', text(session.mechanism), int32(first.length), first))
  const challenge = await next()
  expect(challenge.body.readInt32BE()).toBe(11)
  await sasl.continueSession(session, password, challenge.body.toString('utf8', 4))
  connection.receive(message('p', Buffer.from(change(session.response))))
  return { session, answer: await next(), next, seen }
}

describe('SCRAM-SHA-256', () => {
  test('accepts the user from the settings, and proves that the server knows the password', async () => {
    const { session, answer, next } = await logIn('pâss ①')
    expect(answer.body.readInt32BE()).toBe(12)
    sasl.finalizeSession(session, answer.body.toString('utf8', 4))
    expect(await next()).toEqual({ kind: 'R', body: int32(0) })
  })

  test('refuses another password, another name and a changed proof alike', async () => {
    const other = message('', int32(196_608), text('user'), text('ada'), Buffer.from([0]))
    const attempts = [
      await logIn('pass'),
      await logIn('pâss ①', other),
      await logIn('pâss ①', START, (final) => final.replace(/p=..../, 'p=AAAA')),
    ]
    const failures = attempts.map(({ answer }) => failureOf(answer))
    expect(new Set(failures.map((one) => JSON.stringify(one))).size).toBe(1)
    expect(failures[0]).toMatchObject({
      S: 'FATAL',
      C: '28P01',
      M: 'Invalid username or password',
      H: expect.stringContaining('sslmode=require'),
    })
    expect(attempts.map(({ seen }) => seen.isOver)).toEqual([true, true, true])
  })

  test('a malformed exchange ends the connection', async () => {
    const { answer } = await logIn('pâss ①', START, (final) => final.replace('c=biws', 'c=eSws'))
    expect(failureOf(answer).C).toBe('08P01')
    for (const first of [
      '',
      'n,,n=x',
      'p=tls-unique,,n=,r=abc',
      'n,,m=1,n=,r=abc',
      'n,,n=,r=a,b',
    ]) {
      const { connection, next } = connected()
      connection.receive(START)
      await next()
      const bytes = Buffer.from(first)
      connection.receive(message('p', text('SCRAM-SHA-256'), int32(bytes.length), bytes))
      expect([first, failureOf(await next()).C]).toEqual([first, '08P01'])
    }
  })
})
