import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { answerabilityOf } from '../../src/models/builtin/chat/unit-ranking.ts'
import { askScripted, calls, says } from '../agents/ask-scripted.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const TEAS = [
  ['rooibos', 'South Africa', 'Rooibos is a red herbal tea from South Africa. It has no caffeine.'],
  ['assam', 'India', 'Assam is a strong black tea from India. It goes well with milk.'],
  ['sencha', 'Japan', 'Sencha is a green tea from Japan. It is steamed after the harvest.'],
]
const ANSWERED = 'Which country is Sencha from?'
const MISSING = 'Who won the football world cup in 1966?'

let t: TestApp

beforeAll(async () => {
  t = await createTestApp()
  await fill('teas', {})
  await fill('own', { metadata_columns: ['answerable'] })
})
afterAll(() => t.close())

async function fill(name: string, fields: object): Promise<void> {
  const made = await t.send('POST', KBS, { knowledge_base: { name, ...fields } })
  expect(made.status).toBe(201)
  const rows = TEAS.map(([id, country, content]) => ({ id, country, content, answerable: 'yes' }))
  const sent = name === 'own' ? rows : rows.map(({ answerable: _, ...row }) => row)
  const filled = await t.send('PUT', `${KBS}/${name}`, { knowledge_base: { rows: sent } })
  expect(filled.status).toBe(200)
}

interface SqlAnswer {
  readonly data?: readonly (readonly unknown[])[]
  readonly error_code?: number
  readonly error_message?: string
}

async function sql(query: string, params = {}): Promise<SqlAnswer> {
  const { body } = await t.send('POST', '/api/sql/query', { query, params })
  return body as SqlAnswer
}

async function score(query: string, params = {}): Promise<number> {
  const { data, error_message } = await sql(query, params)
  expect(error_message).toBeUndefined()
  return Number(data?.[0]?.[0])
}

describe('the column answerable', () => {
  test('is that of POST …/search, and the same in every row', async () => {
    const query = 'SELECT answerable, id FROM teas WHERE content = :q'
    const { data = [] } = await sql(query, { q: ANSWERED })
    expect(data).toHaveLength(3)
    expect(new Set(data.map(([value]) => value)).size).toBe(1)
    const body = { query: ANSWERED, answerability: true }
    const searched = await t.send('POST', `${KBS}/teas/search`, body)
    const { answerable } = searched.body as { readonly answerable: number }
    expect(Number(data[0]?.[0])).toBeCloseTo(answerable, 6)
    expect(answerable).toBeGreaterThan(await score(query, { q: MISSING }))
  })

  test('does not depend on the LIMIT, the order or the columns of its SELECT', async () => {
    const from = `FROM teas WHERE content = '${ANSWERED}'`
    const plain = await score(`SELECT answerable ${from} LIMIT 1`)
    expect(
      await score(`SELECT max(k.answerable) FROM teas AS k WHERE content = '${ANSWERED}'`),
    ).toBe(plain)
    expect(await score(`WITH f AS (SELECT answerable ${from} LIMIT 2) SELECT * FROM f`)).toBe(plain)
    expect(await score(`SELECT answerable ${from} ORDER BY id DESC LIMIT 1 OFFSET 2`)).toBe(plain)
    const { data } = await sql(`SELECT count(*) ${from} AND answerable > ${plain + 0.01}`)
    expect(data).toEqual([[0]])
  })

  test('judges the chunks that the other conditions keep', async () => {
    const query = `SELECT answerable FROM teas WHERE content = '${ANSWERED}' AND country = :country`
    const kept = await score(query, { country: 'Japan' })
    expect(kept).toBeGreaterThan(await score(query, { country: 'India' }))
  })

  test('is null without a text, and not shown by *', async () => {
    expect((await sql('SELECT answerable FROM teas LIMIT 1')).data).toEqual([[null]])
    const { data } = await sql("SELECT *, answerable FROM teas WHERE content = 'tea' LIMIT 1")
    expect(data?.[0]).toHaveLength(7)
  })

  test("is the knowledge base's own where a metadata column has that name", async () => {
    const { data } = await sql("SELECT answerable FROM own WHERE content = 'tea' LIMIT 1")
    expect(data).toEqual([['yes']])
  })

  test('is refused, with what to write, where the rest of the statement decides', async () => {
    const join = `SELECT k.answerable FROM teas AS k JOIN own AS o ON k.id = o.id WHERE k.content = 'tea'`
    const { error_code, error_message } = await sql(join)
    expect(error_code).toBe(4005)
    expect(error_message).toContain('put that SELECT into a WITH')
  })
})

describe('a chat model that always answers', () => {
  const search = calls('kb_query_tool', {
    sql_query:
      'SELECT id, chunk_id, chunk_content, relevance, answerable FROM teas WHERE content = :q LIMIT 3',
  })

  async function asked(question: string) {
    const statement = String(JSON.stringify(search)).replace(':q', `'${question}'`)
    return askScripted(t, {
      data: { knowledge_bases: ['mindsdb.teas'] },
      question,
      turns: [JSON.parse(statement), says('It is surely Japan [sencha:content:1of1:0to66].')],
    })
  }

  test('is flagged if the results do not answer the question', async () => {
    const { message, seen, system } = await asked(MISSING)
    expect(message).toMatchObject({ evidence: 'none', low_evidence: true })
    expect(seen[0]).toContain("'answerable'")
    expect(system).toContain('The column answerable')
  })

  test('is not flagged where it does', async () => {
    const { message } = await asked(ANSWERED)
    expect(message).toMatchObject({ evidence: 'answer' })
    expect(message).not.toHaveProperty('low_evidence')
  })
})

test('the end of a long query, and what comes after the first 20 results, are not judged', () => {
  const found = Array.from({ length: 40 }, (_, at) => {
    const text = `Sencha number ${at} is a green tea from Japan.`
    return { documentId: `d${at}`, heading: '', text, relevance: 0.5, cosine: 0.5 - at / 100 }
  })
  const question = `${ANSWERED} ${'tea '.repeat(600)}`
  const judged = answerabilityOf(`${question} ${'a'.repeat(100_000)}`, found)
  expect(judged).toEqual(answerabilityOf(question, found.slice(0, 20)))
  expect(answerabilityOf(question, found.slice(0, 10))).not.toEqual(judged)
})
