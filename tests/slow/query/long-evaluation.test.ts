import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/test-app.ts'
import { judgeServer } from './judge-server.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

test('an evaluation may take longer than a statement may', async () => {
  const statementMs = 2000
  const server = judgeServer(async () => {
    await Bun.sleep(statementMs + 200)
    return '{"query": "which tea is green?", "reference_answer": "sencha"}'
  })
  const t = await createTestApp({ environment: { EIDER_QUERY_MS: String(statementMs) } })
  try {
    await t.send('POST', KBS, { knowledge_base: { name: 'teas' } })
    const rows = [{ id: 'sencha', content: 'green tea' }]
    await t.send('PUT', `${KBS}/teas`, { knowledge_base: { rows } })
    const llm = { provider: 'openai', model_name: 'm', base_url: server.url }
    const query = `EVALUATE KNOWLEDGE_BASE teas USING test_table = mindsdb.tests,
      generate_data = true, llm = ${JSON.stringify(llm)}`
    const { body } = await t.send('POST', '/api/sql/query', { query })
    expect(body).toMatchObject({ type: 'table' })
    expect(await t.rows('SELECT doc_id, question FROM tests')).toEqual([
      ['sencha', 'which tea is green?'],
    ])
  } finally {
    await t.close()
    server.close()
  }
})
