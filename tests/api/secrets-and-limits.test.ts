import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

const create = (fields: Record<string, unknown>) => t.send('POST', KBS, { knowledge_base: fields })
const put = (name: string, fields: Record<string, unknown>) => {
  return t.send('PUT', `${KBS}/${name}`, { knowledge_base: fields })
}

describe('what is sent again', () => {
  const model = {
    provider: 'openai',
    model_name: 'm',
    api_key: 'sk-victim',
    base_url: 'http://a.test/v1',
  }

  test('a stored key is not sent to another address', async () => {
    await create({ name: 'keyed', embedding_model: model, reranking_model: model })
    const elsewhere = 'http://b.test/v1'
    for (const fields of [
      { embedding_model: { base_url: elsewhere } },
      { embedding_model: { ...model, api_key: '******', base_url: elsewhere } },
      { reranking_model: { base_url: elsewhere } },
      { reranking_model: { ...model, api_key: '******', base_url: elsewhere } },
    ]) {
      const answer = await put('keyed', fields)
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('api_key')])
    }
    const kept = { base_url: 'http://a.test/v2', api_key: '******' }
    expect((await put('keyed', { embedding_model: kept })).status).toBe(200)
    const own = { base_url: elsewhere, api_key: 'sk-own' }
    expect((await put('keyed', { embedding_model: own })).status).toBe(200)
  })

  test('every secret is masked, in REST and in SQL', async () => {
    await create({
      name: 'masked',
      embedding_model: model,
      reranking_model: { ...model, max_tokens: 5 },
    })
    const read = await t.send('GET', `${KBS}/masked`)
    expect(read.body).toMatchObject({ reranking_model: { max_tokens: 5, api_key: '******' } })
    const described = JSON.stringify(await t.rows('DESCRIBE KNOWLEDGE_BASE masked'))
    for (const text of [read.text, described]) expect(text).not.toContain('sk-victim')
  })

  for (const [what, fields] of [
    ['a column twice', { content_columns: ['a', 'A'] }],
    ['an empty id column', { id_column: '' }],
    ['a key in an address', { embedding_model: { ...model, base_url: 'http://a.test/v1?key=x' } }],
    ['a text for a list', { metadata_columns: 'a' }],
    [
      'the default storage under another name',
      { storage: { database: 'duckdb', table: 'masked' } },
    ],
  ] as const) {
    test(`${what} is refused`, async () => {
      const answer = await create({ name: 'refused', ...fields })
      expect([400, 409]).toContain(answer.status)
    })
  }
})

test('the statement of an insert has the time limit of every statement', async () => {
  const limited = await createTestApp({ environment: { EIDER_QUERY_MS: '300' } })
  await limited.send('POST', KBS, { knowledge_base: { name: 'k' } })
  const query =
    "SELECT 'x' AS content, sum(a.range * b.range) AS id FROM range(300000) a, range(300000) b"
  const answer = await limited.send('PUT', `${KBS}/k`, { knowledge_base: { query } })
  expect([answer.status, answer.body]).toMatchObject([504, { code: 'timeout' }])
  await limited.close()
})
