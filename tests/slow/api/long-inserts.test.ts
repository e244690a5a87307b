import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { csvOf, endOf, gatedEmbedders, type JobBody, rowsOf } from '../../api/jobs-fixture.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'
const COUNTS = 'SELECT count(*), count(DISTINCT id) FROM teas'

const SELECT = 'SELECT id, content FROM files.leaves'

/** The model's gate holds calls of more than 100 texts. */
const ROWS = 200

const SENT = {
  rows: { rows: rowsOf(ROWS) },
  query: { query: SELECT },
  files: { files: ['leaves'] },
}

test.each(Object.entries(SENT))(
  '%s that take too long are a job, which goes on',
  async (_, sent) => {
    await using held = await heldApp()
    const { app, gate } = held
    const { status, body } = await insert(app, sent)
    expect(status).toBe(202)
    const job = body as JobBody
    expect(job).toMatchObject({ id: 1, state: 'running' })
    const of = `SELECT QUERY_ID, INSERT_FINISHED_AT IS NULL
    FROM information_schema.knowledge_bases WHERE NAME = 'teas'`
    expect(await app.rows(of)).toEqual([[1, true]])
    gate.open()
    const done = await endOf(job, app)
    expect(done).toMatchObject({ state: 'done', rows: ROWS, documents: ROWS, error: null })
    expect(await app.rows(COUNTS)).toEqual([[ROWS, ROWS]])
  },
)

test('INSERT … SELECT that takes too long answers its row of information_schema.queries', async () => {
  await using held = await heldApp()
  const { app, gate } = held
  const [[id, , finishedAt] = []] = await app.rows(`INSERT INTO teas ${SELECT}`)
  expect([id, finishedAt]).toEqual([1, null])
  gate.open()
  expect(await endOf({ id: 1 }, app)).toMatchObject({ state: 'done', documents: ROWS })
  expect(await app.rows(COUNTS)).toEqual([[ROWS, ROWS]])
})

test('fast inserts are answered directly, and are not jobs', async () => {
  await using held = await heldApp({ EIDER_INSERT_WAIT_SECONDS: '1000' })
  const { app, gate } = held
  gate.open()
  for (const sent of Object.values(SENT)) {
    expect(await insert(app, sent)).toMatchObject({ status: 200, body: '' })
  }
  const { body } = await app.send('POST', '/api/sql/query', { query: `INSERT INTO teas ${SELECT}` })
  expect(body).toMatchObject({ type: 'ok', affected_rows: ROWS })
  expect((await app.send('GET', '/api/jobs')).body).toMatchObject({ total: 0 })
})

test('a job of an insert stays beside those that wait for a place, and can be cancelled', async () => {
  await using held = await heldApp({ EIDER_JOBS_MAX: '1' })
  const { app, gate } = held
  await app.send('POST', KB, { knowledge_base: { name: 'others' } })
  const first = await app.send('PUT', `${KB}/others`, {
    knowledge_base: { rows: rowsOf(3), background: true },
  })
  expect((await endOf(first.body as JobBody, app)).state).toBe('done')
  const { body } = await insert(app, SENT.query)
  const job = body as JobBody
  expect(job.state).toBe('running')
  // The only slot is free again.
  const second = await app.send('PUT', `${KB}/others`, {
    knowledge_base: { rows: rowsOf(3), background: true },
  })
  expect((await endOf(second.body as JobBody, app)).state).toBe('done')
  const cancelled = (await app.send('POST', `/api/jobs/${job.id}/cancel`)).body
  expect(cancelled).toMatchObject({ id: job.id, state: 'cancelled' })
  gate.open()
  await app.send('POST', `/api/jobs/${job.id}/resume`)
  expect(await endOf(job, app)).toMatchObject({ state: 'done', rows: ROWS, documents: ROWS })
  expect(await app.rows(COUNTS)).toEqual([[ROWS, ROWS]])
})

test('who leaves ends the insert, and no job is left', async () => {
  await using held = await heldApp({ EIDER_INSERT_WAIT_SECONDS: '1000' })
  const { app, gate } = held
  const client = new AbortController()
  const sent = app.app.handle(
    new Request(`http://localhost${KB}/teas`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ knowledge_base: SENT.query }),
      signal: client.signal,
    }),
  )
  await gate.entered(1)
  client.abort()
  expect((await sent).status).toBeGreaterThanOrEqual(400)
  expect((await app.send('GET', '/api/jobs')).body).toMatchObject({ total: 0 })
  const of = `SELECT ERROR IS NULL, INSERT_FINISHED_AT IS NULL
    FROM information_schema.knowledge_bases WHERE NAME = 'teas'`
  expect(await app.rows(of)).toEqual([[false, false]])
})

test.each(Object.entries(SENT))('after a restart %s that became a job go on', async (_, sent) => {
  const directory = await mkdtemp(join(tmpdir(), 'eider-long-inserts-'))
  try {
    {
      await using held = await heldApp({}, join(directory, 'data'))
      expect((await insert(held.app, sent)).status).toBe(202)
    }
    const app = await createTestApp({ directory: join(directory, 'data') })
    app.app.start()
    try {
      const done = await endOf({ id: 1 }, app)
      expect(done).toMatchObject({ state: 'done', rows: ROWS, documents: ROWS })
      expect(await app.rows(COUNTS)).toEqual([[ROWS, ROWS]])
    } finally {
      await app.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

interface HeldApp extends AsyncDisposable {
  readonly app: TestApp
  readonly gate: ReturnType<typeof gatedEmbedders>
}

/** An app with rows to insert, whose model waits for its gate when it gets this many texts. */
async function heldApp(environment = {}, directory?: string): Promise<HeldApp> {
  const gate = gatedEmbedders((texts) => texts.length > 100)
  const app = await createTestApp({
    embedders: gate.embedders,
    environment: { EIDER_INSERT_WAIT_SECONDS: '1', ...environment },
    ...(directory === undefined ? {} : { directory }),
  })
  await app.send('POST', KB, { knowledge_base: { name: 'teas' } })
  await app.send('PUT', '/api/files/leaves.csv', csvOf(ROWS))
  const dispose = async () => {
    if (directory === undefined) gate.open()
    await app.close()
  }
  return { app, gate, [Symbol.asyncDispose]: dispose }
}

function insert(app: TestApp, knowledgeBase: Readonly<Record<string, unknown>>) {
  return app.send('PUT', `${KB}/teas`, { knowledge_base: knowledgeBase })
}
