/** Judgments as the page stores them: in several statements, between which the server may end. */
import { afterAll, beforeAll, expect, mock, spyOn, test } from 'bun:test'
import { evaluateStatement, storeJudgment } from '../../src/ui/views/search/judgments.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(async () => {
  mock.restore()
  await t.close()
})

const PLACE = { project: 'mindsdb', name: 'teas' }
const run = (query: string) => t.send('POST', '/api/sql/query', { query })

type Given = readonly [question: string, document: string, grade: number | null]

/**
 * Stores a judgment.
 * @param statementsMax the number of statements after which the server is gone
 * @returns whether all were sent
 */
async function store(
  [question, document, grade]: Given,
  statementsMax = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  let sent = 0
  const answer = async (_url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    sent += 1
    if (sent > statementsMax) return Response.json({ detail: 'gone' }, { status: 503 })
    const { body } = await t.send('POST', '/api/sql/query', JSON.parse(String(init?.body)))
    return Response.json(body)
  }
  const { preconnect } = fetch
  spyOn(globalThis, 'fetch').mockImplementation(Object.assign(answer, { preconnect }))
  return storeJudgment(PLACE, { question, document, grade }).then(
    () => true,
    () => false,
  )
}

const judgments = () => t.rows('SELECT * FROM teas_judgments ORDER BY ALL')

test('a judgment is replaced, added or taken back, also in a table that has it twice', async () => {
  await store(['green?', 'sencha', 1])
  await store(['black?', 'assam', 1])
  await store(['white?', 'yinzhen', 0])
  await run("INSERT INTO teas_judgments VALUES ('green?', 'sencha', 0)")
  await store(['green?', 'sencha', 0])
  await store(['black?', 'assam', null])
  await store(['oolong?', 'tieguanyin', 1])
  expect(await judgments()).toEqual([
    ['green?', 'sencha', 0],
    ['green?', 'sencha', 0],
    ['oolong?', 'tieguanyin', 1],
    ['white?', 'yinzhen', 0],
  ])
  await store(['green?', 'sencha', null])
  expect(await judgments()).toHaveLength(2)
})

test('wherever a server ends while a judgment is replaced, there is the old or the new one', async () => {
  for (let statements = 0, isDone = false; !isDone; statements += 1) {
    await store(['green?', 'sencha', 1])
    isDone = await store(['green?', 'sencha', 0], statements)
    const grades = (await judgments()).filter(([question]) => question === 'green?')
    expect([statements, grades.length]).toEqual([statements, 1])
    expect([0, 1]).toContain(Number(grades[0]?.[2]))
  }
})

test('EVALUATE reads them with the settings of the search', async () => {
  const kb = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', kb, { knowledge_base: { name: 'teas' } })
  const rows = [{ id: 'sencha', content: 'A green tea of Japan' }]
  await t.send('PUT', `${kb}/teas`, { knowledge_base: { rows } })
  await store(['green tea?', 'sencha', 1])
  for (const mode of ['hybrid', 'vector', 'keyword'] as const) {
    const sql = evaluateStatement(PLACE, { mode, alpha: 0.5, fusion: 'rrf', k: 5 })
    const { body } = await run(sql)
    const { data, column_names: names } = body as { data: unknown[][]; column_names: string[] }
    const found = data.find(([question]) => question === 'green tea?')
    expect([mode, found?.[names.indexOf('ndcg_at_k')]]).toEqual([mode, 1])
  }
})
