/**
 * A limited key learns only that something exists from objects in its own project that name other
 * projects.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeKey } from '../support/access-keys.ts'
import type { TestApp } from '../support/test-app.ts'
import { asked, SECRET, twoProjects } from './two-projects.ts'

let t: TestApp
let limited: HeadersInit
beforeAll(async () => {
  t = await twoProjects()
  limited = (await makeKey(t, ['read', 'write', 'ask'], { projects: ['open'] })).headers
})
afterAll(() => t.close())

async function rows(query: string, headers: HeadersInit = limited): Promise<unknown[][]> {
  return JSON.parse((await asked(t, query, headers)).text).data
}

test('columns of a view are shown to a key that may read everything behind it', async () => {
  const query =
    "SELECT DISTINCT TABLE_NAME FROM information_schema.columns WHERE TABLE_SCHEMA = 'open' AND TABLE_NAME LIKE '%leak' OR TABLE_NAME = 'kettle_view' ORDER BY 1"
  expect((await rows(query, {})).flat()).toEqual([
    ...['bare_leak', 'kettle_view', 'leak', 'schema_leak', 'second_leak'],
  ])
  expect((await rows(query)).flat()).toEqual(['kettle_view', 'schema_leak'])
})

test('a job of the project is listed; its statement is shown only if the key may name everything in it', async () => {
  const query = 'SELECT NAME, QUERY, IF_QUERY, VARIABLES FROM information_schema.jobs ORDER BY NAME'
  const hidden = '-- Hidden: this job names other projects or databases'
  const variables = expect.any(String)
  expect(await rows(query)).toEqual([
    ['if_over', hidden, null, variables],
    ['kettle_job', 'SELECT 1', null, variables],
    ...[0, 1, 2].map((index) => [`over_${index}`, hidden, null, variables]),
  ])
  const { body } = await t.send('GET', '/api/projects/open/jobs', undefined, limited)
  const queries = (body as { query: string }[]).map((job) => job.query)
  expect(queries.toSorted()).toEqual([hidden, hidden, hidden, hidden, 'SELECT 1'])
  const own = await t.send('GET', '/api/projects/open/jobs/over_0')
  expect(own.body).toMatchObject({ query: `SELECT * FROM ${SECRET}.${SECRET}_table` })
})

test("a key sees the part of an agent's data that it may name; the agent reads all of it", async () => {
  const { body } = await t.send('GET', '/api/projects/open/agents/both', undefined, limited)
  const data = { knowledge_bases: ['kettle_kb'], tables: ['open.kettle_table'] }
  expect(body).toMatchObject({ data })
  const [row = []] = await rows('DESCRIBE AGENT open.both')
  expect(JSON.parse(String(row.at(-1)))).toMatchObject({ data })
  const answers = await Promise.all([
    asked(t, `SELECT answer FROM open.both WHERE question = 'What is the ${SECRET}?'`, limited),
    t.send(
      'POST',
      '/api/projects/open/agents/both/completions',
      { messages: [{ role: 'user', content: `What is the ${SECRET}?` }] },
      limited,
    ),
  ])
  for (const { text } of answers) expect(text).toContain('red and hums')
})

test('a key cannot save an object that it sees only in part', async () => {
  const path = '/api/projects/open/agents/both'
  const data = { tables: ['open.kettle_table'] }
  for (const agent of [{ prompt_template: 'Repeat everything.' }, { name: 'mine' }, { data }]) {
    const refused = await t.send('PUT', path, { agent }, limited)
    expect([refused.status, refused.text.includes(SECRET)]).toEqual([403, false])
  }
  expect((await t.send('GET', path)).text).toContain(`${SECRET}.${SECRET}_kb`)
})

test('a job over another project fails without its statement and its reason', async () => {
  const all = (await t.send('GET', '/api/jobs?kind=insert')).body as {
    items: { id: number; title: string }[]
  }
  const over = all.items.find(({ title }) => title.includes('gone'))
  const path = `/api/jobs/${over?.id}`
  let state = ''
  while (state !== 'failed') {
    state = ((await t.send('GET', path)).body as { state: string }).state
    await Bun.sleep(1)
  }
  expect((await t.send('GET', path)).text).toContain(SECRET)
  const shown = await t.send('GET', path, undefined, limited)
  expect(shown.body).toMatchObject({ state: 'failed', knowledge_base: 'kettle_kb' })
  expect(shown.text).not.toContain(SECRET)
  for (const query of [
    `SELECT * FROM information_schema.queries WHERE ID = ${over?.id}`,
    'DESCRIBE KNOWLEDGE_BASE open.kettle_kb',
    'SELECT * FROM information_schema.knowledge_bases',
  ]) {
    expect((await asked(t, query, {})).text).toContain(SECRET)
    expect((await asked(t, query, limited)).text).not.toContain(SECRET)
  }
  for (const place of ['/api/projects/open/knowledge_bases/kettle_kb', '/api/catalog']) {
    expect((await t.send('GET', place, undefined, limited)).text).not.toContain(SECRET)
  }
})

test('MCP tools show no more than SQL', async () => {
  const headers = { ...limited, accept: 'application/json, text/event-stream' }
  for (const [method, params] of [
    ['tools/call', { name: 'list_data', arguments: {} }],
    ['resources/read', { uri: 'eider://schemas/open/leak' }],
    ['resources/read', { uri: 'eider://schemas/open/second_leak' }],
  ] as const) {
    const call = { jsonrpc: '2.0', id: 1, method, params }
    const { text } = await t.send('POST', '/mcp', call, headers)
    expect(text).toContain('"open.')
    expect(text).not.toContain(SECRET)
  }
})

test('a source that reads another project shows neither what it reads nor why it fails', async () => {
  const path = '/api/projects/open/knowledge_bases/kettle_kb/sources'
  const query = `SELECT ${SECRET}_x AS content FROM ${SECRET}.${SECRET}_table`
  const sent = { source: { name: 'failing', kind: 'query', query } }
  const { body } = await t.send('POST', path, sent)
  const { id } = body as { id: number }
  await t.send('POST', `${path}/${id}/run`)
  const lastRun = async (headers: HeadersInit) => {
    const answer = await t.send('GET', `${path}/${id}`, undefined, headers)
    return (answer.body as { last_run: { state: string; error: string } | null }).last_run
  }
  while ((await lastRun({}))?.state !== 'failed') await Bun.sleep(1)
  expect((await lastRun({}))?.error).toContain(SECRET)
  expect(await lastRun(limited)).toMatchObject({
    state: 'failed',
    error: 'Hidden: it names other projects or databases',
  })
  const jobs = async () => (await t.send('GET', '/api/jobs?kind=sync')).text
  while (!(await jobs()).includes('"failed"')) await Bun.sleep(1)
  for (const place of [path, `${path}/${id}`, `${path}/${id}/runs`, '/api/jobs?kind=sync']) {
    const { status, text } = await t.send('GET', place, undefined, limited)
    expect([place, status, text.includes(SECRET)]).toEqual([place, 200, false])
    expect((await t.send('GET', place)).text).toContain(SECRET)
  }
  const shown = "SELECT PARAMETERS FROM information_schema.sources WHERE KIND = 'table'"
  const [[parameters] = []] = await rows(shown)
  expect(JSON.parse(String(parameters))).toMatchObject({
    table: '-- Hidden: this source reads other projects or databases',
  })
})
