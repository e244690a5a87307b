import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { stubEmbeddings } from '../slow/server/stub-embeddings.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { csvOf, endOf as ended, gatedEmbedders, type JobBody, rowsOf } from './jobs-fixture.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'

let app: TestApp

/** More chunks than the first two batches of an insert (64 and 512 in job-insert.ts). */
const ROWS = 700

beforeAll(async () => {
  app = await createTestApp()
})
afterAll(() => app.close())

beforeEach(async () => {
  await app.send('POST', KB, { knowledge_base: { name: 'teas' } })
})
afterEach(async () => {
  await app.send('DELETE', `${KB}/teas`)
  await app.send('DELETE', '/api/jobs')
})

test('an insert in the background returns its job at once', async () => {
  const sent = await insert({ rows: rowsOf(ROWS), background: true })
  expect(sent.status).toBe(202)
  expect(Object.keys(sent.body as object)).toEqual([
    'id',
    'kind',
    'state',
    'project',
    'knowledge_base',
    'title',
    'created_at',
    'started_at',
    'finished_at',
    'rows',
    'documents',
    'chunks',
    'skipped_rows',
    'total',
    'rate',
    'remaining_seconds',
    'embedded_chunks',
    'error',
    'errors',
    'error_count',
  ])
  const job = await endOf(sent.body as JobBody)
  expect(job).toMatchObject({ state: 'done', rows: ROWS, documents: ROWS, total: ROWS })
  expect(await app.rows('SELECT count(*), count(DISTINCT id) FROM teas')).toEqual([[ROWS, ROWS]])
})

test('a list of jobs can be filtered and is paged, newest first', async () => {
  const inserted = async () => {
    const { body } = await insert({ rows: rowsOf(1), background: true })
    return (await endOf(body as JobBody)).id
  }
  const [first, second, third] = [await inserted(), await inserted(), await inserted()]
  const { body } = await app.send('GET', '/api/jobs?kind=insert&state=done&limit=2')
  const { items, ...rest } = body as { items: JobBody[]; total: number; next: number }
  expect(items.map(({ id }) => id)).toEqual([third, second])
  expect(rest).toEqual({ total: 3, next: 2 })
  const named = await app.send('GET', `/api/jobs?ids=${first},${third},999`)
  expect(named.body).toMatchObject({ items: [{ id: third }, { id: first }], total: 2 })
  expect((await app.send('GET', '/api/jobs?ids=1,x')).status).toBe(400)
  const none = await app.send('GET', '/api/jobs?knowledge_base=other')
  expect(none.body).toEqual({ items: [], total: 0, next: null })
  expect((await app.send('GET', '/api/jobs?state=ended')).status).toBe(400)
})

test('while a long document is embedded, the job counts its chunks', async () => {
  const own = await createTestApp({
    embedders: 'real',
    environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' },
  })
  const gate = Promise.withResolvers<void>()
  let calls = 0
  const provider = stubEmbeddings(
    () => [1, 2],
    async (texts) => {
      // The first call only tests the model.
      if (texts > 1) calls += 1
      if (calls > 1) await gate.promise
    },
  )
  const base_url = `http://127.0.0.1:${provider.port}/v1`
  const embedding_model = { provider: 'openai', model_name: 'stub', base_url }
  await own.send('POST', KB, { knowledge_base: { name: 'books', embedding_model } })
  const content = Array.from({ length: 600 }, (_, at) => `${at} ${'tea '.repeat(240)}`).join('\n\n')
  const knowledge_base = { rows: [{ id: 'book', content }], background: true }
  const { body } = await own.send('PUT', `${KB}/books`, { knowledge_base })
  let job = body as JobBody
  while (job.embedded_chunks === null) {
    job = (await own.send('GET', `/api/jobs/${job.id}`)).body as JobBody
  }
  expect(job).toMatchObject({ state: 'running', documents: 0, chunks: 0 })
  expect(job.embedded_chunks).toBeGreaterThan(0)
  gate.resolve()
  const ended = await endOf(job, own)
  expect(ended).toMatchObject({ state: 'done', documents: 1, embedded_chunks: null })
  provider.stop(true)
  await own.close()
})

test('events show a job until it is over', async () => {
  const { body } = await insert({ rows: rowsOf(600), background: true })
  const { text, headers } = await app.send('GET', `/api/jobs/${(body as JobBody).id}/events`)
  expect(headers.get('content-type')).toStartWith('text/event-stream')
  const events = text.match(/^data: .*$/gm) ?? []
  const last = JSON.parse((events.at(-1) ?? '').slice('data: '.length))
  expect(last).toMatchObject({ state: 'done', documents: 600 })
})

test('an id that is not a number, or is unknown, is not found', async () => {
  for (const id of ['x', '0', '-1', '1e3', '99', '9'.repeat(40), '1;2']) {
    for (const path of ['', '/events']) {
      const { status, body } = await app.send('GET', `/api/jobs/${id}${path}`)
      expect([id, status, (body as { code: string }).code]).toEqual([id, 404, 'job_not_found'])
    }
    expect((await app.send('POST', `/api/jobs/${id}/cancel`)).status).toBe(404)
  }
})

test('a document that cannot be stored ends the job, or is left out', async () => {
  const rows = [...rowsOf(3), { id: 'x'.repeat(5_000), content: 'bad' }, ...rowsOf(6).slice(3)]
  const raised = await endOf((await insert({ rows, background: true })).body as JobBody)
  expect(raised).toMatchObject({ state: 'failed' })
  expect(raised.error).toContain('row 4')
  const sent = await insert({ rows, background: true, error: 'skip' })
  const skipped = await endOf(sent.body as JobBody)
  expect(skipped).toMatchObject({ state: 'done', documents: 6, rows: 7, error_count: 1 })
  expect(skipped.errors[0]?.item).toBe('row 4')
})

test('a finished job cannot be cancelled, but can be deleted', async () => {
  const { id } = await endOf((await insert({ rows: rowsOf(1), background: true })).body as JobBody)
  for (const change of ['cancel', 'retry', 'resume']) {
    const { status, body } = await app.send('POST', `/api/jobs/${id}/${change}`)
    expect([status, (body as { code: string }).code]).toEqual([409, 'job_state'])
  }
  expect((await app.send('DELETE', `/api/jobs/${id}`)).status).toBe(204)
  expect((await app.send('GET', `/api/jobs/${id}`)).status).toBe(404)
})

test('all finished jobs can be deleted at once; running ones stay', async () => {
  for (const rows of [rowsOf(2), rowsOf(3)]) {
    await endOf((await insert({ rows, background: true })).body as JobBody)
  }
  expect((await app.send('DELETE', '/api/jobs?state=failed')).body).toEqual({ deleted: 0 })
  expect((await app.send('DELETE', '/api/jobs?state=running')).status).toBe(400)
  expect((await app.send('DELETE', '/api/jobs')).body).toEqual({ deleted: 2 })
  expect((await app.send('GET', '/api/jobs')).body).toMatchObject({ items: [], total: 0 })
})

test('a cancelled job reports what it stored, continues from there, and can start again', async () => {
  const gate = gatedEmbedders()
  const gated = await createTestApp({ embedders: gate.embedders })
  try {
    await gated.send('POST', KB, { knowledge_base: { name: 'teas' } })
    const sent = await gated.send('PUT', `${KB}/teas`, {
      knowledge_base: { rows: rowsOf(ROWS), background: true },
    })
    const { id } = sent.body as JobBody
    await gate.entered(2)
    const cancelled = (await gated.send('POST', `/api/jobs/${id}/cancel`)).body as JobBody
    expect(cancelled.state).toBe('cancelled')
    const [[stored] = []] = await gated.rows('SELECT count(*) FROM teas')
    expect(stored).toBe(cancelled.documents)
    expect(cancelled.documents).toBeGreaterThan(0)
    expect(cancelled.documents).toBeLessThan(ROWS)
    gate.open()
    const resumed = await gated.send('POST', `/api/jobs/${id}/resume`)
    expect((await endOf(resumed.body as JobBody, gated)).documents).toBe(ROWS)
    expect(await gated.rows('SELECT count(*), count(DISTINCT id) FROM teas')).toEqual([
      [ROWS, ROWS],
    ])
  } finally {
    gate.open()
    await gated.close()
  }
})

test('if a file is replaced or deleted while a job reads it, the message says so and what to do', async () => {
  for (const change of ['replaced', 'deleted'] as const) {
    const gate = gatedEmbedders()
    const gated = await createTestApp({ embedders: gate.embedders })
    try {
      await gated.send('POST', KB, { knowledge_base: { name: 'teas' } })
      // Three pages of a file's rows (ROWS_PER_PAGE in stored-files.ts).
      await gated.send('PUT', '/api/files/leaves.csv', csvOf(3_000))
      const knowledge_base = { files: ['leaves.csv'], background: true }
      const { id } = (await gated.send('PUT', `${KB}/teas`, { knowledge_base })).body as JobBody
      await gate.entered(2)
      if (change === 'deleted') await gated.send('DELETE', '/api/files/leaves.csv')
      else await gated.send('PUT', '/api/files/leaves.csv?replace=true', csvOf(10))
      gate.open()
      const failed = await endOf({ id }, gated)
      expect(failed.state).toBe('failed')
      expect(failed.error).toContain(`leaves.csv was ${change} while its rows were read`)
      if (change === 'deleted') await gated.send('PUT', '/api/files/leaves.csv', csvOf(10))
      // The new file's rows do not continue those that are stored.
      await gated.send('POST', `/api/jobs/${id}/resume`)
      const again = await endOf({ id }, gated)
      expect(again).toMatchObject({ state: 'failed', rows: failed.rows })
      expect(again.error).toContain('retry the job to read the new one')
      await gated.send('POST', `/api/jobs/${id}/retry`)
      expect(await endOf({ id }, gated)).toMatchObject({ state: 'done', documents: 10, rows: 10 })
    } finally {
      gate.open()
      await gated.close()
    }
  }
})

test.each(['PUT', 'POST'])(
  'after a client left its %s, the knowledge base says so',
  async (method) => {
    const gate = gatedEmbedders(() => true)
    const gated = await createTestApp({ embedders: gate.embedders })
    try {
      await gated.send('POST', KB, { knowledge_base: { name: 'teas' } })
      const client = new AbortController()
      const rows = JSON.stringify({ knowledge_base: { rows: rowsOf(1) } })
      const request = new Request(`http://localhost${KB}/teas${method === 'PUT' ? '' : '/files'}`, {
        method,
        ...(method === 'PUT' ? { headers: { 'content-type': 'application/json' } } : {}),
        body: method === 'PUT' ? rows : csvOf(1),
        signal: client.signal,
      })
      const answer = gated.app.handle(request)
      await gate.entered(1)
      client.abort()
      await answer
      const { body } = await gated.send('GET', `${KB}/teas`)
      expect(body).toMatchObject({ insert_error: 'The client closed the connection' })
    } finally {
      gate.open()
      await gated.close()
    }
  },
)

test('INSERT … SELECT in the background answers its row of information_schema.queries', async () => {
  await app.send('PUT', '/api/files/leaves.csv', csvOf(ROWS))
  const sql = `INSERT INTO teas SELECT id, content FROM files.leaves WHERE content <> 'secret'
    USING background = true, batch_size = 300, error = 'skip'`
  const [row] = await app.rows(sql)
  const { body } = await app.send('GET', '/api/jobs')
  const { items } = body as { items: readonly (JobBody & { title: string })[] }
  const [job] = items
  if (job === undefined) throw new Error('there is no job')
  expect(row?.[0]).toBe(job.id)
  expect(job.title).toContain('WHERE content <> ?')
  expect(await endOf(job)).toMatchObject({ state: 'done', documents: ROWS, rows: ROWS })
  const queries = await app.rows(
    'SELECT ID, PROCESSED_ROWS, ERROR, DATABASE, FINISHED_AT IS NULL FROM information_schema.queries',
  )
  expect(queries).toEqual([[job.id, ROWS, null, 'mindsdb', false]])
  const of = await app.rows(
    `SELECT PROCESSED_ROWS, ERROR, QUERY_ID, INSERT_FINISHED_AT IS NULL
      FROM information_schema.knowledge_bases WHERE NAME = 'teas'`,
  )
  expect(of).toEqual([[ROWS, null, job.id, false]])
})

test('an insert that a request waits for is shown with the knowledge base', async () => {
  await insert({ rows: rowsOf(7) })
  const of = `SELECT PROCESSED_ROWS, ERROR, QUERY_ID, INSERT_STARTED_AT IS NULL, INSERT_FINISHED_AT IS NULL
    FROM information_schema.knowledge_bases WHERE NAME = 'teas'`
  expect(await app.rows(of)).toEqual([[7, null, null, false, false]])
  await insert({ rows: [{ id: 'x'.repeat(5_000), content: 'bad' }] })
  const [[rows, error] = []] = await app.rows(of)
  expect(rows).toBe(0)
  expect(error).toContain('row 1')
})

test("query_cancel and query_resume act on a query like its job's routes", async () => {
  const gate = gatedEmbedders()
  const gated = await createTestApp({ embedders: gate.embedders })
  try {
    await gated.send('POST', KB, { knowledge_base: { name: 'teas' } })
    await gated.send('PUT', '/api/files/leaves.csv', csvOf(ROWS))
    const [[id] = []] = await gated.rows(
      'INSERT INTO teas SELECT id, content FROM files.leaves USING background = true',
    )
    await gate.entered(2)
    const cancel = { query: `SELECT query_cancel(${id}) AS done` }
    expect((await gated.send('POST', '/api/sql/query', cancel)).body).toMatchObject({ type: 'ok' })
    const [[stored] = []] = await gated.rows('SELECT count(*) FROM teas')
    const job = (await gated.send('GET', `/api/jobs/${id}`)).body as JobBody
    expect([job.state, job.documents]).toEqual(['cancelled', Number(stored)])
    gate.open()
    expect((await gated.rows(`select QUERY_RESUME('${id}')`))[0]?.[0]).toBe(id)
    const done = await endOf(job, gated)
    expect(done).toMatchObject({ state: 'done', rows: ROWS, documents: ROWS })
    expect(await gated.rows('SELECT count(*), count(DISTINCT id) FROM teas')).toEqual([
      [ROWS, ROWS],
    ])
  } finally {
    gate.open()
    await gated.close()
  }
})

function insert(knowledgeBase: Readonly<Record<string, unknown>>) {
  return app.send('PUT', `${KB}/teas`, { knowledge_base: knowledgeBase })
}

function endOf(job: Pick<JobBody, 'id'>, of: TestApp = app): Promise<JobBody> {
  return ended(job, of)
}

test('the list of jobs takes no parameter that it does not know', async () => {
  const { body } = await app.send('GET', '/api/jobs?cursor=x')
  expect(body).toMatchObject({ status: 400, code: 'unknown_field' })
})
