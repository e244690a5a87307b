/** EVALUATE KNOWLEDGE_BASE through HTTP, without a model. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { metricsOf } from '../../src/query/evaluate/measures.ts'
import { createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'
import { type EvaluationFixture, openEvaluation } from './evaluation-fixture.ts'

let fixture: EvaluationFixture
let t: TestApp
beforeAll(async () => {
  fixture = await openEvaluation()
  t = fixture.app
})
afterAll(() => fixture.close())

const table: EvaluationFixture['table'] = (...rows) => fixture.table(...rows)
const evaluate: EvaluationFixture['evaluate'] = (...asked) => fixture.evaluate(...asked)

describe('judgments', () => {
  beforeAll(() => {
    return table('judged', 'Query, Document_ID, score', [
      ['black tea', 'assam', 2],
      ['black tea', 'keemun', 1],
      ['black tea', 'rooibos', 0],
      ['caffeine', 'decaf', 1],
      ['coffee', 'coffee', 1],
      ['coffee', 'decaf', 2],
      ['nothing of this', 'sencha', 0],
    ])
  })

  test('give one row of means, chosen by the columns of the table', async () => {
    const [row, ...others] = await evaluate("test_table = 'mindsdb.judged', k = 2")
    expect(others).toEqual([])
    expect(Object.keys(row ?? {}).join(' ')).toBe(
      'questions skipped_questions unknown_documents k ndcg_at_k recall_at_k precision_at_k mrr map_at_k avg_query_time id name created_at',
    )
    expect(row).toMatchObject({ questions: 3, skipped_questions: 1, unknown_documents: 0, k: 2 })
    expect(row).toMatchObject({ recall_at_k: 1, mrr: 1, name: 'teas' })
    expect(row?.created_at).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/)
    expect(Number(row?.avg_query_time)).toBeGreaterThan(0)
  })

  test('rank documents by their best chunk, for any number of chunks', async () => {
    const options = "test_table = mindsdb.judged, version = 'judgments', k = 2, per_question = true"
    const rows = await evaluate(options)
    const coffee = rows.find(({ question }) => question === 'coffee')
    // Its twelve chunks come before the other document.
    const found = JSON.parse(String(coffee?.found_documents))
    expect(found).toEqual(['coffee', 'decaf'])
    const metrics = metricsOf(found, new Map(Object.entries({ coffee: 1, decaf: 2 })), 2)
    expect(coffee?.ndcg_at_k).toBeCloseTo(metrics?.ndcg ?? 0, 12)
    expect(coffee).toMatchObject({ relevant_documents: 2, recall_at_k: 1, precision_at_k: 1 })
  })

  test('come as a row for each question in the order of the table, with their means as above', async () => {
    const rows = await evaluate(
      "test_table = 'judged', k = 3, mode = 'hybrid', per_question = true",
    )
    expect(rows.map(({ question }) => question)).toEqual([
      'black tea',
      'caffeine',
      'coffee',
      'nothing of this',
    ])
    expect(rows.at(-1)).toMatchObject({ ndcg_at_k: null, relevant_documents: 0 })
    const [means] = await evaluate("test_table = 'judged', k = 3, mode = 'hybrid'")
    const values = rows.slice(0, 3).map(({ ndcg_at_k }) => Number(ndcg_at_k))
    const mean = values.reduce((sum, value) => sum + value, 0) / 3
    expect(means?.ndcg_at_k).toBeCloseTo(mean, 12)
  })

  test.each(['vector', 'keyword', 'hybrid'])('can be had by %s', async (mode) => {
    const [row] = await evaluate(`test_table = judged, mode = '${mode}', reranking = false`)
    expect(row).toMatchObject({ questions: 3 })
  })

  test('by keywords count only what holds a word', async () => {
    const options = "test_table = judged, mode = 'keyword', per_question = true"
    const rows = await evaluate(options)
    const found = Object.fromEntries(
      rows.map(({ question, found_documents }) => [question, JSON.parse(String(found_documents))]),
    )
    expect(found['black tea'].toSorted()).toEqual(['assam', 'keemun', 'sencha'])
    expect(found.caffeine.toSorted()).toEqual(['decaf', 'rooibos'])
    await table('known', 'question, doc_id', [['black tea', 'coffee']])
    const known = "test_table = known, version = 'doc_id', mode = 'keyword', per_question = true"
    expect(await evaluate(known)).toMatchObject([{ position: null }])
  })

  test('weigh the parts of a hybrid search', async () => {
    expect(await evaluate('test_table = judged, alpha = 0.3')).toHaveLength(1)
    expect(await evaluate("test_table = judged, fusion = 'rrf'")).toHaveLength(1)
    expect(await evaluate('test_table = judged, feedback = false')).toHaveLength(1)
  })

  test('count missing documents, and say so if all are missing', async () => {
    await table('partly', 'query, document, grade', [
      ['tea', 'assam', 1],
      ['tea', 'gone', 1],
      ['tea', 'never', 0],
    ])
    const [row] = await evaluate('test_table = partly')
    expect(row).toMatchObject({ unknown_documents: 1, recall_at_k: 0.5 })
    await table('elsewhere', 'query, document, grade', [['tea', 17, 1]])
    await expect(evaluate('test_table = elsewhere')).rejects.toThrow(
      "None of the 1 relevant documents of mindsdb.elsewhere is in teas: it has no id '17', for one",
    )
  })

  test('take the higher of two grades', async () => {
    await table('twice', 'query, document, grade', [
      ['tea', 'assam', 1],
      ['tea', 'assam', 0],
    ])
    expect(await evaluate('test_table = twice')).toMatchObject([{ questions: 1 }])
  })

  test('are read from a file, and from a view', async () => {
    const form = new FormData()
    form.set('file', new File(['query,document,grade\ntea,assam,1\n'], 'judged.csv'))
    await t.send('PUT', '/api/files/judged', form)
    expect(await evaluate('test_table = files.judged')).toMatchObject([{ questions: 1 }])
    const query = "CREATE VIEW of_tea AS (SELECT * FROM judged WHERE Query = 'black tea')"
    await t.send('POST', '/api/sql/query', { query })
    expect(await evaluate('test_table = of_tea')).toMatchObject([{ questions: 1 }])
  })

  test('are read from a SELECT', async () => {
    const select = `(SELECT * FROM judged WHERE Query = 'black tea')`
    expect(await evaluate(`test_table = ${select}`)).toMatchObject([{ questions: 1 }])
    await expect(evaluate(`test_table = (SELECT 'tea' AS question)`)).rejects.toThrow(
      "version 'doc_id' needs a column doc_id or document_id or document in (SELECT …)",
    )
    await expect(evaluate(`test_table = ${select}, generate_data = true`)).rejects.toThrow(
      'name a table',
    )
  })

  test('with texts that look like SQL search for these texts', async () => {
    const question = "it's 'quoted'; DROP TABLE judged -- :question"
    await table('hostile', 'query, document, grade', [[question, 'it', 1]])
    const rows = await evaluate('test_table = hostile, per_question = true')
    expect(rows).toMatchObject([{ question, recall_at_k: 1 }])
  })
})

describe('doc_id', () => {
  beforeAll(() => {
    return table('answered', 'question, doc_id', [
      ['green tea from japan', 'sencha'],
      ['black tea from china', 'keemun'],
      ['coffee coffee', 'rooibos'],
      ['green tea', 'gone'],
    ])
  })

  test('needs no model and gives the columns that clients know', async () => {
    const [row] = await evaluate('test_table = mindsdb.answered')
    expect(Object.keys(row ?? {}).join(' ')).toBe(
      'total total_found retrieved_in_top_10 cumulative_recall avg_query_time id name created_at',
    )
    expect(row).toMatchObject({ total: 4, total_found: 3, retrieved_in_top_10: 2 })
    const recall = JSON.parse(String(row?.cumulative_recall))
    expect(Object.keys(recall)).toEqual(Array.from({ length: 20 }, (_, at) => String(at)))
    expect([recall[0], recall[19]]).toEqual([0.5, 0.75])
  })

  test('gives the rank of the document of each question', async () => {
    const rows = await evaluate('test_table = answered, k = 5, per_question = true')
    expect(rows.map(({ doc_id, position }) => [doc_id, position])).toEqual([
      ['sencha', 0],
      ['keemun', 0],
      ['rooibos', null],
      ['gone', null],
    ])
  })
})

describe('what cannot be evaluated', () => {
  test.each([
    ['', 'test_table', 'k = 3'],
    ['an unknown table', "Table 'nope' not found", 'test_table = mindsdb.nope'],
    [
      'an unknown version',
      'Option "version" must be one of \'doc_id\'',
      "test_table = a.b, version = 'x'",
    ],
    [
      'an unknown option',
      "There is no option 'limit' in EVALUATE; there are test_table",
      'test_table = a.b, limit = 3',
    ],
    [
      'an unknown option of generate_data',
      "no option 'size' in generate_data",
      'test_table = a.b, generate_data = {size: 3}',
    ],
    [
      'generated judgments',
      'generate_data makes questions for doc_id',
      "test_table = a.b, version = 'judgments', generate_data = true",
    ],
    ['an unknown mode', 'Option "mode" must be one of', "test_table = a.b, mode = 'exact'"],
    ['k of 0', 'must be from 1 to 1000; it is 0', 'test_table = a.b, k = 0'],
    ['k of 1001', 'must be from 1 to 1000; it is 1001', 'test_table = a.b, k = 1001'],
    [
      'too many passages to judge',
      'must be from 1 to 100; it is 101',
      "test_table = a.b, version = 'llm_relevancy', k = 101",
    ],
    [
      'alpha out of range',
      'Option "alpha" must be a number from 0 to 1',
      'test_table = a.b, alpha = 1.5',
    ],
    [
      'a fusion that there is not',
      `Option "fusion" must be one of 'convex', 'scaled', 'rrf'; it is 'sum'`,
      "test_table = a.b, fusion = 'sum'",
    ],
    [
      'fusion without vectors',
      `Option "fusion" is for mode 'hybrid', not 'keyword'`,
      "test_table = a.b, fusion = 'rrf', mode = 'keyword'",
    ],
    [
      'feedback without vectors',
      `Option "feedback" is for mode 'hybrid', not 'vector'`,
      "test_table = a.b, feedback = true, mode = 'vector'",
    ],
    [
      'alpha without vectors',
      `Option "alpha" is for mode 'hybrid', not 'keyword'`,
      "test_table = a.b, alpha = 0.5, mode = 'keyword'",
    ],
    [
      'a table to save to without a name',
      'Option "save_to" must name a table',
      "test_table = a.b, save_to = ' '",
    ],
    [
      'nothing to do',
      'leaves nothing to do without generate_data',
      'test_table = a.b, evaluate = false',
    ],
    [
      'a reranking that there is not',
      'teas has no reranking model',
      'test_table = a.b, reranking = true',
    ],
    ['a name that is no text', 'Field "test_table" must be a string', 'test_table = 3'],
    [
      'a number of questions that is none',
      'must be from 1 to 1000; it is 0',
      'test_table = a.b, generate_data = {count: 0}',
    ],
  ])('%s', async (_, message, options) => {
    await expect(evaluate(options)).rejects.toThrow(message)
  })

  test('an unknown knowledge base', async () => {
    await expect(evaluate('test_table = a.b', 'nope')).rejects.toThrow('does not exist: nope')
  })

  test('a table without the columns: the missing ones are named, and the present ones', async () => {
    await table('other', 'question, answer', [['a', 'b']])
    await expect(evaluate('test_table = other')).rejects.toThrow(
      "version 'doc_id' needs a column doc_id or document_id or document in mindsdb.other; its columns are question, answer",
    )
    await expect(evaluate("test_table = other, version = 'judgments'")).rejects.toThrow(
      'and a column grade or score or relevance in mindsdb.other',
    )
  })

  test('columns of another type', async () => {
    await table('listed', 'question, doc_id', [[['a', 'b'], 'assam']])
    await expect(evaluate('test_table = listed')).rejects.toThrow(
      'the column "question" of mindsdb.listed holds VARCHAR[]; a question is a text',
    )
    await table('numbered', 'question, doc_id', [[7, 'assam']])
    await expect(evaluate('test_table = numbered')).rejects.toThrow('a question is a text')
    await table('several', 'question, doc_id', [['tea', ['assam']]])
    await expect(evaluate('test_table = several')).rejects.toThrow('named by its id')
    await table('flagged', 'question, doc_id, grade', [['tea', 'assam', true]])
    await expect(evaluate('test_table = flagged')).rejects.toThrow('a grade is a number')
  })

  test('a model for judgments, which asks none', async () => {
    await table('graded', 'query, document, grade', [['tea', 'assam', 1]])
    for (const version of ['', ", version = 'judgments'"]) {
      const options = `test_table = graded, llm = {"provider": "openai"}${version}`
      await expect(evaluate(options)).rejects.toThrow("version 'judgments' asks no model")
    }
  })

  test('a model for documents is not asked, with a warning', async () => {
    await table('found', 'question, doc_id', [['tea', 'assam']])
    const query = `EVALUATE KNOWLEDGE_BASE teas USING test_table = found, llm = {"provider": "openai"}`
    const { body } = await t.send('POST', '/api/sql/query', { query })
    const said = "llm is for generate_data and for version 'llm_relevancy'"
    expect(body).toMatchObject({ warnings: [`${said}: version 'doc_id' asks no model`] })
  })

  test('an empty table, empty values and grades that are not numbers', async () => {
    await table('bad', 'query, document, grade', [['tea', 'assam', 'high']])
    await expect(evaluate('test_table = bad')).rejects.toThrow(
      "mindsdb.bad, row 1: the grade 'high' is not a number",
    )
    await table('bad2', 'query, document, grade', [
      ['tea', 'assam', 1],
      [' ', 'assam', 1],
    ])
    await expect(evaluate('test_table = bad2')).rejects.toThrow(
      'mindsdb.bad2, row 2: the column "query" is empty',
    )
    const query = 'CREATE TABLE none AS SELECT * FROM bad2 WHERE grade > 1'
    await t.send('POST', '/api/sql/query', { query })
    await expect(evaluate('test_table = none')).rejects.toThrow(
      'The test table mindsdb.none has no rows',
    )
  })

  test('more questions than it asks', async () => {
    const query =
      "CREATE TABLE huge AS SELECT 'q' || i AS question, 'd' AS doc_id FROM range(10001) AS r(i)"
    await t.send('POST', '/api/sql/query', { query })
    await expect(evaluate('test_table = huge')).rejects.toThrow('has more than 10000 questions')
  })

  test.each([
    ["version = 'llm_relevancy'", "version 'llm_relevancy' needs a language model"],
    ['generate_data = true', 'generate_data needs a language model'],
    ['generate_data = true, llm = {"provider": "builtin"}', 'generate_data needs a language model'],
  ])('%s without a model says which options are missing', async (options, message) => {
    await table('asked', 'question, doc_id', [['black tea', 'assam']])
    const failing = evaluate(`test_table = asked, ${options}`)
    await expect(failing).rejects.toThrow(message)
    await expect(failing).rejects.toThrow('set llm = {')
    await expect(failing).rejects.toThrow('EIDER_CHAT_PROVIDER')
  })

  test('a statement without its words', async () => {
    const { body } = await t.send('POST', '/api/sql/query', { query: 'EVALUATE VIEW a' })
    expect(body).toMatchObject({ type: 'error', error_code: 4002 })
  })
})

test('ends within a second when its client goes away while it searches', async () => {
  const searching = Promise.withResolvers<void>()
  const stuck: EmbedderRegistry = {
    ...wordEmbedders,
    embedder: (ref) => ({
      embed: (texts, signal) => {
        if (texts[0] !== 'stuck') return wordEmbedders.embedder(ref).embed(texts, signal)
        searching.resolve()
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
      },
    }),
  }
  const own = await createTestApp({ embedders: stuck })
  await own.send('POST', '/api/projects/mindsdb/knowledge_bases', { knowledge_base: { name: 'k' } })
  await own.send('PUT', '/api/projects/mindsdb/knowledge_bases/k', {
    knowledge_base: { rows: [{ id: 'a', content: 'tea' }] },
  })
  await own.send('POST', '/api/sql/query', {
    query: "CREATE TABLE q AS SELECT 'stuck' AS question, 'a' AS doc_id",
  })
  const client = new AbortController()
  const answer = own.app.handle(
    new Request('http://localhost/api/sql/query', {
      method: 'POST',
      body: JSON.stringify({
        query: 'EVALUATE KNOWLEDGE_BASE k USING test_table = q, save_to = s',
      }),
      headers: { 'content-type': 'application/json' },
      signal: client.signal,
    }),
  )
  await searching.promise
  client.abort()
  await answer
  await expect(own.rows('SELECT * FROM s')).rejects.toThrow("'s' not found")
  await own.close()
})
