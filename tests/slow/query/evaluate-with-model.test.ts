/** EVALUATE KNOWLEDGE_BASE with a chat model on loopback that uses OpenAI's protocol. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  type ModelScoredRanking,
  modelScoredRanking,
} from '../../../src/query/evaluate/measures.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { type JudgeServer, judgeServer, type Reply } from './judge-server.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const KEY = 'sk-a-secret-of-the-test'

const TEAS = [
  { id: 'sencha', content: 'green tea from japan' },
  { id: 'assam', content: 'black tea from india' },
  { id: 'keemun', content: 'mild tea from china' },
  { id: 'rooibos', content: 'red bush without caffeine' },
  { id: 'mate', content: 'leaves from brazil' },
  { id: 'mint', content: 'fresh leaves from a garden' },
]

let t: TestApp
let server: JudgeServer
let replyTo: (prompt: string, turn: number) => Reply | Promise<Reply>

beforeEach(async () => {
  replyTo = (prompt) => questionAbout(passageIn(prompt))
  server = judgeServer((prompt, turn) => replyTo(prompt, turn))
  t = await createTestApp()
  await t.send('POST', KBS, { knowledge_base: { name: 'teas' } })
  await t.send('PUT', `${KBS}/teas`, { knowledge_base: { rows: TEAS } })
})
afterEach(async () => {
  await t.close()
  server.close()
})

/** Returns the texts, which are in the prompt as one JSON object. */
function textsIn(prompt: string): { readonly question?: string; readonly passage: string } {
  return JSON.parse(prompt.split('\n\n')[0] ?? '') as { passage: string }
}

function passageIn(prompt: string): string {
  return textsIn(prompt).passage
}

function questionAbout(passage: string): string {
  return JSON.stringify({ query: `what is ${passage}`, reference_answer: `it is ${passage}` })
}

function llm(): string {
  const fields = { provider: 'openai', model_name: 'm', api_key: KEY, base_url: server.url }
  return `llm = ${JSON.stringify(fields)}`
}

type Row = Readonly<Record<string, unknown>>

async function evaluate(options: string): Promise<readonly Row[]> {
  const query = `EVALUATE KNOWLEDGE_BASE teas USING test_table = mindsdb.tests, ${options}`
  const { body, text } = await t.send('POST', '/api/sql/query', { query })
  expect(text).not.toContain(KEY)
  const answer = body as { column_names?: string[]; data?: unknown[][]; error_message?: string }
  if (answer.data === undefined) throw new Error(answer.error_message)
  return answer.data.map((row) => {
    return Object.fromEntries((answer.column_names ?? []).map((name, at) => [name, row[at]]))
  })
}

describe('generate_data', () => {
  test('makes a table of questions from chunks, and evaluates them by their documents', async () => {
    const [row] = await evaluate(`generate_data = {count: 4}, ${llm()}`)
    expect(row).toMatchObject({ total: 4, total_found: 4 })
    const made = await t.rows('SELECT * FROM tests')
    expect(made).toHaveLength(4)
    for (const [text, question, answer, id] of made) {
      expect(TEAS).toContainEqual({ id, content: text } as (typeof TEAS)[number])
      expect([question, answer]).toEqual([`what is ${text}`, `it is ${text}`])
    }
    const columns = await t.rows('DESCRIBE tests')
    expect(columns.map(([name]) => name)).toEqual(['text', 'question', 'answer', 'doc_id'])
  })

  test('takes the same texts for the same seed, and a table is replaced', async () => {
    const options = `generate_data = {count: 3, seed: 7}, evaluate = false, ${llm()}`
    expect(await evaluate(options)).toEqual([])
    const first = await t.rows('SELECT doc_id FROM tests ORDER BY 1')
    await evaluate(`generate_data = true, evaluate = false, ${llm()}`)
    expect(await t.rows('SELECT count(*) FROM tests')).toEqual([[TEAS.length]])
    await evaluate(options)
    expect(await t.rows('SELECT doc_id FROM tests ORDER BY 1')).toEqual(first)
    const seeds = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (seed) => {
        const query = `EVALUATE KNOWLEDGE_BASE teas USING test_table = t${seed}, evaluate = false, generate_data = {count: 1, seed: ${seed}}, ${llm()}`
        await t.send('POST', '/api/sql/query', { query })
        return (await t.rows(`SELECT doc_id FROM t${seed}`)).flat()[0]
      }),
    )
    expect(new Set(seeds).size).toBeGreaterThan(1)
  })

  test('asks a bounded number at a time', async () => {
    await evaluate(`generate_data = {count: 6}, evaluate = false, ${llm()}`)
    expect(server.atOnceMax()).toBeLessThanOrEqual(8)
  })

  test('takes texts from a SELECT, with ids of its own or none', async () => {
    const source = "from_sql: 'SELECT upper(content) AS Content, id AS ID FROM files.shelf'"
    const form = new FormData()
    form.set('file', new File(['id,content\n17,Darjeeling\n18,Oolong\n19,\n'], 'shelf.csv'))
    await t.send('PUT', '/api/files/shelf', form)
    await evaluate(`generate_data = {${source}}, evaluate = false, ${llm()}`)
    expect(await t.rows('SELECT doc_id, text FROM tests ORDER BY 1')).toEqual([
      ['17', 'DARJEELING'],
      ['18', 'OOLONG'],
    ])
    const bare = "from_sql: 'SELECT content FROM files.shelf', count: 1"
    const options = `version = 'llm_relevancy', evaluate = false, ${llm()}`
    await evaluate(`generate_data = {${bare}}, ${options}`)
    const columns = await t.rows('DESCRIBE tests')
    expect(columns.map(([name]) => name)).toEqual(['text', 'question', 'answer', 'id'])
    expect(await t.rows('SELECT id FROM tests')).toEqual([['1']])
  })

  test.each([
    ['SELECT id FROM teas', 'from_sql must give the columns id and content; it gives id'],
    ['SELECT chunk_content FROM teas', 'it gives chunk_content'],
    ["SELECT id, chunk_content FROM teas WHERE id = 'none'", 'from_sql has no text'],
    ['DROP TABLE x', 'only SELECT statements are supported here'],
    ['SELECT * FROM nowhere', "Table 'nowhere' not found"],
  ])('refuses %s, and asks nothing', async (sql, message) => {
    const source = `from_sql: ${JSON.stringify(sql).replaceAll('"', sql.includes("'") ? '"' : "'")}`
    await expect(evaluate(`generate_data = {${source}}, ${llm()}`)).rejects.toThrow(message)
    expect(server.prompts).toEqual([])
  })

  test('passes over five bad replies and takes other texts', async () => {
    replyTo = (prompt, turn) => (turn <= 5 ? 'I cannot' : questionAbout(passageIn(prompt)))
    await evaluate(`generate_data = {count: 1}, evaluate = false, ${llm()}`)
    expect(await t.rows('SELECT count(*) FROM tests')).toEqual([[1]])
  })

  test('fails at the sixth bad reply, and the former table stays', async () => {
    await t.send('POST', '/api/sql/query', { query: 'CREATE TABLE tests AS SELECT 42 AS kept' })
    replyTo = () => 'I cannot'
    await expect(evaluate(`generate_data = true, ${llm()}`)).rejects.toThrow(
      'The openai model m gave 6 replies that are not what was asked for; at most 5 are passed over',
    )
    expect(await t.rows('SELECT * FROM tests')).toEqual([[42]])
  })

  test('names the provider and its status when it refuses, and the former table stays', async () => {
    await t.send('POST', '/api/sql/query', { query: 'CREATE TABLE tests AS SELECT 42 AS kept' })
    replyTo = () => 401
    await expect(evaluate(`generate_data = true, ${llm()}`)).rejects.toThrow(
      `${server.url}/chat/completions answered 401`,
    )
    expect(await t.rows('SELECT * FROM tests')).toEqual([[42]])
  })

  test.each([
    ['{"provider": "nobody", "model_name": "m"}', 'Wrong model provider: nobody'],
    ['{"provider": "openai", "model_name": "m"}', 'llm: An api_key is required'],
    [
      '{"api_key": "k", "base_url": "http://127.0.0.1:1"}',
      'llm: A model of the provider openai needs',
    ],
    ['{"model_name": "m", "base_url": "file:///etc"}', 'base_url'],
    ["'gpt'", 'Field "llm" must be an object'],
  ])('refuses llm = %s', async (model, message) => {
    await expect(evaluate(`generate_data = true, llm = ${model}`)).rejects.toThrow(message)
  })

  test('ends when its client goes away, and the former table stays', async () => {
    await t.send('POST', '/api/sql/query', { query: 'CREATE TABLE tests AS SELECT 42 AS kept' })
    const started = Promise.withResolvers<void>()
    replyTo = () => {
      started.resolve()
      return null
    }
    const client = new AbortController()
    const query = `EVALUATE KNOWLEDGE_BASE teas USING test_table = tests, generate_data = true, ${llm()}`
    const answer = t.app.handle(
      new Request('http://localhost/api/sql/query', {
        method: 'POST',
        body: JSON.stringify({ query }),
        headers: { 'content-type': 'application/json' },
        signal: client.signal,
      }),
    )
    await started.promise
    client.abort()
    await Promise.all([answer, server.hasLeft])
    expect(await t.rows('SELECT * FROM tests')).toEqual([[42]])
  })
})

describe('llm_relevancy', () => {
  beforeEach(async () => {
    const values = "('black tea from india'), ('leaves')"
    const query = `CREATE TABLE tests AS SELECT * FROM (VALUES ${values}) AS t(question)`
    await t.send('POST', '/api/sql/query', { query })
    replyTo = (prompt) => {
      const { question = '', passage } = textsIn(prompt)
      return `${100 * scoreOf(question, passage)}`
    }
  })

  /** The score grows with the number of words from the question. */
  function scoreOf(question: string, passage: string): number {
    const words = question.split(' ')
    return words.filter((word) => passage.split(' ').includes(word)).length / words.length
  }

  /** Returns what a search finds, with the scores of the passages. */
  async function judged(question: string, k: number): Promise<ModelScoredRanking> {
    const sql = `SELECT chunk_content FROM teas WHERE content = '${question}' LIMIT ${k}`
    const passages = (await t.rows(sql)).flat().map(String)
    return modelScoredRanking(
      passages.map((passage) => scoreOf(question, passage)),
      k,
    )
  }

  test('scores the passages found and gives the columns that clients know', async () => {
    const [row] = await evaluate(`version = 'llm_relevancy', k = 2, ${llm()}`)
    expect(Object.keys(row ?? {}).join(' ')).toBe(
      'avg_relevancy avg_relevance_score_by_k avg_first_relevant_position mean_mrr hit_at_k bin_precision_at_k avg_entropy avg_ndcg avg_query_time id name created_at',
    )
    const both = [await judged('black tea from india', 2), await judged('leaves', 2)]
    const mean = (value: (ranking: ModelScoredRanking) => number | null) => {
      return both.reduce((sum, ranking) => sum + (value(ranking) ?? 0), 0) / both.length
    }
    expect(row).toMatchObject({
      avg_relevancy: mean(({ relevance }) => relevance),
      avg_first_relevant_position: mean((ranking) => ranking.firstRelevantPosition),
      mean_mrr: mean(({ reciprocalRank }) => reciprocalRank),
      hit_at_k: 1,
      bin_precision_at_k: mean(({ precision }) => precision),
      avg_entropy: mean(({ entropy }) => entropy),
      avg_ndcg: mean(({ ndcg }) => ndcg),
    })
    const byPlace = [0, 1].map((place) => mean(({ scores }) => scores[place] ?? 0))
    expect(JSON.parse(String(row?.avg_relevance_score_by_k))).toEqual(byPlace)
    expect(server.prompts).toHaveLength(4)
  })

  test('gives a row for each question', async () => {
    const rows = await evaluate(`version = 'llm_relevancy', k = 3, per_question = true, ${llm()}`)
    expect(rows.map(({ question }) => question)).toEqual(['black tea from india', 'leaves'])
    const { scores, relevance, precision, ndcg } = await judged('leaves', 3)
    expect(JSON.parse(String(rows[1]?.relevance_scores))).toEqual([...scores])
    expect(scores).toContain(1)
    expect(rows[1]).toMatchObject({ relevancy: relevance, precision_at_k: precision, ndcg })
  })

  test('asks again for an invalid score, five times at most', async () => {
    const scored = replyTo
    replyTo = (prompt, turn) => (turn <= 5 ? 'high' : scored(prompt, turn))
    expect(await evaluate(`version = 'llm_relevancy', k = 1, ${llm()}`)).toHaveLength(1)
    replyTo = () => 'high'
    await expect(evaluate(`version = 'llm_relevancy', k = 1, ${llm()}`)).rejects.toThrow(
      'replies that are not what was asked for',
    )
  })

  test('has no relevance where the model sees none', async () => {
    replyTo = () => '0'
    const [row] = await evaluate(`version = 'llm_relevancy', ${llm()}`)
    expect(row).toMatchObject({ avg_relevancy: 0, mean_mrr: 0, hit_at_k: 0 })
    expect(row).toMatchObject({ avg_first_relevant_position: null, avg_ndcg: null })
  })

  test("takes the knowledge base's reranking model where no llm is named", async () => {
    const model = { provider: 'openai', model_name: 'own', api_key: KEY, base_url: server.url }
    await t.send('PUT', `${KBS}/teas`, { knowledge_base: { reranking_model: model } })
    const options = "version = 'llm_relevancy', k = 1, reranking = false"
    expect(await evaluate(options)).toMatchObject([{ hit_at_k: 1 }])
  })
})

test('the model of the settings is taken where nothing else is named', async () => {
  const environment = {
    EIDER_CHAT_PROVIDER: 'openai',
    EIDER_CHAT_MODEL: 'm',
    OPENAI_BASE_URL: server.url,
    OPENAI_API_KEY: KEY,
  }
  await t.close()
  t = await createTestApp({ environment })
  await t.send('POST', KBS, { knowledge_base: { name: 'teas' } })
  await t.send('PUT', `${KBS}/teas`, { knowledge_base: { rows: TEAS } })
  expect(await evaluate('generate_data = {count: 2}')).toMatchObject([{ total: 2 }])
})
