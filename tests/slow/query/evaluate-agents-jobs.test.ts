/** EVALUATE AGENT as a job, and while users ask questions. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { endOf, type JobBody } from '../../api/jobs-fixture.ts'
import {
  type AgentEvaluation,
  evaluated,
  KEY,
  openAgentEvaluation,
  questions,
} from './agent-evaluation-fixture.ts'

let t: AgentEvaluation
beforeEach(async () => {
  t = await openAgentEvaluation({
    environment: {
      EIDER_AGENTS_MAX: '2',
      EIDER_AGENT_QUESTIONS_MAX: '2',
      EIDER_AGENT_QUEUE_MAX: '0',
    },
  })
})
afterEach(() => t.close())

const SET = questions('id, question, answer', [
  ['a', 'one', 'yes'],
  ['b', 'two', 'yes'],
  ['c', 'three', 'yes'],
])

async function onlyJob(): Promise<JobBody & { readonly kind: string; readonly title: string }> {
  const { body, text } = await t.app.send('GET', '/api/jobs')
  expect(text).not.toContain(KEY)
  const { items } = body as { items: readonly (JobBody & { kind: string; title: string })[] }
  expect(items.length).toBe(1)
  return items[0] as (typeof items)[number]
}

test('a job asks the questions; its failures are reported, its rows are those of the run', async () => {
  t.replies(({ prompt }) => (prompt === 'two' ? 401 : 'yes'))
  const { rows } = await t.evaluate(`${SET}, background = true, run = 'night', judge = 'contains'`)
  expect(rows.length).toBe(1)
  const started = await onlyJob()
  expect(started).toMatchObject({ kind: 'evaluation', title: 'EVALUATE AGENT helper, run night' })
  const job = await endOf(started, t.app)
  expect(job).toMatchObject({ state: 'done', rows: 3, total: 3, error_count: 1 })
  expect(job.errors[0]).toMatchObject({ item: 'b' })
  expect(job.errors[0]?.message).toStartWith('provider_refused')
  const saved = "SELECT id, correct FROM agent_evaluations WHERE run = 'night' ORDER BY position"
  expect(await t.app.rows(saved)).toEqual([
    ['a', true],
    ['b', null],
    ['c', true],
  ])
  t.replies(() => 'yes')
  const before = t.asked.length
  const again = await t.evaluate(`${SET}, run = 'night', judge = 'contains', summary = true`)
  expect(again.rows[0]).toMatchObject({ answered: 3, accuracy: 1 })
  expect(t.asked.length).toBe(before + 1)
})

test('a job that cannot be is refused at once', async () => {
  await expect(t.evaluate(`${SET}, background = true, judge = 'vibes'`)).rejects.toThrow('vibes')
  const { body } = await t.app.send('GET', '/api/jobs')
  expect(body).toMatchObject({ total: 0 })
})

test('a cancelled job keeps its answers, and continues when it is resumed', async () => {
  const { promise: asked, resolve: twoAsked } = Promise.withResolvers<void>()
  t.replies(({ prompt }) => {
    if (prompt !== 'two') return 'yes'
    twoAsked()
    return null
  })
  await t.evaluate(`${SET}, background = true, run = 'cut', concurrency = 1`)
  const { id } = await onlyJob()
  await asked
  await t.app.send('POST', `/api/jobs/${id}/cancel`)
  t.replies(() => 'yes')
  const before = t.asked.length
  await t.app.send('POST', `/api/jobs/${id}/resume`)
  expect(await endOf({ id }, t.app)).toMatchObject({ state: 'done', rows: 3 })
  expect(t.asked.slice(before).map(({ prompt }) => prompt)).toEqual(['two', 'three'])
})

test('a user is answered while an evaluation waits for its model, and it waits for users', async () => {
  const gate = Promise.withResolvers<void>()
  const { promise: begun, resolve: hasBegun } = Promise.withResolvers<void>()
  t.replies(async ({ prompt }) => {
    if (prompt === 'user') return 'for you'
    hasBegun()
    await gate.promise
    return 'yes'
  })
  const evaluation = t.evaluate(`${SET}, concurrency = 3`)
  await begun
  // The evaluation has one of two slots, and no other caller may wait.
  const ask = "SELECT answer FROM helper WHERE question = 'user'"
  for (let count = 0; count < 3; count += 1) {
    expect((await evaluated(t.app, ask)).rows).toEqual([{ answer: 'for you' }])
  }
  expect(t.asked.filter(({ prompt }) => prompt !== 'user').length).toBe(1)
  gate.resolve()
  expect((await evaluation).rows.map(({ correct }) => correct)).toEqual([true, true, true])
})
