/** Judgments as the page stores them: in statements one after the other, between which a server may end. */
import { afterAll, beforeAll, expect, mock, spyOn, test } from 'bun:test'
import { importQuestions } from '../../src/ui/views/search/judgments.ts'
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
const TABLE = { schema: 'mindsdb', table: 'given', question: 'question', document: 'document' }

const run = (query: string) => t.send('POST', '/api/sql/query', { query })

/** Stores the rows as judgments. @param statementsMax the server is gone after as many; @returns whether all were sent */
async function store(rows: string, statementsMax = Number.POSITIVE_INFINITY): Promise<boolean> {
  await run('CREATE OR REPLACE TABLE given (question VARCHAR, document VARCHAR, grade DOUBLE)')
  await run(`INSERT INTO given VALUES ${rows}`)
  let sent = 0
  const answer = async (_url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    sent += 1
    if (sent > statementsMax) return Response.json({ detail: 'gone' }, { status: 503 })
    const { body } = await t.send('POST', '/api/sql/query', JSON.parse(String(init?.body)))
    return Response.json(body)
  }
  const { preconnect } = fetch
  spyOn(globalThis, 'fetch').mockImplementation(Object.assign(answer, { preconnect }))
  return importQuestions(PLACE, { ...TABLE, grade: 'grade' }).then(
    () => true,
    () => false,
  )
}

const judgments = () => t.rows('SELECT * FROM teas_judgments ORDER BY ALL')

test('a judgment is replaced, added or taken back, also in a table that has it twice', async () => {
  await store("('green?', 'sencha', 1), ('black?', 'assam', 1), ('white?', 'yinzhen', 0)")
  await run("INSERT INTO teas_judgments VALUES ('green?', 'sencha', 0)")
  await store("('green?', 'sencha', 0), ('black?', 'assam', NULL), ('oolong?', 'tieguanyin', 1)")
  expect(await judgments()).toEqual([
    ['green?', 'sencha', 0],
    ['green?', 'sencha', 0],
    ['oolong?', 'tieguanyin', 1],
    ['white?', 'yinzhen', 0],
  ])
  await store("('green?', 'sencha', NULL)")
  expect(await judgments()).toHaveLength(2)
})

test('wherever a server ends while a judgment is replaced, there is the old or the new one', async () => {
  for (let statements = 0, isDone = false; !isDone; statements += 1) {
    await store("('green?', 'sencha', 1), ('kept?', 'sencha', 1)")
    isDone = await store("('green?', 'sencha', 0)", statements)
    const grades = (await judgments()).filter(([question]) => question === 'green?')
    expect([statements, grades.length]).toEqual([statements, 1])
    expect([0, 1]).toContain(Number(grades[0]?.[2]))
  }
})
