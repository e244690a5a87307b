/** One response lists everything that has a name. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeKey } from '../support/access-keys.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', '/api/projects', { project: { name: 'other' } })
  for (const project of ['mindsdb', 'other']) {
    const all = `/api/projects/${project}`
    await t.send('POST', `${all}/knowledge_bases`, {
      knowledge_base: { name: `notes of ${project}` },
    })
    await t.send('POST', `${all}/agents`, { agent: { name: `guide of ${project}`, data: {} } })
    await t.send('POST', `${all}/views`, { view: { name: `seven`, query: 'SELECT 7 AS seven' } })
    // Not now, because it could begin between two answers.
    const start = '2099-01-01 00:00:00'
    const job = { name: 'nightly', query: 'SELECT 1', schedule_str: '1 day', start_at: start }
    await t.send('POST', `${all}/jobs`, { job })
  }
})
afterAll(() => t.close())

const PARTS = ['knowledge_bases', 'agents', 'views', 'jobs'] as const

test('the catalog says of each project what the lists of the project say', async () => {
  const { status, body } = await t.send('GET', '/api/catalog')
  expect([status, Object(body).length]).toEqual([200, 2])
  for (const contents of Object(body)) {
    const address = `/api/projects/${contents.project.name}`
    expect(contents.views).toMatchObject([{ name: 'seven', project: contents.project.name }])
    expect(contents.project).toEqual((await t.send('GET', address)).body)
    for (const part of PARTS) {
      expect(contents[part]).toHaveLength(1)
      // Views are listed without their statements.
      if (part === 'views') continue
      expect(contents[part]).toEqual((await t.send('GET', `${address}/${part}`)).body)
    }
  }
})

test('a limited key sees the projects that it may use, and nothing of the others', async () => {
  const { headers } = await makeKey(t, ['read'], { projects: ['other'] })
  const { body } = await t.send('GET', '/api/catalog', undefined, headers)
  expect(body).toMatchObject([{ project: { name: 'other' }, jobs: [{ project: 'other' }] }])
  expect(body).toHaveLength(1)
  expect(JSON.stringify(body)).not.toContain('of mindsdb')
})
