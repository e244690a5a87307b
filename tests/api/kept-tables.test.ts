/** The definition of a table survives restarts, backups, VACUUM and checkpoints, and its writers are recorded. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { temporaryFolder } from '../support/store-fixture.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

interface SqlAnswer {
  readonly data?: unknown[][]
  readonly affected_rows?: number
  readonly error_code?: number
  readonly error_message?: string
}

async function sql(app: TestApp, query: string): Promise<SqlAnswer> {
  return (await app.send('POST', '/api/sql/query', { query })).body as SqlAnswer
}

async function expectKept(app: TestApp): Promise<void> {
  expect(await sql(app, "INSERT INTO t VALUES (1, 'again', 1)")).toMatchObject({ error_code: 4010 })
  expect(await sql(app, 'INSERT INTO t (id, n) VALUES (77, -1)')).toMatchObject({
    error_code: 4010,
  })
  expect(await sql(app, 'INSERT INTO t (id) VALUES (99) RETURNING *')).toMatchObject({
    data: [[99, 'new', 5]],
  })
  expect(await sql(app, 'DELETE FROM t WHERE id = 99')).toMatchObject({ affected_rows: 1 })
}

const CREATE =
  "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR DEFAULT 'new' NOT NULL, n INT DEFAULT 5, CHECK (n > 0))"

test('constraints and defaults stay over a restart, VACUUM and a backup', async () => {
  using folder = temporaryFolder()
  let app = await createTestApp({ directory: folder.path })
  await sql(app, CREATE)
  await sql(app, 'INSERT INTO t (id) SELECT range FROM range(5000)')
  await sql(app, 'DELETE FROM t WHERE id BETWEEN 10 AND 4900')
  await expectKept(app)
  expect(await sql(app, 'VACUUM t')).toMatchObject({
    data: [[expect.any(Number), expect.any(Number), expect.any(Number)]],
  })
  await expectKept(app)
  const { body } = await app.send('POST', '/api/backup')
  await app.close()
  app = await createTestApp({ directory: folder.path })
  await expectKept(app)
  await app.close()
  const copy = join(folder.path, 'backups', (body as { readonly name: string }).name)
  app = await createTestApp({ directory: copy })
  await expectKept(app)
  expect((await sql(app, 'SELECT count(*) FROM t')).data).toEqual([[109]])
  await app.close()
})

test('rows that VACUUM gives other places are the ones that change', async () => {
  using folder = temporaryFolder()
  const app = await createTestApp({ directory: folder.path })
  await sql(app, 'CREATE TABLE other (i BIGINT)')
  await sql(app, 'CREATE OR REPLACE TABLE t AS SELECT range AS i, 0 AS n FROM range(60000)')
  await sql(app, 'DELETE FROM t WHERE i < 50000')
  const answers = await Promise.all([
    // While one insert is being stored, the others read their rows and then wait for it.
    sql(app, 'INSERT INTO other SELECT range FROM range(3000000)'),
    ...Array.from({ length: 12 }, (_, at) => {
      return [
        sql(app, `UPDATE t SET n = n + 1 WHERE i >= ${59_000 + at * 10}`),
        sql(app, `DELETE FROM t WHERE i BETWEEN ${50_000 + at * 500} AND ${50_099 + at * 500}`),
        sql(app, 'VACUUM t'),
      ]
    }).flat(),
  ])
  expect(answers.flatMap(({ error_message: message }) => message ?? [])).toEqual([])
  const found = await sql(app, 'SELECT n, count(*) FROM t GROUP BY n ORDER BY n')
  const steps = Array.from({ length: 11 }, (_, at) => [at + 1, 10])
  expect(found.data).toEqual([[0, 9000 - 12 * 100], ...steps, [12, 890]])
  await app.close()
}, 60_000)

test('each change is in the audit log, without its values', async () => {
  const app = await createTestApp()
  await sql(app, CREATE)
  await sql(app, "INSERT INTO t VALUES (1, 'a secret', 1)")
  await sql(app, "UPDATE t SET s = 'a secret' WHERE id = 1")
  await sql(app, 'ALTER TABLE t RENAME COLUMN n TO number')
  await sql(app, 'DELETE FROM t WHERE id = 1')
  await sql(app, 'TRUNCATE t')
  const { data } = await sql(app, 'SELECT * FROM information_schema.audit_log')
  const text = JSON.stringify(data)
  for (const action of ['CREATE TABLE', 'INSERT', 'UPDATE', 'ALTER TABLE', 'DELETE', 'TRUNCATE']) {
    expect(text).toContain(`"${action}"`)
  }
  expect(text).not.toContain('a secret')
  await app.close()
})

test('a write ends with its time limit, and frees the table', async () => {
  const app = await createTestApp({ environment: { EIDER_QUERY_MS: '1000' } })
  await sql(app, 'CREATE TABLE t AS SELECT 1 AS n')
  const endless = '(SELECT count(*) FROM range(1000000000) a, range(1000000000) b)'
  const slow = sql(app, `UPDATE t SET n = ${endless}`)
  expect(await slow).toMatchObject({ error_code: 5001 })
  expect(await sql(app, 'UPDATE t SET n = 2')).toMatchObject({ affected_rows: 1 })
  await app.close()
})
