import { expect, test } from 'bun:test'
import { schedules } from '../../api/schedules-fixture.ts'

const { ids, runsOver, send, sql } = schedules()

test('LAST takes what came since, each row once, everything at first', async () => {
  await sql('CREATE JOB j (INSERT INTO kb SELECT * FROM t WHERE id > LAST) EVERY 1 second')
  await runsOver(1)
  expect(await ids()).toEqual(['1', '2'])
  const marks = async () =>
    (await send('GET', '/api/projects/mindsdb/jobs/j')).body as { last: object }
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
