/** A server whose jobs may run every second, with a knowledge base and a table to fill it from. */
import { afterEach, beforeEach } from 'bun:test'
import type { Job } from '../../src/core/domain/flow/job.ts'
import type { JobLogEntry } from '../../src/ops/jobs/job-runs.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

interface SqlAnswer {
  readonly type: string
  readonly data?: unknown[][]
  readonly error_code?: number
  readonly error_message?: string
}

/** For one test file: starts a server for each test. */
export function schedules() {
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
  return { send: (...sent: Parameters<TestApp['send']>) => app.send(...sent), sql, runsOver, ids }
}
