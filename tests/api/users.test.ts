import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeKey } from '../support/access-keys.ts'
import { type Answer, createTestApp, type TestApp } from '../support/test-app.ts'

const environment = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'secret' }
const PASSWORD = 'correct horse'
const t = await createTestApp({ environment })
const admin = await loggedIn(t, 'ada', 'secret')
const folder = await mkdtemp(join(tmpdir(), 'eider-users-'))

afterAll(async () => {
  await t.close()
  await rm(folder, { recursive: true })
})

async function loggedIn(app: TestApp, username: string, password: string) {
  const { body, status, text } = await app.send('POST', '/api/login', { username, password })
  if (status !== 200) throw new Error(text)
  return { authorization: `Bearer ${Object(body).token}` }
}

async function userWith(name: string, fields: Record<string, unknown> = {}) {
  const body = { name, password: PASSWORD, role: 'viewer', ...fields }
  const answer = await t.send('POST', '/api/users', body, admin)
  expect([answer.text, answer.status]).toEqual([answer.text, 201])
  return { id: Number(Object(answer.body).id), headers: await loggedIn(t, name, PASSWORD) }
}

const projects = (headers: HeadersInit): Promise<Answer> => {
  return t.send('GET', '/api/projects', undefined, headers)
}
const codeOf = ({ body }: Answer): string => Object(body).code

describe('a role', () => {
  test('sets what a user may do, and changes take effect at once', async () => {
    const { id, headers } = await userWith('role')
    const create = (name: string) => {
      return t.send('POST', '/api/projects', { project: { name } }, headers)
    }
    expect((await projects(headers)).status).toBe(200)
    const refused = await create('by_viewer')
    expect(refused.status).toBe(403)
    expect(refused.text).toContain("an admin can change the user's role")
    await t.send('PATCH', `/api/users/${id}`, { role: 'editor' }, admin)
    expect((await create('by_editor')).status).toBe(201)
    expect((await t.send('GET', '/api/users', undefined, headers)).status).toBe(403)
    await t.send('PATCH', `/api/users/${id}`, { role: 'admin' }, admin)
    expect((await t.send('GET', '/api/users', undefined, headers)).status).toBe(200)
    await t.send('PATCH', `/api/users/${id}`, { role: 'admin', projects: ['files'] }, admin)
    const listed = await t.send('GET', '/api/users', undefined, headers)
    expect((listed.body as readonly { id: number }[]).map((user) => user.id)).toEqual([id])
  })
})

describe('a session', () => {
  test('ends with the user', async () => {
    const { id, headers } = await userWith('gone')
    expect((await t.send('DELETE', `/api/users/${id}`, undefined, admin)).status).toBe(204)
    expect((await projects(headers)).status).toBe(401)
  })

  test('ends with the password that it was for; that of others does not', async () => {
    const [one, other] = [await userWith('one'), await userWith('other')]
    await t.send('PATCH', `/api/users/${one.id}`, { password: 'another one' }, admin)
    expect((await projects(one.headers)).status).toBe(401)
    expect((await projects(other.headers)).status).toBe(200)
    const wrong = await t.send('POST', '/api/login', { username: 'one', password: PASSWORD })
    expect([wrong.status, codeOf(wrong)]).toEqual([401, 'wrong_credentials'])
    expect((await projects(await loggedIn(t, 'one', 'another one'))).status).toBe(200)
  })

  test('survives a restart', async () => {
    const options = { environment, directory: join(folder, 'data') }
    const before = await createTestApp(options)
    const first = await loggedIn(before, 'ada', 'secret')
    await before.send(
      'POST',
      '/api/users',
      { name: 'eve', password: PASSWORD, role: 'viewer' },
      first,
    )
    const headers = await loggedIn(before, 'eve', PASSWORD)
    await before.close()
    const after = await createTestApp(options)
    expect((await after.send('GET', '/api/projects', undefined, headers)).status).toBe(200)
    await after.close()
  })
})

describe('the own password', () => {
  const change = (headers: HeadersInit, current: string, password = 'my new one') => {
    const body = { current_password: current, password }
    return t.send('POST', '/api/password', body, headers)
  }

  test('is changed by a user who knows it', async () => {
    const { headers } = await userWith('self')
    expect((await change(headers, 'a wrong one')).status).toBe(401)
    const { status, body } = await change(headers, PASSWORD)
    expect(status).toBe(200)
    expect((await projects(headers)).status).toBe(401)
    const authorization = `Bearer ${Object(body).token}`
    expect((await projects({ authorization })).status).toBe(200)
  })

  test('is not that of a key, nor of the settings', async () => {
    const key = await makeKey(t, ['admin'], {}, admin)
    expect((await change(key.headers, 'x')).status).toBe(403)
    expect(codeOf(await change(admin, 'secret'))).toBe('user_of_settings')
  })
})

describe('the user of the settings', () => {
  test('is the first admin, and only the settings change it', async () => {
    const { body } = await t.send('GET', '/api/users', undefined, admin)
    const [first] = body as readonly unknown[]
    expect(first).toMatchObject({ id: 0, name: 'ada', role: 'admin', created_by: 'settings' })
    for (const [method, sent] of [
      ['DELETE', undefined],
      ['PATCH', { role: 'viewer' }],
    ] as const) {
      const answer = await t.send(method, '/api/users/0', sent, admin)
      expect([answer.status, codeOf(answer)]).toEqual([409, 'user_of_settings'])
    }
    const twice = { name: 'ADA', password: PASSWORD, role: 'viewer' }
    expect(codeOf(await t.send('POST', '/api/users', twice, admin))).toBe('user_exists')
  })
})

describe('what a user may be', () => {
  const RIGHT = { name: 'x', password: PASSWORD, role: 'viewer' }
  const WRONG: readonly [string, Record<string, unknown>, string][] = [
    ['a short password', { password: 'short' }, 'invalid_request'],
    ['an unknown role', { role: 'root' }, 'invalid_request'],
    ['an unknown project', { projects: ['nowhere'] }, 'project_not_found'],
    ['an empty name', { name: '' }, 'invalid_name'],
  ]
  for (const [what, fields, code] of WRONG) {
    test(`not with ${what}; the password is not in the answer`, async () => {
      const answer = await t.send('POST', '/api/users', { ...RIGHT, ...fields }, admin)
      expect(codeOf(answer)).toBe(code)
      expect(answer.text).not.toContain(PASSWORD)
    })
  }

  test('without a login no one', async () => {
    const open = await createTestApp()
    const answer = await open.send('POST', '/api/users', RIGHT)
    await open.close()
    expect([answer.status, codeOf(answer)]).toEqual([409, 'login_off'])
  })

  test('one of a name, also among requests at once', async () => {
    const tries = [1, 2, 3].map(() => {
      return t.send('POST', '/api/users', { ...RIGHT, name: 'twice' }, admin)
    })
    const answers = await Promise.all(tries)
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  })
})
