/** EVALUATE AGENT over HTTP with a chat model on loopback. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import {
  type AgentEvaluation,
  evaluated,
  KEY,
  openAgentEvaluation,
  questions,
} from './agent-evaluation-fixture.ts'

let t: AgentEvaluation
beforeAll(async () => {
  t = await openAgentEvaluation()
})
afterAll(() => t.close())
beforeEach(() => {
  t.replies(({ prompt }) => `It is ${prompt}.`)
})

describe('the questions', () => {
  test('are asked and answered in their order, a row for each', async () => {
    const set = questions('id, question, answer', [
      ['a', 'red', 'Red'],
      ['b', 'green', 'blue'],
      ['a', 'red', 'Red'],
    ])
    const { rows, warnings } = await t.evaluate(set)
    expect(rows.map((row) => [row.position, row.id, row.question, row.correct])).toEqual([
      [1, 'a', 'red', true],
      [2, 'b', 'green', false],
      [3, 'a', 'red', true],
    ])
    expect(rows[0]).toMatchObject({
      agent: 'mindsdb.helper',
      setting: 'base',
      expected: 'Red',
      answer: 'It is red.',
      contains: true,
      exact: false,
      said_not_found: false,
      error: null,
    })
    expect(String(rows[0]?.trace_id)).toMatch(/^[0-9a-f-]{36}$/)
    expect(Number(rows[0]?.seconds)).toBeGreaterThan(0)
    expect(warnings).toEqual([])
  })

  test('come from a table, a view, parameters and lists of answers', async () => {
    await t.app.send('POST', '/api/sql/query', {
      query: `CREATE OR REPLACE TABLE golden AS SELECT 'red' AS query, ['x', 'Red!'] AS answers
        UNION ALL SELECT 'blue', ['green']`,
    })
    const fromTable = await t.evaluate('questions = mindsdb.golden')
    expect(fromTable.rows.map(({ correct, expected }) => [expected, correct])).toEqual([
      ['["x","Red!"]', true],
      ['green', false],
    ])
    const asked = await t.evaluate(
      'questions = (SELECT query AS question, answers FROM golden WHERE query = :which), limit = 1',
      { which: 'blue' },
    )
    expect(asked.rows.map(({ question }) => question)).toEqual(['blue'])
    const json = questions('question, answers', [['red', '[{"text": "red", "start": 3}]']])
    expect((await t.evaluate(json)).rows[0]).toMatchObject({ expected: 'red', correct: true })
  })

  test('that are empty or fail are rows that say so', async () => {
    t.replies(({ prompt }) => (prompt === 'bad' ? 401 : 'ok'))
    const set = questions('question, answer', [
      [null, 'x'],
      ['bad', 'x'],
      ['good', 'ok'],
    ])
    const { rows, warnings } = await t.evaluate(set)
    expect(rows.map(({ correct }) => correct)).toEqual([null, null, true])
    expect(rows[0]?.error).toBe('invalid_request: The question is empty')
    expect(String(rows[1]?.error)).toStartWith('provider_refused: ')
    expect(warnings).toEqual(['2 of 3 questions failed (column error)'])
    expect(JSON.stringify(rows)).not.toContain(KEY)
  })

  test.each([
    [
      'questions = (SELECT 1 AS other)',
      'The questions need a column question; their columns are other',
    ],
    ["questions = (SELECT 'q' AS question WHERE false)", 'There are no questions'],
    ['questions = (SELECT question FROM nowhere)', 'nowhere'],
    ['questions = (DELETE FROM golden)', 'syntax error'],
    ['questions = (SELECT 1; SELECT 2)', 'one statement'],
    ['questions = (SELECT', '")"'],
    ['limit = 3', 'EVALUATE AGENT needs its questions'],
    ["questions = golden, judge = 'vibes'", `Option "judge" must be of 'exact'`],
    ["questions = golden, judge = 'citation'", "Judge 'citation' needs a column document_id"],
    ['questions = golden, wait = 1', "There is no option 'wait' in EVALUATE AGENT"],
    ["questions = golden, name = 'x'", 'name'],
    ['questions = golden, concurrency = 1000', 'from 1 to 32'],
    ['questions = golden, compare = {"max_steps": 1000}', 'max_steps'],
    ['questions = golden, compare = {}', 'Option "compare" changes nothing'],
    ['questions = golden, save_to = files.x', 'save_to is written and must be a table'],
    ['questions = golden, save_to = mindsdb.helper', 'is there already and is not a table'],
    ['questions = golden, save_to = golden', 'save_to: the table golden has no column run'],
    [
      "questions = (SELECT 'q' AS question), judge = 'model', model = {'provider': 'builtin'}",
      "Judge 'model' needs a language model",
    ],
  ])('%s is refused before anything is asked', async (options, message) => {
    const before = t.asked.length
    await expect(t.evaluate(options)).rejects.toThrow(message)
    expect(t.asked.length).toBe(before)
  })

  test('need an existing agent', async () => {
    const sql = "EVALUATE AGENT nobody USING questions = (SELECT 'q' AS question)"
    await expect(evaluated(t.app, sql)).rejects.toThrow('nobody')
    await expect(evaluated(t.app, 'EVALUATE VIEW x')).rejects.toThrow('EVALUATE AGENT')
  })

  test('may have nothing to judge by, with a warning', async () => {
    const { rows, warnings } = await t.evaluate(questions('question', [['red']]))
    expect(rows[0]).toMatchObject({ answer: 'It is red.', correct: null, contains: null })
    expect(warnings.join()).toContain('No answer is judged')
  })
})

describe('a hostile set of questions', () => {
  test('may be too many, too long or too deep', async () => {
    const many = "questions = (SELECT 'q' || i AS question FROM range(10001) AS r(i))"
    await expect(t.evaluate(many)).rejects.toThrow('at most 10000 questions')
    const long = "questions = (SELECT repeat('é', 40000) AS question UNION ALL SELECT 'ok')"
    const { rows } = await t.evaluate(long)
    expect(rows.map(({ error }) => error === null)).toEqual([false, true])
    const deep = `questions = (SELECT 'q' AS question, repeat('[', 40000) || repeat(']', 40000) AS answer)`
    expect((await t.evaluate(deep)).rows[0]).toMatchObject({ error: null, correct: false })
    const huge =
      "questions = (SELECT 'q' || i AS question, repeat('x', 100000) AS answer FROM range(2000) AS r(i))"
    await expect(t.evaluate(huge)).rejects.toThrow('at most 64000000 characters')
    const accepted = "questions = (SELECT 'q' AS question, range(101)::VARCHAR[] AS answers)"
    await expect(t.evaluate(accepted)).rejects.toThrow('Question 1 has more than 100 answers')
  })

  test('may ask an agent itself', async () => {
    const nested = "questions = (SELECT answer AS question FROM helper WHERE question = 'red')"
    const { rows } = await t.evaluate(nested)
    expect(rows[0]).toMatchObject({ question: 'It is red.', answer: 'It is It is red..' })
  })

  test('loses nothing where the model fails in every second answer', async () => {
    t.replies((_asked, turn) => (turn % 2 === 0 ? 403 : 'q'))
    const { rows } = await t.evaluate(
      "questions = (SELECT 'q' AS question, 'q' AS answer FROM range(20)), concurrency = 5",
    )
    expect(rows.map(({ position }) => position)).toEqual(
      Array.from({ length: 20 }, (_, at) => at + 1),
    )
    expect(rows.filter(({ error }) => error === null).length).toBe(10)
  })
})

test('the cost of a run is given in tokens and money', async () => {
  const prices = '{"m": {"input": 1, "output": 2}}'
  await using priced = await openAgentEvaluation({ environment: { EIDER_MODEL_PRICES: prices } })
  priced.replies(() => 'yes')
  const set = "questions = (SELECT 'q' AS question FROM range(2))"
  const { rows } = await priced.evaluate(set)
  expect(rows[0]).toMatchObject({ input_tokens: 7, output_tokens: 3, cost: 13e-6 })
  const [summary] = (await priced.evaluate(`${set}, summary = true`)).rows
  expect(summary).toMatchObject({ input_tokens: 14, output_tokens: 6, cost: 26e-6 })
})

test('traces of an evaluation are marked', async () => {
  const { rows } = await t.evaluate("questions = (SELECT 'q' AS question)")
  const { body } = await t.app.send('GET', `/api/traces/${rows[0]?.trace_id}`)
  expect(body).toMatchObject({ purpose: 'evaluation', question: 'q' })
})

describe('where there is no answer', () => {
  const set = questions('question, answer', [
    ['known', 'here'],
    ['unknown', null],
    ['invented', ''],
  ])

  test('it is right to say so', async () => {
    t.replies(({ prompt }) => {
      if (prompt === 'known') return 'It is here.'
      return prompt === 'unknown' ? 'I could not find that in the documents.' : 'It is 42.'
    })
    const { rows } = await t.evaluate(set)
    expect(rows.map((row) => [row.correct, row.not_found, row.said_not_found])).toEqual([
      [true, null, false],
      [true, true, true],
      [false, false, false],
    ])
    const { rows: summary } = await t.evaluate(`${set}, summary = true`)
    expect(summary).toEqual([
      expect.objectContaining({
        questions: 3,
        correct: 2,
        accuracy: 2 / 3,
        not_found: 0.5,
        wrongly_not_found: 0,
      }),
    ])
  })

  test('further ways to say so can be given', async () => {
    t.replies(() => 'Da muss ich passen.')
    const { rows } = await t.evaluate(`${set}, not_found_phrases = ['muss ich PASSEN']`)
    expect(rows.map(({ correct }) => correct)).toEqual([false, true, true])
  })
})

describe('two settings', () => {
  const set = questions('question, answer', [
    ['one', 'yes'],
    ['two', 'yes'],
    ['three', 'yes'],
  ])

  test('are asked side by side, compared question by question', async () => {
    t.replies(({ system, prompt }) => {
      const isTerse = system.includes('Be terse')
      return isTerse || prompt === 'three' ? 'yes' : 'no'
    })
    const compared = `${set}, compare = {'prompt_template': 'Be terse'}`
    const { rows } = await t.evaluate(compared)
    expect(rows.map(({ position, setting, correct }) => [position, setting, correct])).toEqual([
      [1, 'base', false],
      [1, 'compare', true],
      [2, 'base', false],
      [2, 'compare', true],
      [3, 'base', true],
      [3, 'compare', true],
    ])
    const { rows: summary } = await t.evaluate(`${compared}, summary = true`)
    expect(summary).toMatchObject([
      { setting: 'base', correct: 1, wins: null },
      { setting: 'compare', correct: 3, accuracy: 1, wins: 2, losses: 0, ties: 1, p_value: 0.5 },
    ])
    // None of it is stored.
    const { text } = await t.app.send('GET', '/api/projects/mindsdb/agents/helper')
    expect(text).not.toContain('Be terse')
  })

  test('one is tried by fields of the agent for this run only', async () => {
    t.replies(({ system }) => (system.includes('Say yes') ? 'yes' : 'no'))
    const { rows } = await t.evaluate(`${set}, prompt_template = 'Say yes'`)
    expect(rows.map(({ correct }) => correct)).toEqual([true, true, true])
  })
})

describe('citations', () => {
  beforeAll(async () => {
    const rows = [
      { id: 'sencha', content: 'Sencha is a green tea from Japan.' },
      { id: 'assam', content: 'Assam is a black tea from India.' },
    ]
    const at = '/api/projects/mindsdb/knowledge_bases'
    await t.app.send('POST', at, { knowledge_base: { name: 'teas' } })
    await t.app.send('PUT', `${at}/teas`, { knowledge_base: { rows } })
    const query = "CREATE AGENT reader USING data = {'knowledge_bases': ['mindsdb.teas']}"
    await t.app.send('POST', '/api/sql/query', { query })
  })

  test('of the right document are right, in the knowledge base that is named', async () => {
    const set = questions('question, document_id, knowledge_base', [
      ['Where is Sencha tea from', 'sencha', 'teas'],
      ['Where is Sencha tea from', 'nothing', null],
      ['Where is Sencha tea from', '["other", "sencha"]', 'mindsdb.teas'],
      ['Where is Sencha tea from', 'sencha', 'elsewhere'],
    ])
    const { rows } = await evaluated(t.app, `EVALUATE AGENT reader USING ${set}`)
    expect(rows.map(({ correct, cited }) => [correct, cited])).toEqual([
      [true, true],
      [false, false],
      [true, true],
      [false, false],
    ])
    expect(Number(rows[0]?.cited_rank)).toBeGreaterThan(0)
    expect(JSON.parse(String(rows[0]?.citations))[0]).toMatchObject({
      knowledge_base: 'mindsdb.teas',
    })
  })

  test('have numbers that are not answers', async () => {
    const set = questions('question, answer', [['Where is Sencha tea from', '1of1']])
    const { rows } = await evaluated(t.app, `EVALUATE AGENT reader USING ${set}`)
    expect(rows[0]?.contains).toBe(false)
  })
})
