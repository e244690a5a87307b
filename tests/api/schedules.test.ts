import { expect, test } from 'bun:test'
import { schedules } from './schedules-fixture.ts'

const { ids, runsOver, send, sql } = schedules()

test('a job without a period runs once, at once, and is seen as a job', async () => {
  expect(await sql('CREATE JOB j (INSERT INTO kb SELECT * FROM t; SELECT 1)')).toMatchObject({
    type: 'ok',
  })
  await runsOver(1)
  expect(await ids()).toEqual(['1', '2'])
  const [row] =
    (
      await sql(
        'SELECT name, project, next_run_at, schedule_str, query FROM information_schema.jobs',
      )
    ).data ?? []
  expect(row).toEqual(['j', 'mindsdb', null, null, 'INSERT INTO kb SELECT * FROM t; SELECT 1'])
  const history = (await sql('SELECT name, state, error FROM log.jobs_history')).data
  expect(history).toEqual([['j', 'done', null]])
  expect((await sql("SELECT name FROM jobs_history WHERE name = 'j'")).data).toEqual([['j']])
  expect((await sql('SHOW JOBS')).data?.[0]?.[0]).toBe('j')
})

test('COALESCE(LAST, value) starts after that value', async () => {
  await sql(
    'CREATE JOB j (INSERT INTO kb SELECT * FROM t WHERE id > COALESCE(LAST, 1) ORDER BY id)',
  )
  await runsOver(1)
  expect(await ids()).toEqual(['2'])
})

test('a table takes the rows above LAST, and grows by other statements', async () => {
  await sql("CREATE TABLE log (id INTEGER PRIMARY KEY, text VARCHAR, state VARCHAR DEFAULT 'new')")
  await sql('CREATE JOB j (INSERT INTO log (id, text) SELECT id, text FROM t WHERE id > LAST)')
  await runsOver(1)
  await sql("INSERT INTO t VALUES (3, 'three')")
  await sql("UPDATE log SET state = 'old'")
  const again = await sql("CREATE JOB k (INSERT INTO log VALUES (9, 'nine', DEFAULT))")
  expect(again).toMatchObject({ type: 'ok' })
  await runsOver(2)
  expect((await sql('SELECT * FROM log ORDER BY id')).data).toEqual([
    [1, 'one', 'old'],
    [2, 'two', 'old'],
    [9, 'nine', 'new'],
  ])
})

test('IF stops a run that has nothing to do', async () => {
  await sql('CREATE JOB j (INSERT INTO kb SELECT * FROM t) IF (SELECT * FROM t WHERE id > 5)')
  await runsOver(1)
  expect(await ids()).toEqual([])
  expect((await sql('SELECT state FROM log.jobs_history')).data).toEqual([['skipped']])
})

test('a run that fails says why, and does not move LAST', async () => {
  await sql(
    'CREATE JOB j (INSERT INTO kb SELECT id, CAST(text AS INTEGER) AS text FROM t WHERE id > LAST)',
  )
  const [job] = await runsOver(1)
  expect(job).toMatchObject({ state: 'failed' })
  const history = (await send('GET', '/api/projects/mindsdb/jobs/j/history')).body as {
    state: string
    error: string
  }[]
  expect(history[0]).toMatchObject({ state: 'failed' })
  expect(history[0]?.error).toContain('one')
  expect((await send('GET', '/api/projects/mindsdb/jobs/j')).body).toMatchObject({ last: {} })
})

test('times of the runs are values in the statements', async () => {
  await sql(
    "CREATE JOB j (INSERT INTO kb SELECT 'a' AS id, '{{PREVIOUS_START_DATETIME}} {{START_DATETIME}}' AS text)",
  )
  await runsOver(1)
  const [[text] = []] = (await sql('SELECT chunk_content FROM kb')).data ?? []
  expect(text).toMatch(/^1970-01-01 00:00:00 \d{4}-/)
})

test('a job that can never run is refused when it is created', async () => {
  const refused = [
    ['CREATE JOB j (SELECT 1) EVERY 1 fortnight', 'is not a valid schedule'],
    ['CREATE JOB j () EVERY hour', 'at least one statement'],
    ['CREATE JOB j (INSERT INTO kb SELECT * FROM t WHERE id > LAST LIMIT 5)', 'no LIMIT'],
    [
      'CREATE JOB j (INSERT INTO kb SELECT * FROM t WHERE id = LAST + 1 AND id > LAST AND id > LAST)',
      'one LAST',
    ],
    ["CREATE JOB j (SELECT 1) START 'tomorrow'", 'is not a time'],
    [
      "CREATE JOB j (SELECT 1) START '2030-01-02' END '2030-01-01' EVERY day",
      'END must be after START',
    ],
    ["CREATE JOB j (SELECT 1) EVERY '* * * * * *'", undefined],
  ] as const
  for (const [statement, message] of refused) {
    const { error_message } = await sql(statement)
    if (message !== undefined) expect(error_message).toContain(message)
  }
})

test("the tables that a job's statements read must exist when it is created", async () => {
  const refused = [
    ['INSERT INTO kb SELECT * FROM nowhere WHERE id > LAST', "Table 'nowhere' not found"],
    ['INSERT INTO kb SELECT id, nothing FROM t', 'nothing'],
    ['INSERT INTO nowhere SELECT * FROM t', 'nowhere'],
    ['SELECT * FROM kb WHERE', 'syntax'],
    ['WITH c AS (SELECT * FROM t) SELECT * FROM c WHERE id > LAST', "Table 'c' not found"],
    ['SELECT 1; SELECT * FROM nowhere', "Table 'nowhere' not found"],
  ] as const
  for (const [statement, message] of refused) {
    const { error_message } = await sql(`CREATE JOB j (${statement}) START '2099-01-01'`)
    expect([statement, error_message]).toEqual([statement, expect.stringContaining(message)])
  }
  expect((await sql('CREATE JOB j (SELECT 1) IF (SELECT * FROM gone)')).type).toBe('error')
  const made = 'CREATE OR REPLACE TABLE made AS SELECT * FROM t; INSERT INTO kb SELECT * FROM made'
  expect(await sql(`CREATE JOB j (${made}) START '2099-01-01'`)).toMatchObject({ type: 'ok' })
})

test('secrets in its statements are never shown', async () => {
  const statement = `CREATE DATABASE IF NOT EXISTS shop ENGINE = 'postgres', PARAMETERS = {"host": "h", "password": "geheim", "url": "postgresql://u:geheim@h/d"}`
  const keyed = `CREATE KNOWLEDGE_BASE IF NOT EXISTS k USING embedding_model = {"provider": "openai", "model_name": "m", "api_key": "geheim"}`
  await sql(`CREATE JOB j (${statement}; ${keyed}) START '2099-01-01'`)
  const answers = [
    await send('GET', '/api/projects/mindsdb/jobs'),
    await send('GET', '/api/projects/mindsdb/jobs/j'),
    ...['SHOW JOBS', 'SELECT * FROM information_schema.jobs', 'SELECT * FROM jobs'].map((query) => {
      return send('POST', '/api/sql/query', { query })
    }),
  ]
  for (const { text } of await Promise.all(answers)) {
    expect(text).toContain('******')
    expect(text).not.toContain('geheim')
  }
})

test('by REST', async () => {
  const job = {
    name: 'nightly',
    query: 'SELECT 1',
    schedule_str: '0 3 * * *',
    start_at: '2030-01-01 00:00:00',
  }
  const created = await send('POST', '/api/projects/mindsdb/jobs', { job })
  expect(created).toMatchObject({
    status: 201,
    body: { name: 'nightly', next_run_at: '2030-01-01 03:00:00.000000' },
  })
  expect((await send('POST', '/api/projects/mindsdb/jobs', { job })).status).toBe(409)
  expect((await send('GET', '/api/projects/mindsdb/jobs')).body).toMatchObject([
    { name: 'nightly' },
  ])
  expect((await send('DELETE', '/api/projects/mindsdb/jobs/nightly')).status).toBe(204)
  expect((await send('GET', '/api/projects/mindsdb/jobs/nightly')).status).toBe(404)
})
