import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeKey } from '../support/access-keys.ts'
import { type Answer, createTestApp, type TestApp } from '../support/test-app.ts'

const open = await createTestApp()
const LOGIN = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'secret' }
const locked = await createTestApp({ environment: LOGIN })
const { body: login } = await locked.send('POST', '/api/login', {
  username: 'ada',
  password: 'secret',
})
const admin = { authorization: `Bearer ${Object(login).token}` }
const folder = await mkdtemp(join(tmpdir(), 'eider-keys-'))

afterAll(async () => {
  await Promise.all([open.close(), locked.close()])
  await rm(folder, { recursive: true })
})

function select(t: TestApp, headers: HeadersInit, sql = 'SELECT 1'): Promise<Answer> {
  return t.send('POST', '/api/sql/query', { query: sql }, headers)
}

describe('a key', () => {
  test('opens a server with a login, within its scopes', async () => {
    const { headers, key } = await makeKey(locked, ['read'], {}, admin)
    expect(key).toMatch(/^eider_[\w-]{43}$/)
    expect((await locked.send('GET', '/api/projects', undefined, headers)).status).toBe(200)
    const refused = await locked.send('POST', '/api/projects', { project: { name: 'a' } }, headers)
    expect([refused.status, Object(refused.body).code]).toEqual([403, 'forbidden'])
    expect(Object(refused.body).detail).toContain('"write"')
    expect((await locked.send('GET', '/api/keys', undefined, headers)).status).toBe(403)
  })

  test('may come as X-Api-Key, as the Python client of MindsDB sends its api_key', async () => {
    const { key } = await makeKey(locked, ['read'], {}, admin)
    const status = async (method: string, path: string, headers: Record<string, string>) =>
      (await locked.send(method, path, undefined, headers)).status
    expect(await status('GET', '/api/projects', { 'x-api-key': key })).toBe(200)
    expect(await status('GET', '/api/keys', { 'x-api-key': key })).toBe(403)
    expect(await status('GET', '/api/projects', { 'x-api-key': `${key}x` })).toBe(401)
    // As on a server without a login, a caller who sends a key has only the key's rights.
    expect(await status('GET', '/api/keys', { 'x-api-key': key, ...admin })).toBe(403)
  })

  test('is limited to its scopes even on a server without a login, where other tokens are ignored', async () => {
    const { headers } = await makeKey(open, ['read'])
    expect((await open.send('GET', '/api/keys', undefined, headers)).status).toBe(403)
    for (const authorization of ['Bearer sk-123', 'Bearer dummy', 'Basic YTpi', 'Bearer']) {
      expect((await open.send('GET', '/api/keys', undefined, { authorization })).status).toBe(200)
    }
  })

  test('that is incomplete, unknown, revoked or expired always gets the same refusal', async () => {
    const { key, id } = await makeKey(open, ['read'])
    await open.send('DELETE', `/api/keys/${id}`)
    const values = [
      `Bearer ${key}`,
      `Bearer eider_${'A'.repeat(43)}`,
      'Bearer eider_',
      'bearer  EIDER_x',
      'Bearer eider_x y',
      'eider_x',
      `Token ${key}`,
    ]
    const answers = await Promise.all(
      values.map((authorization) => select(open, { authorization })),
    )
    const details = answers.map(({ status, body }) => `${status} ${Object(body).detail}`)
    expect(new Set(details).size).toBe(1)
    expect(details[0]).toMatch(/^401 This key is invalid.*POST \/api\/keys/)
  })

  test('is shown only once: nothing in the list grants access', async () => {
    const { key, id, headers } = await makeKey(
      locked,
      ['read', 'ask'],
      { projects: ['mindsdb'] },
      admin,
    )
    await locked.send('GET', '/api/projects/mindsdb', undefined, headers)
    const listed = await locked.send('GET', '/api/keys', undefined, admin)
    expect(listed.text).not.toContain(key)
    const shown = (listed.body as readonly Record<string, unknown>[]).find((one) => one.id === id)
    expect(shown).toEqual({
      id,
      name: expect.stringMatching(/^key \d+$/),
      prefix: key.slice(0, 12),
      scopes: ['read', 'ask'],
      projects: ['mindsdb'],
      requests_per_minute: null,
      created_by: 'ada',
      created_at: expect.stringMatching(/^\d{4}-/),
      expires_at: null,
      last_used_at: expect.stringMatching(/^\d{4}-/),
    })
  })

  test('survives a restart as a hash, and so does its last use', async () => {
    const directory = join(folder, 'data')
    const before = await createTestApp({ directory })
    const { key, headers } = await makeKey(before, ['read'])
    expect((await select(before, headers)).status).toBe(200)
    const { body: listed } = await before.send('GET', '/api/keys')
    await before.close()
    expect(await readFile(join(directory, 'eider-data.duckdb'), 'latin1')).not.toContain(
      key.slice(12),
    )
    const after = await createTestApp({ directory })
    expect((await select(after, headers)).status).toBe(200)
    const { body: kept } = await after.send('GET', '/api/keys')
    await after.close()
    const [one] = listed as readonly { last_used_at: string }[]
    expect(kept).toEqual([{ ...one, last_used_at: expect.stringMatching(/^\d{4}-/) }])
  })

  test('expires', async () => {
    const soon = new Date(Date.now() + 60_000).toISOString()
    const { headers } = await makeKey(open, ['read'], { expires_at: soon })
    expect((await select(open, headers)).status).toBe(200)
    const past = await open.send('POST', '/api/keys', {
      name: 'late',
      scopes: ['read'],
      expires_at: '2020-01-01',
    })
    expect([past.status, Object(past.body).detail]).toEqual([
      400,
      'Field "expires_at" is in the past',
    ])
  })

  test('has variables of its own', async () => {
    const [one, other] = [await makeKey(open, ['read']), await makeKey(open, ['read'])]
    await select(open, one.headers, 'SET @mine = 7')
    expect(Object((await select(open, one.headers, 'SELECT @mine')).body).data).toEqual([[7]])
    const named = { ...other.headers, 'x-session': 's' }
    for (const headers of [other.headers, named, {}]) {
      expect(Object((await select(open, headers, 'SELECT @mine')).body).data).not.toEqual([[7]])
    }
  })

  test('has no more rights than its creator', async () => {
    const limited = await makeKey(open, ['admin'], { projects: ['mindsdb'] })
    await open.send('POST', '/api/projects', { project: { name: 'other' } })
    const tries = [
      { projects: null },
      { projects: ['other'] },
      { projects: ['no_such'] },
      { projects: ['mindsdb', 'files'] },
    ]
    for (const fields of tries) {
      const body = { name: 'more', scopes: ['read'], ...fields }
      const { status, text } = await open.send('POST', '/api/keys', body, limited.headers)
      expect([status, text]).toEqual([403, expect.stringContaining('forbidden')])
    }
    const own = await makeKey(open, ['read'], { projects: ['MindsDB'] }, limited.headers)
    const { body } = await open.send('GET', '/api/keys', undefined, limited.headers)
    const ids = (body as readonly { id: number }[]).map(({ id }) => id)
    expect(ids).toContain(own.id)
    expect(ids).not.toContain((await makeKey(open, ['read'])).id)
  })
})

describe('what a key may be', () => {
  const WRONG: readonly [string, Record<string, unknown>, string][] = [
    ['no name', { scopes: ['read'] }, 'missing_parameter'],
    ['an empty name', { name: '', scopes: ['read'] }, 'invalid_name'],
    ['no scopes', { name: 'a', scopes: [] }, 'invalid_request'],
    ['an unknown scope', { name: 'a', scopes: ['root'] }, 'invalid_request'],
    ['no project', { name: 'a', scopes: ['read'], projects: [] }, 'invalid_request'],
    ['an unknown project', { name: 'a', scopes: ['read'], projects: ['x'] }, 'project_not_found'],
    ['an unknown field', { name: 'a', scopes: ['read'], role: 'admin' }, 'unknown_field'],
    ['no moment', { name: 'a', scopes: ['read'], expires_at: 'soon' }, 'invalid_request'],
    [
      'a day that is not',
      { name: 'a', scopes: ['read'], expires_at: '2099-13-45' },
      'invalid_request',
    ],
  ]
  for (const [what, body, code] of WRONG) {
    test(`not ${what}`, async () => {
      expect(Object((await open.send('POST', '/api/keys', body)).body).code).toBe(code)
    })
  }

  test('a misspelled project suggests the right one', async () => {
    const body = { name: 'a', scopes: ['read'], projects: ['mindsd'] }
    const { text } = await open.send('POST', '/api/keys', body)
    expect(text).toContain(String.raw`Did you mean \"mindsdb\"?`)
  })

  test('its name is its own, also among requests at once', async () => {
    const body = { name: 'Twice', scopes: ['read'] }
    const answers = await Promise.all([1, 2, 3].map(() => open.send('POST', '/api/keys', body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  })
})

describe('requests of a key', () => {
  test('have a limit that others do not feel', async () => {
    const busy = await makeKey(open, ['read'], { requests_per_minute: 3 })
    const other = await makeKey(open, ['read'], { requests_per_minute: 3 })
    const statuses: number[] = []
    for (let index = 0; index < 4; index++) statuses.push((await select(open, busy.headers)).status)
    expect(statuses).toEqual([200, 200, 200, 429])
    const refused = await select(open, busy.headers)
    expect(Object(refused.body).code).toBe('rate_limited')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await select(open, other.headers)).status).toBe(200)
  })
})
