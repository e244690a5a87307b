/** Responses whose form could reveal what the caller may not see. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeKey } from '../support/access-keys.ts'
import type { TestApp } from '../support/test-app.ts'
import { asked, SECRET, twoProjects } from './two-projects.ts'

const KBS = '/api/projects/open/knowledge_bases'

let t: TestApp
beforeAll(async () => {
  t = await twoProjects()
  const storage = { database: 'cellar', table: SECRET }
  await t.send('POST', `/api/projects/${SECRET}/knowledge_bases`, {
    knowledge_base: { name: 'stored', storage },
  })
})
afterAll(() => t.close())

test('a storage name reveals nothing about other projects', async () => {
  const { headers } = await makeKey(t, ['read', 'write'], { projects: ['open'] })
  const answers = []
  for (const [database, table] of [
    [SECRET, 'x'],
    ['cellar', SECRET],
    ['neverwas', 'x'],
  ] as const) {
    const knowledge_base = { name: 'probe', storage: { database, table } }
    const rest = await t.send('POST', KBS, { knowledge_base }, headers)
    const using = `CREATE KNOWLEDGE_BASE open.probe USING storage = ${database}.${table}`
    const { isForbidden, text } = await asked(t, using, headers)
    expect(text).not.toContain('stored')
    answers.push([rest.status, isForbidden || text.includes('1106')])
  }
  expect(answers).toEqual([
    [403, true],
    [403, true],
    [403, true],
  ])
  const own = { name: 'own', storage: { database: 'duckdb', table: 'own' } }
  expect((await t.send('POST', KBS, { knowledge_base: own }, headers)).status).toBe(201)
})

test('a caller without the right to read cannot find out whether a document existed', async () => {
  const { headers } = await makeKey(t, ['write'])
  for (const id of ['kettle-1', 'never']) {
    const path = `${KBS}/kettle_kb/documents/${id}`
    expect((await t.send('PUT', path, { content: 'New.' }, headers)).status).toBe(200)
  }
  const path = `${KBS}/kettle_kb/documents/fresh`
  expect((await t.send('PUT', path, { content: 'New.' })).status).toBe(201)
})
