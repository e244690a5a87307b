/** EVALUATE KNOWLEDGE_BASE … save_to through HTTP. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { TestApp } from '../support/test-app.ts'
import { type EvaluationFixture, openEvaluation } from './evaluation-fixture.ts'

let fixture: EvaluationFixture
let t: TestApp
beforeAll(async () => {
  fixture = await openEvaluation()
  t = fixture.app
  await fixture.table('asked', 'question, doc_id', [['black tea', 'assam']])
})
afterAll(() => fixture.close())

const evaluate: EvaluationFixture['evaluate'] = (...asked) => fixture.evaluate(...asked)

test('makes a table and adds to it at the next run', async () => {
  const [first] = await evaluate('test_table = asked, save_to = mindsdb.runs')
  const [second] = await evaluate('test_table = asked, save_to = Runs, k = 1')
  const saved = await t.rows('SELECT id, total, name, created_at FROM runs ORDER BY id')
  expect(saved).toEqual(
    [first, second].map((row) => [row?.id, row?.total, row?.name, row?.created_at]),
  )
  const counted = await t.rows(
    "SELECT TABLE_ROWS FROM information_schema.tables WHERE TABLE_NAME = 'runs'",
  )
  expect(counted).toEqual([[2]])
})

test('loses no rows of concurrent runs', async () => {
  const run = () => evaluate('test_table = asked, save_to = many_runs')
  await Promise.all(Array.from({ length: 6 }, run))
  expect(await t.rows('SELECT count(*) FROM many_runs')).toEqual([[6]])
})

test('takes a table with further columns, and refuses one without a needed one', async () => {
  await evaluate('test_table = asked, save_to = wide')
  await t.send('POST', '/api/sql/query', {
    query: "CREATE OR REPLACE TABLE wide AS SELECT 'first' AS remark, * FROM wide",
  })
  await evaluate('test_table = asked, save_to = wide')
  expect(await t.rows('SELECT remark FROM wide')).toEqual([['first'], [null]])
  await expect(evaluate('test_table = asked, save_to = wide, per_question = true')).rejects.toThrow(
    'save_to: the table wide has no column question, doc_id, position, query_time',
  )
})

test('refuses a value that its column cannot hold, and changes nothing', async () => {
  await evaluate('test_table = asked, save_to = narrow')
  await t.send('POST', '/api/sql/query', {
    query: 'CREATE OR REPLACE TABLE narrow AS SELECT * REPLACE (1::TINYINT AS id) FROM narrow',
  })
  await expect(evaluate('test_table = asked, save_to = narrow')).rejects.toThrow('out of range')
  expect(await t.rows('SELECT count(*) FROM narrow')).toEqual([[1]])
})

test.each([
  ['teas', 'save_to: mindsdb.teas is there already and is not a table'],
  ['files.x', 'save_to is written and must be a table of a project'],
  ['nowhere.x', 'nowhere'],
  ['asked', 'test_table and save_to must be two tables'],
  ["'a.b.c'", `Option "save_to" must name a table, as in project.table; it is 'a.b.c'`],
])('%s is refused', async (name, message) => {
  await expect(evaluate(`test_table = asked, save_to = ${name}`)).rejects.toThrow(message)
})
