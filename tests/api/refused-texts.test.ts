import { expect, test } from 'bun:test'
import { failure, scriptedServer } from '../models/fixtures/scripted-server.ts'
import { createTestApp } from '../support/test-app.ts'

const PROJECT = '/api/projects/mindsdb'

test('a text that the model refuses does not block the rest of its batch', async () => {
  await using server = scriptedServer(({ body }) => {
    const texts: readonly unknown[] = Array.isArray(body.input) ? body.input : []
    if (texts.includes('bad text')) return failure(400, 'the text is too odd')
    return Response.json({ data: texts.map((_, index) => ({ index, embedding: [1, 0] })) })
  })
  const t = await createTestApp({ embedders: 'real' })
  const embedding_model = {
    provider: 'openai',
    model_name: 'm',
    api_key: 'k',
    base_url: server.url,
  }
  await t.send('POST', `${PROJECT}/knowledge_bases`, {
    knowledge_base: { name: 'kb', embedding_model },
  })
  const values = Array.from({ length: 40 }, (_, index) => {
    return `('${index}', '${index === 17 ? 'bad text' : `text ${index}`}')`
  })
  const insert = `INSERT INTO kb (id, content) VALUES ${values.join(', ')}`
  const raised = await t.send('POST', '/api/sql/query', { query: insert })
  expect(Object(raised.body).error_message).toContain('answered 400: the text is too odd')
  const query = `${insert} USING error = 'skip'`
  const { body } = await t.send('POST', '/api/sql/query', { query })
  expect(Object(body).error_message ?? null).toBeNull()
  const counted = await t.send('POST', '/api/sql/query', {
    query: "SELECT count(*), count(*) FILTER (id = '17') FROM kb",
  })
  expect(Object(counted.body).data).toEqual([[39, 0]])
  await t.close()
})
