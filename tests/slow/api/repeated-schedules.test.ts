import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Job } from '../../../src/core/domain/flow/job.ts'
import type { JobLogEntry } from '../../../src/ops/jobs/job-runs.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

let app: TestApp
let over: Job[]
let onOver: () => void

beforeEach(async () => {
  over = []
  onOver = () => {}
  const job = ({ event, job: shown }: JobLogEntry) => {
    if (event !== 'over' || shown.kind !== 'schedule') return
    over.push(shown)
    onOver()
  }
  const log = { request: () => {}, failure: () => {}, job }
  app = await createTestApp({ environment: { EIDER_SCHEDULE_SECONDS_MIN: '1' }, log })
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

/** Resolves when this many runs are over. */
async function runsOver(count: number): Promise<readonly Job[]> {
  while (over.length < count) {
    const next = Promise.withResolvers<void>()
    onOver = next.resolve
    await next.promise
  }
  return over
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
