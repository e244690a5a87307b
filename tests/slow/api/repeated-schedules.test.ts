import { afterEach, beforeEach, expect, test } from 'bun:test'
import { isOver, type Job } from '../../../src/domain/flow/job.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

let app: TestApp

beforeEach(async () => {
  app = await createTestApp({ environment: { EIDER_SCHEDULE_SECONDS_MIN: '1' } })
  app.app.start()
  await sql('CREATE KNOWLEDGE_BASE kb USING content_columns = ["text"], id_column = "id"')
  await sql("CREATE TABLE t AS SELECT 1 AS id, 'one' AS text UNION ALL SELECT 2, 'two'")
})

afterEach(() => app.close())

interface SqlAnswer {
  readonly type: string
  readonly data?: unknown[][]
  readonly error_code?: number
  readonly error_message?: string
}

async function sql(query: string): Promise<SqlAnswer> {
  return (await app.send('POST', '/api/sql/query', { query })).body as SqlAnswer
}

/** Resolves when the newest run of a schedule is over, and this many are known. */
async function runsOver(count: number): Promise<readonly Job[]> {
  for (;;) {
    const { jobs } = app.store
    const runs = jobs.list().filter(({ kind }) => kind === 'schedule')
    if (runs.length >= count && runs.every(isOver))
      return runs.map((job) => ({ ...job, rate: null, remainingSeconds: null }))
    await Bun.sleep(20)
  }
}

async function ids(): Promise<unknown> {
  return (await sql('SELECT id FROM kb ORDER BY id')).data?.flat()
}

test('LAST takes what came since, each row once, everything at first', async () => {
  await sql('CREATE JOB j (INSERT INTO kb SELECT * FROM t WHERE id > LAST) EVERY 1 second')
  await runsOver(1)
  expect(await ids()).toEqual(['1', '2'])
  const marks = async () =>
    (await app.send('GET', '/api/projects/mindsdb/jobs/j')).body as { last: object }
  expect((await marks()).last).toEqual({ 0: { value: '2', type: 'INTEGER' } })
  await sql('DELETE FROM kb WHERE id = 1')
  await sql(
    "CREATE OR REPLACE TABLE t AS SELECT id::INTEGER AS id, text FROM (VALUES (1, 'one'), (2, 'two'), (3, 'three')) AS v(id, text)",
  )
  await runsOver(3)
  expect(await ids()).toEqual(['2', '3'])
  expect((await marks()).last).toEqual({ 0: { value: '3', type: 'INTEGER' } })
  await sql('DROP JOB j')
  expect((await sql('SHOW JOBS')).data).toEqual([])
})
