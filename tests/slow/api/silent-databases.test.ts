/** A database that accepts a query and never answers blocks others no longer than its own time limit. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chatServer } from '../../agents/chat-server.ts'
import { fakeSources, fakeTable } from '../../support/fake-sources.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

let app: TestApp
beforeAll(async () => {
  const sources = fakeSources({ silent: 'silent', shop: [fakeTable('orders', { id: 'BIGINT' })] })
  app = await createTestApp({ sources, environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
  for (const name of ['silent', 'shop']) {
    await app.store.dataSourceCatalog.createDataSource({ name, engine: 'postgres', parameters: {} })
  }
})
afterAll(() => app.close())

test.concurrent.each(['tables', 'columns'])(
  'information_schema.%s lists what answers',
  async (table) => {
    const query = `SELECT DISTINCT table_schema FROM information_schema.${table} WHERE table_schema IN ('shop', 'silent')`
    const { body } = await app.send('POST', '/api/sql/query', { query })
    expect(body).toMatchObject({
      data: [['shop']],
      warnings: ['Database silent is left out: no answer within 5 s'],
    })
  },
)

test.concurrent('an agent reads the tables of what answers, and says what does not', async () => {
  const server = chatServer(
    { kind: 'call', name: 'sql_db_list_tables', input: {} },
    { kind: 'text', pieces: ['Done.'] },
  )
  try {
    const model = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: server.url }
    const data = { knowledge_bases: [], tables: ['silent.*', 'shop.*'] }
    const agents = '/api/projects/mindsdb/agents'
    await app.send('POST', agents, { agent: { name: 'clerk', model, data } })
    const messages = [{ role: 'user', content: 'What is there?' }]
    const answer = await app.send('POST', `${agents}/clerk/completions`, { messages })
    expect(JSON.stringify(server.requests.at(-1))).toContain('shop.orders')
    const warning = 'Database silent could not list its tables: no answer within 3 s'
    expect(answer.text).toContain(warning)
    expect(JSON.stringify(server.requests[0])).toContain(warning)
  } finally {
    server.close()
  }
})
