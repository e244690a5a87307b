import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const LOGIN = { username: 'ada', password: 'right' }

type Headers = Readonly<Record<string, string>>

/** Returns the only value of a statement, `ok`, or its failure. */
async function answer(t: TestApp, query: string, headers: Headers = {}): Promise<unknown> {
  const { body } = await t.send('POST', '/api/sql/query', { query }, headers)
  const said = Object(body)
  if (said.type === 'table') return said.data[0][0]
  return said.type === 'ok' ? 'ok' : (said.error_message ?? said.detail)
}

const UNSET = 'Variable is not set: @v'

let open: TestApp
let locked: TestApp

beforeAll(async () => {
  open = await createTestApp()
  locked = await createTestApp({
    environment: { EIDER_USERNAME: LOGIN.username, EIDER_PASSWORD: LOGIN.password },
  })
})

afterAll(() => Promise.all([open.close(), locked.close()]))

async function token(): Promise<string> {
  const { body } = await locked.send('POST', '/api/login', LOGIN)
  return String(Object(body).token)
}

describe('with the login off', () => {
  test('a variable without a session is gone with its request', async () => {
    expect(await answer(open, 'SET @v = 1')).toBe('ok')
    expect(await answer(open, 'SELECT @v')).toBe(UNSET)
  })

  for (const [kind, mine, another] of [
    ['a header X-Session', { 'x-session': 'mine' }, { 'x-session': 'another' }],
    ['a cookie', { cookie: 'a=b; session=mine' }, { cookie: 'session=another' }],
    ['a bearer token', { authorization: 'Bearer mine' }, { authorization: 'Bearer another' }],
  ] as const) {
    test(`${kind} names a session that no other client sees`, async () => {
      expect(await answer(open, "SET @v = 'hers'", mine)).toBe('ok')
      expect(await answer(open, "SET @v = 'another'", another)).toBe('ok')
      expect(await answer(open, 'SELECT @v', mine)).toBe('hers')
      expect(await answer(open, 'SELECT @v', another)).toBe('another')
      expect(await answer(open, 'SELECT @v')).toBe(UNSET)
    })
  }

  test('an error shows the statement as it was written', async () => {
    const session = { 'x-session': 'errors' }
    await answer(open, "SET @name = 'x'", session)
    expect(await answer(open, 'SELECT @name, getenv(@name)', session)).toEndWith(
      'line 1, column 15:\nSELECT @name, getenv(@name)\n              ^',
    )
    expect(await answer(open, 'SELECT @name, @name FROM FROM', session)).toBe(
      'line 1, column 26: syntax error at or near "FROM"\nSELECT @name, @name FROM FROM\n                         ^',
    )
  })

  test('logout ends the session of the request and no other', async () => {
    const [one, other] = [{ 'x-session': 'one' }, { 'x-session': 'other' }]
    await answer(open, 'SET @v = 1', one)
    await answer(open, 'SET @v = 1', other)
    await open.send('POST', '/api/logout', undefined, one)
    expect(await answer(open, 'SELECT @v', one)).toBe(UNSET)
    expect(await answer(open, 'SELECT @v', other)).toBe(1)
  })

  for (const name of ['', 'a b', 'x'.repeat(129), 'a/b']) {
    test(`${JSON.stringify(name.slice(0, 9))} is not a name of a session`, async () => {
      const headers = { 'x-session': name }
      const sent = await open.send('POST', '/api/sql/query', { query: 'SELECT 1' }, headers)
      expect(sent.status).toBe(400)
      expect(sent.body).toMatchObject({ code: 'invalid_request' })
      expect(sent.text).toContain('X-Session')
    })
  }
})

describe('with the login on', () => {
  test('a login is a session, by its token as by its cookie', async () => {
    const [mine, another] = [await token(), await token()]
    const bearer = { authorization: `Bearer ${mine}` }
    expect(await answer(locked, 'SET @v = 1', bearer)).toBe('ok')
    expect(await answer(locked, 'SELECT @v', { cookie: `session=${mine}` })).toBe(1)
    expect(await answer(locked, 'SELECT @v', { authorization: `Bearer ${another}` })).toBe(UNSET)
  })

  test('X-Session names sessions of one login, and reaches none of another login', async () => {
    const [mine, another] = [await token(), await token()]
    const named = { authorization: `Bearer ${mine}`, 'x-session': 'work' }
    await answer(locked, 'SET @v = 1', named)
    expect(await answer(locked, 'SELECT @v', named)).toBe(1)
    expect(await answer(locked, 'SELECT @v', { authorization: `Bearer ${mine}` })).toBe(UNSET)
    const foreign = { authorization: `Bearer ${another}`, 'x-session': 'work' }
    expect(await answer(locked, 'SELECT @v', foreign)).toBe(UNSET)
  })

  test('a view and a Parquet answer see the variables of their caller', async () => {
    const mine = { authorization: `Bearer ${await token()}` }
    await answer(locked, 'SET @v = 7', mine)
    await answer(locked, 'CREATE VIEW seen AS SELECT @v AS v', mine)
    expect(await answer(locked, 'SELECT * FROM seen', mine)).toBe(7)
    const other = { authorization: `Bearer ${await token()}` }
    expect(await answer(locked, 'SELECT * FROM seen', other)).toBe(UNSET)
    const parquet = { ...mine, accept: 'application/vnd.apache.parquet' }
    const sent = await locked.send('POST', '/api/sql/query', { query: 'SELECT @v AS v' }, parquet)
    expect(sent.text).toStartWith('PAR1')
  })

  test('a view made over REST may name variables that its readers set', async () => {
    const mine = { authorization: `Bearer ${await token()}` }
    const path = '/api/projects/mindsdb/views'
    const view = { name: 'later', query: 'SELECT @v AS v' }
    expect((await locked.send('POST', path, { view }, mine)).status).toBe(201)
    expect(await answer(locked, 'SELECT * FROM later', mine)).toBe(UNSET)
    await answer(locked, 'SET @v = 8', mine)
    expect(await answer(locked, 'SELECT * FROM later', mine)).toBe(8)
  })
})
