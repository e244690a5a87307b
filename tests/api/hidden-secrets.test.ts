/**
 * A password in a statement appears in no response, for every error in the statement, and in every
 * place where it is stored.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mayHoldSecrets, withoutSecrets } from '../../src/core/text/shown-statement.ts'
import { fakeSources, fakeTable } from '../support/fake-sources.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let app: TestApp

beforeEach(async () => {
  app = await createTestApp({ sources: fakeSources({ shop: [fakeTable('t', { id: 'BIGINT' })] }) })
  await sql("CREATE DATABASE shop ENGINE 'postgres' PARAMETERS {'host': 'h'}")
})

afterEach(() => app.close())

async function sql(query: string) {
  return app.send('POST', '/api/sql/query', { query })
}

test.each([
  `EXPLAIN CREATE DATABASE x ENGINE 'postgres' PARAMETERS {'password': 'geheim'}`,
  `EXPLAIN ALTER DATABASE x PARAMETERS {'password' 'geheim'}`,
  `CREATE DATABASE x ENGINE 'postgres' PARAMETERS {'password': 'geheim' 'host'}`,
  `CREATE DATABASE x ENGINE 'postgres' PARAMETERS {'url': 'http://u:geheim@h/db'}`,
  `CREATE DATABASE x ENGINE 'postgres' PARAMETERS {'host': 'postgresql://u:geheim@h/db'}`,
  `CREATE DATABASE x ENGINE 'mysql' PARAMETERS {'host': 'u:geheim@h'}`,
  `CREATE KNOWLEDGE_BASE k USING embedding_model = {'provider': 'openai', 'api_key': 'geheim'`,
  `CREATE KNOWLEDGE_BASE k USING embedding_model = {'provider': 'openai', 'api_key' 'geheim'}`,
  `CREATE AGENT a USING model = 'x', openai_api_key = 'geheim', more`,
  `CREATE JOB j (CREATE DATABASE x ENGINE 'postgres' PARAMETERS {'password': 'geheim'} EVERY day`,
  `CREATE JOB j (CREATE DATABASE x ENGINE 'postgres' PARAMETERS {'password' 'geheim'}) EVERY day`,
  `CREATE VIEW v FROM shop (CREATE DATABASE x PARAMETERS {'password': 'geheim'})`,
  `SELECT 1 AS "password" 'geheim'`,
  `SELECT * FROM shop.t WHERE password = 'geheim' AND nowhere = 1`,
])('a mistake in %s', async (statement) => {
  const { body, text } = await sql(statement)
  expect(body).toMatchObject({ type: 'error' })
  expect(text).not.toContain('geheim')
})

test('jobs show statements without their secrets', async () => {
  const url = 'postgresql://u:geheim@h/db'
  const statements = [
    `CREATE DATABASE x ENGINE 'postgres' PARAMETERS {'url': '${url}'}`,
    `CREATE DATABASE IF NOT EXISTS y ENGINE 'postgres' PARAMETERS {host: h, password: geheim}`,
    `CREATE DATABASE IF NOT EXISTS z ENGINE 'postgres' PARAMETERS {"host": "h", "password": "geheim"}`,
  ]
  const created = await sql(`CREATE JOB j (${statements.join('; ')}) START '2099-01-01' EVERY day`)
  expect(created.body).toMatchObject({ type: 'ok' })
  const shown = [
    await sql('SELECT * FROM information_schema.jobs'),
    await sql('SHOW JOBS'),
    await app.send('GET', '/api/projects/mindsdb/jobs'),
    await app.send('GET', '/api/projects/mindsdb/jobs/j'),
  ]
  for (const { text } of shown) {
    expect(text).toContain('CREATE DATABASE')
    expect(text).not.toContain('geheim')
  }
})

test('hiding secrets leaves other statements unchanged and is fast for hostile ones', () => {
  for (const harmless of [
    "SELECT * FROM kb WHERE content = 'a key to it'",
    'SELECT key::INT, t.token FROM t',
    "SELECT 'http://example.org/a?b=c'",
  ]) {
    expect(withoutSecrets(harmless)).toBe(harmless)
    expect(mayHoldSecrets(harmless)).toBeFalse()
  }
  expect(withoutSecrets("url 'https://h/f?api_key=abc&x=1'")).toBe(
    "url 'https://h/f?api_key=******&x=1'",
  )
  // Patterns with quadratic time would run for hours.
  for (const part of ['key', 'key ', "key'", '://', '?key=', 'parameters ', 'key:"']) {
    mayHoldSecrets(part.repeat(300_000))
  }
})

test('a job whose statements cannot be read is refused where it is made', async () => {
  for (const statement of ['selec 1', "INSERT kb VALUES ('x')", 'SELECT 1; DROP SOMETHING x']) {
    const { body } = await sql(`CREATE JOB j (${statement}) EVERY day`)
    expect(body).toMatchObject({ type: 'error' })
  }
  expect((await sql('SELECT * FROM information_schema.jobs')).body).toMatchObject({ data: [] })
})

test("a job keeps a database's own SQL as it was written", async () => {
  await sql('CREATE KNOWLEDGE_BASE kb')
  const statement = 'INSERT INTO kb SELECT * FROM shop (select "a" from t)'
  await sql(`CREATE JOB j (${statement}) START '2099-01-01'`)
  expect((await sql('SELECT QUERY FROM information_schema.jobs')).body).toMatchObject({
    data: [[statement]],
  })
})
