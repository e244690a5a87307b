import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeKey } from '../support/access-keys.ts'
import type { TestApp } from '../support/test-app.ts'
import { asked, SECRET, twoProjects } from './two-projects.ts'

let t: TestApp
let reader: HeadersInit
let everything: HeadersInit
let writer: HeadersInit
beforeAll(async () => {
  t = await twoProjects()
  reader = (await makeKey(t, ['read'], { projects: ['open'] })).headers
  everything = (await makeKey(t, ['read', 'write', 'ask'], { projects: ['open'] })).headers
  writer = (await makeKey(t, ['write'])).headers
})
afterAll(() => t.close())

test('a limited key sees and reads only its own projects', async () => {
  expect((await asked(t, 'SELECT * FROM open.kettle_kb', reader)).text).toContain('red and hums')
  expect((await asked(t, 'SELECT word FROM kettle_view', reader)).text).toContain('kettle')
  const shown = await asked(t, 'SHOW DATABASES', reader)
  expect(JSON.parse(shown.text).data).toEqual([['information_schema'], ['open']])
})

test('a forbidden name gets the same error whether it exists or not', async () => {
  const answers = []
  for (const name of [SECRET, 'neverwas']) {
    const { text } = await asked(t, `SELECT * FROM ${name}.x`, reader)
    answers.push(text.replaceAll(name, 'NAME').replaceAll(/\^|(?: {2,})/g, ''))
  }
  expect(answers[0]).toContain('may not use')
  expect(answers[0]).toBe(answers[1] ?? '')
})

test('a view is read with the rights of its reader', async () => {
  expect((await asked(t, 'SELECT * FROM open.leak', everything)).isRefused).toBe(true)
  const tables = await asked(t, 'SELECT * FROM open.schema_leak', everything)
  expect(tables.text).toContain('kettle_table')
  expect(tables.text).not.toContain(SECRET)
})

test.each([
  `SELECT * FROM ${SECRET}.${SECRET}_kb`,
  `SELECT k.id FROM open.kettle_kb k, ${SECRET.toUpperCase()}.${SECRET}_kb p`,
  `SELECT 1 AS a FROM open.kettle_kb AS k JOIN open.kettle_kb AS o ON (k.id = o.id), "${SECRET}".${SECRET}_kb`,
  `SELECT 1 AS a WHERE EXISTS (SELECT 1 FROM (SELECT id FROM ${SECRET}.${SECRET}_kb))`,
  `WITH t AS (FROM ${SECRET}.${SECRET}_kb) SELECT count(*) AS n FROM t`,
])('the text of a view over another project is not shown: %s', async (sql) => {
  await t.rows('DROP VIEW IF EXISTS open.over').catch(() => [])
  await t.send('POST', '/api/sql/query', { query: `CREATE VIEW open.over AS (${sql})` })
  expect(await t.rows("SELECT QUERY FROM information_schema.views WHERE NAME = 'over'")).toEqual([
    [sql],
  ])
  for (const query of [
    "SELECT * FROM information_schema.views WHERE NAME = 'over'",
    'SHOW CREATE VIEW open.over',
    'SHOW VIEWS',
    'DESCRIBE open.over',
    'SELECT * FROM open.over',
  ]) {
    expect((await asked(t, query, everything)).text.toLowerCase()).not.toContain(SECRET)
  }
  for (const path of [
    '/api/projects/open/views',
    '/api/projects/open/views/over',
    '/api/catalog',
  ]) {
    const { status, text } = await t.send('GET', path, undefined, everything)
    expect([status, text.toLowerCase().includes(SECRET)]).toEqual([200, false])
  }
  const own = "SELECT QUERY FROM information_schema.views WHERE NAME = 'kettle_view'"
  expect((await asked(t, own, everything)).text).toContain('SELECT')
})

test('a limited key never gets a plan cached for an admin', async () => {
  const statements = [
    'SELECT count(*) AS n FROM open.leak',
    'SELECT TABLE_NAME FROM information_schema.tables',
    "SELECT word FROM open.leak WHERE n < 9 AND word <> 'a'",
  ]
  for (const statement of [...statements, ...statements, ...statements]) {
    await asked(t, statement, {})
    const limited = await asked(t, statement, everything)
    expect(limited.isRefused || !limited.text.includes(SECRET)).toBe(true)
  }
})

test('an agent reads no more than the limited key that created it', async () => {
  const agent = (name: string, data: unknown) => {
    const body = { agent: { name, data } }
    return t.send('POST', '/api/projects/open/agents', body, everything)
  }
  for (const data of [
    { knowledge_bases: [`${SECRET}.${SECRET}_kb`] },
    { tables: [`${SECRET}.*`] },
    { tables: ['*.*'] },
    { knowledge_bases: ['zan*.*'] },
    { tables: ['?anzibar.x'] },
    { tables: ['files.*'] },
  ]) {
    expect((await agent('spy', data)).status).toBe(403)
  }
  const mcp = { mcp: [{ name: 'm', url: 'http://127.0.0.1:9/mcp' }] }
  expect((await agent('spy', mcp)).status).toBe(403)
  expect((await agent('own', { tables: ['open.leak', 'open.schema_leak'] })).status).toBe(201)
  const answer = await t.send(
    'POST',
    '/api/projects/open/agents/own/completions',
    { messages: [{ role: 'user', content: `SELECT * FROM open.leak; ${'tables'}?` }] },
    everything,
  )
  expect(answer.text).not.toContain(SECRET)
})

test("a caller who may not read an agent's data cannot change it for a question", async () => {
  const using = `USING data = {"tables": ["${SECRET}.${SECRET}_table"]}`
  const statement = `SELECT answer FROM open.kettle_agent WHERE question = 'the word?' ${using}`
  const asker = await makeKey(t, ['ask'], { projects: ['open'] })
  for (const headers of [asker.headers, everything]) {
    const { text, isRefused } = await asked(t, statement, headers)
    expect(isRefused).toBe(true)
    expect(text).toContain('1106')
  }
})

test('a key that may only write reads nothing, not even inside its writes', async () => {
  for (const statement of [
    'SELECT * FROM open.kettle_table',
    'INSERT INTO open.kettle_kb (id, content) SELECT word, word FROM open.kettle_table',
    "INSERT INTO open.kettle_kb (id, content) VALUES ('x', (SELECT word FROM open.kettle_table))",
    'CREATE TABLE open.copy AS SELECT * FROM open.kettle_table',
    'CREATE VIEW open.copy AS SELECT * FROM open.kettle_table',
    "DELETE FROM open.kettle_kb WHERE color = 'kettle'",
    "UPDATE open.kettle_kb SET color = 'x' WHERE color = 'kettle'",
    'EXPLAIN SELECT * FROM open.kettle_table',
    'SET @x = (SELECT word FROM open.kettle_table)',
    'SHOW TABLES',
  ]) {
    const { text } = await asked(t, statement, writer)
    expect([statement, text.includes('"error_code":1106')]).toEqual([statement, true])
  }
  const put = { knowledge_base: { query: 'SELECT word AS id, word AS content FROM kettle_table' } }
  const path = '/api/projects/open/knowledge_bases/kettle_kb'
  expect((await t.send('PUT', path, put, writer)).status).toBe(403)
  const insert = "INSERT INTO open.kettle_kb (id, content) VALUES ('plain', 'A plain row.')"
  expect((await asked(t, insert, writer)).isRefused).toBe(false)
})

test('a job cannot be restarted by a key with fewer rights than its owner', async () => {
  const query = `INSERT INTO open.kettle_kb (id, content) SELECT word, word FROM ${SECRET}.gone USING background = true`
  const started = await asked(t, query, {})
  const [[id]] = JSON.parse(started.text).data
  let state = ''
  while (state !== 'failed') {
    const { body } = await t.send('GET', `/api/jobs/${id}`)
    state = (body as { state: string }).state
    await Bun.sleep(1)
  }
  for (const change of ['retry', 'resume']) {
    const { status } = await t.send('POST', `/api/jobs/${id}/${change}`, undefined, everything)
    expect(status).toBe(403)
  }
  expect((await asked(t, `SELECT query_resume(${id})`, everything)).isRefused).toBe(true)
})

test('a job has the rights of the key that started it', async () => {
  const query = `INSERT INTO open.kettle_kb (id, content) SELECT word, word FROM open.leak USING background = true`
  const started = await asked(t, query, everything)
  const [[id]] = JSON.parse(started.text).data
  let job = { state: '', error: '' }
  while (job.state !== 'failed' && job.state !== 'done') {
    job = (await t.send('GET', `/api/jobs/${id}`)).body as typeof job
    await Bun.sleep(1)
  }
  expect(job).toMatchObject({ state: 'failed' })
  expect(job.error).toContain('may not use')
})
