import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ANYONE } from '../../src/core/domain/access/principal.ts'
import { openStore } from '../../src/store/store.ts'
import { makeKey } from '../support/access-keys.ts'
import { temporaryFolder } from '../support/store-fixture.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const environment = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'secret' }
const t = await createTestApp({ environment })
const admin = await loggedIn(t)
const folder = await mkdtemp(join(tmpdir(), 'eider-audit-'))

afterAll(async () => {
  await t.close()
  await rm(folder, { recursive: true })
})

async function loggedIn(app: TestApp) {
  const sent = { username: 'ada', password: 'secret' }
  const { body } = await app.send('POST', '/api/login', sent)
  return { authorization: `Bearer ${Object(body).token}` }
}

interface Entry {
  readonly number: number
  readonly principal: { readonly kind: string; readonly name: string }
  readonly action: string
  readonly targets: readonly string[]
  readonly outcome: string
  readonly request_id: string
  readonly occurrences: number
}

async function entries(query = '', app = t, headers: HeadersInit = admin): Promise<Entry[]> {
  const { body, text, status } = await app.send('GET', `/api/audit${query}`, undefined, headers)
  if (status !== 200) throw new Error(text)
  return Object(body).items
}

const sql = (query: string, headers: HeadersInit = admin) => {
  return t.send('POST', '/api/sql/query', { query }, headers)
}

describe('the audit log', () => {
  test('records who changed what over REST, with names and outcome', async () => {
    const headers = { ...admin, 'x-request-id': 'rest-1' }
    await t.send('POST', '/api/projects', { project: { name: 'audited' } }, headers)
    await t.send('POST', '/api/projects', { project: { name: 'audited' } }, admin)
    const [again, first] = await entries('?limit=2')
    expect(first).toMatchObject({
      principal: { kind: 'user', id: '0', name: 'ada' },
      action: 'createProject',
      targets: ['audited'],
      outcome: 'ok',
      request_id: 'rest-1',
      occurrences: 1,
    })
    expect(again).toMatchObject({ action: 'createProject', outcome: 'project_exists' })
  })

  test('records the same for statements, without their texts', async () => {
    const { headers } = await makeKey(t, ['admin'], { name: 'writer' }, admin)
    await sql(
      `CREATE DATABASE shop ENGINE = 'postgres', PARAMETERS = {"password": "hunter2"}`,
      headers,
    )
    await sql('DROP KNOWLEDGE_BASE audited.nothing', headers)
    await sql('SELECT 1', headers)
    const [drop, create] = await entries('?limit=2&principal=writer')
    expect(create).toMatchObject({ action: 'CREATE DATABASE', targets: ['shop'] })
    expect(create?.outcome).not.toBe('ok')
    expect(drop).toMatchObject({
      principal: { kind: 'key', name: 'writer' },
      action: 'DROP KNOWLEDGE_BASE',
      targets: ['audited.nothing'],
      outcome: 'knowledge_base_not_found',
    })
    expect(JSON.stringify(await entries())).not.toContain('hunter2')
  })

  test('records who was refused, and whose key is no longer valid', async () => {
    const { headers, id, key } = await makeKey(t, ['read'], { name: 'reader' }, admin)
    await t.send('DELETE', '/api/projects/audited', undefined, headers)
    const [refused] = await entries('?principal=reader')
    expect(refused).toMatchObject({
      action: 'deleteProject',
      targets: ['audited'],
      outcome: 'forbidden',
    })
    await t.send('DELETE', `/api/keys/${id}`, undefined, admin)
    expect((await entries('?limit=1'))[0]).toMatchObject({
      action: 'deleteKey',
      targets: [String(id), 'reader'],
    })
    await t.send('GET', '/api/projects', undefined, headers)
    expect((await entries('?limit=1'))[0]).toMatchObject({
      action: 'useKey',
      targets: [],
      outcome: 'unauthorized',
    })
    expect(JSON.stringify(await entries())).not.toContain(key.slice(12))
  })

  test('counts a flood of wrong logins, and never holds what was typed', async () => {
    const before = (await entries('?action=login&outcome=wrong_credentials')).length
    const names = Array.from({ length: 4 }, (_, index) => ['ada', `typo-hunter2-${index}`]).flat()
    const tries = names.map((username) => {
      return t.send('POST', '/api/login', { username, password: 'wrong' })
    })
    await Promise.all(tries)
    const found = await entries('?action=login&outcome=wrong_credentials')
    expect(found.length - before).toBeLessThanOrEqual(2)
    expect(found.reduce((sum, { occurrences }) => sum + occurrences, 0)).toBe(8)
    expect(JSON.stringify(found)).not.toContain('hunter2')
    expect((await entries('?action=login&outcome=ok')).length).toBe(1)
  })

  test('counts repeated changes by a program without losing any', async () => {
    for (let at = 0; at < 40; at += 1) await sql('DROP VIEW IF EXISTS mindsdb.busy')
    await sql('DROP VIEW IF EXISTS mindsdb.other')
    const found = (await entries('?action=DROP%20VIEW&limit=100')).toReversed()
    const busy = found.filter(({ targets }) => targets[0] === 'mindsdb.busy')
    expect(busy.length).toBeLessThan(20)
    expect(busy.reduce((sum, { occurrences }) => sum + occurrences, 0)).toBe(40)
    expect(found.filter(({ targets }) => targets[0] === 'mindsdb.other').length).toBe(1)
  })

  test('has what tools of MCP change, and where the request came from', async () => {
    await sql('CREATE KNOWLEDGE_BASE by_tools')
    const accept = 'application/json, text/event-stream'
    const headers = { ...admin, accept, 'x-request-id': 'mcp-1' }
    const call = (name: string, args: object) => {
      const params = { name, arguments: args }
      return t.send(
        'POST',
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
        headers,
      )
    }
    const documents = [{ content: 'hello' }]
    const added = await call('add_documents', { knowledge_base: 'by_tools', documents })
    expect(added.text).toContain('stored')
    const read = 'SELECT count(*) AS n FROM information_schema.audit_log'
    expect((await call('query', { sql: read })).text).not.toContain('forbidden')
    expect((await entries('?limit=1'))[0]).toMatchObject({
      action: 'INSERT',
      targets: ['mindsdb.by_tools'],
      principal: { kind: 'user', name: 'ada' },
      request_id: 'mcp-1',
    })
  })

  test('is a table of information_schema, for admins of everything', async () => {
    const query = `SELECT principal, action, targets FROM information_schema.audit_log
      WHERE action = 'createProject' AND outcome = 'ok' ORDER BY number LIMIT 1`
    expect(Object((await sql(query)).body).data).toEqual([['ada', 'createProject', '["audited"]']])
    await sql('CREATE VIEW mindsdb.log AS SELECT * FROM information_schema.audit_log')
    const reader = await makeKey(t, ['read', 'write'], {}, admin)
    const limited = await makeKey(t, ['admin'], { projects: ['mindsdb'] }, admin)
    for (const { headers } of [reader, limited]) {
      for (const statement of [query, 'SELECT * FROM mindsdb.log']) {
        const { body } = await sql(statement, headers)
        expect([Object(body).type, Object(body).error_message]).toEqual([
          'error',
          expect.stringMatching(/audit log is for admins|lacks the scope|may not use/),
        ])
      }
      expect((await t.send('GET', '/api/audit', undefined, headers)).status).toBe(403)
    }
  })

  test('has pages', async () => {
    const all = await entries('?limit=1000')
    const first = await t.send('GET', '/api/audit?limit=3', undefined, admin)
    const { items, next } = Object(first.body)
    const rest = await t.send('GET', `/api/audit?limit=1000&cursor=${next}`, undefined, admin)
    const numbers = [...items, ...Object(rest.body).items].map((one: Entry) => one.number)
    expect(numbers).toEqual(all.map(({ number }) => number))
    for (const wrong of ['?limit=0', '?cursor=x', '?from=x', '?who=ada']) {
      expect((await t.send('GET', `/api/audit${wrong}`, undefined, admin)).status).toBe(400)
    }
  })

  test('is on disk when the server has stopped', async () => {
    const directory = join(folder, 'data')
    const before = await createTestApp({ directory })
    await before.send('POST', '/api/projects', { project: { name: 'kept' } })
    await before.close()
    const after = await createTestApp({ directory })
    const [entry] = await entries('', after, {})
    await after.close()
    expect(entry).toMatchObject({
      principal: { kind: 'open', name: 'anyone' },
      action: 'createProject',
      targets: ['kept'],
    })
  })
})

test('the audit log is kept up to its bound, also by a server that is started again and again', async () => {
  using kept = temporaryFolder()
  const opened = () => openStore({ directory: kept.path, audit: { rowsMax: 5 } })
  const noteIn = async (store: Awaited<ReturnType<typeof opened>>, targets: string[]) => {
    const entry = { action: 'createProject', outcome: 'ok', address: '::1', requestId: '1' }
    for (const one of targets) store.audit.note({ ...entry, principal: ANYONE, targets: [one] })
    await store.audit.settled()
  }
  let store = await opened()
  await noteIn(store, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
  await store.close()
  store = await opened()
  await noteIn(store, ['last'])
  const { items } = await store.audit.list({}, { limit: 100, before: null })
  expect(items[0]?.targets).toEqual(['last'])
  expect(items.length).toBeLessThanOrEqual(6)
  await store.close()
})
