/** The examples in docs/traces.md, run on the product in memory. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ask, createAgent } from '../../api/traces-fixture.ts'
import { createTestApp } from '../../support/test-app.ts'

const page = await Bun.file(join(import.meta.dir, '../../../docs/traces.md')).text()

function blocksOf(language: string): readonly string[] {
  const blocks = page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))
  return [...blocks].map(([, block = '']) => block.trim())
}

test('its statements and settings do what it says', async () => {
  const [prices = ''] = blocksOf('json')
  const app = await createTestApp({ environment: { EIDER_MODEL_PRICES: prices } })
  await app.send('POST', '/api/sql/query', { query: 'CREATE KNOWLEDGE_BASE docs' })
  await createAgent(app, 'helper', { provider: 'builtin', model_name: 'extractive' })
  const id = await ask(app, 'helper', 'In how many days?')
  await app.send('POST', `/api/traces/${id}/feedback`, { rating: -1, comment: 'No answer' })
  const statements = blocksOf('sql')
  expect(statements).toHaveLength(2)
  const [tokens, rated] = await Promise.all(statements.map((sql) => app.rows(sql)))
  expect(tokens).toMatchObject([
    [
      'helper',
      expect.any(String),
      1,
      expect.any(Number),
      expect.any(Number),
      0,
      expect.any(Number),
    ],
  ])
  const [question, , comment, tool] = rated?.[0] ?? []
  expect([question, comment, tool]).toEqual(['In how many days?', 'No answer', 'kb_list_tool'])
  const [list = ''] = blocksOf('sh')
  const path = list.split('localhost:47334')[1] ?? ''
  expect((await app.send('GET', path)).body).toMatchObject({ items: [{ trace_id: id }] })
  await app.close()
})
