/** The examples of docs/agents.md, in their order, over what the README stores. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { builtinEmbedders } from '../../support/builtin-embedders.ts'
import { createTestApp } from '../../support/test-app.ts'

const page = await Bun.file(join(import.meta.dir, '../../../docs/agents.md')).text()

const TEAS = [
  { id: 1, content: 'Sencha is a Japanese green tea with a grassy taste', price: 9 },
  { id: 2, content: 'Assam is a strong black tea from India, often drunk with milk', price: 6 },
  {
    id: 3,
    content: 'Rooibos is a red herbal infusion from South Africa without caffeine',
    price: 5,
  },
]

test('docs/agents.md: its statements measure an agent', async () => {
  const t = await createTestApp({ embedders: builtinEmbedders() })
  const at = '/api/projects/mindsdb'
  await t.send('POST', `${at}/knowledge_bases`, { knowledge_base: { name: 'teas' } })
  await t.send('PUT', `${at}/knowledge_bases/teas`, { knowledge_base: { rows: TEAS } })
  const agent = { name: 'sommelier', data: { knowledge_bases: ['mindsdb.teas'] } }
  await t.send('POST', `${at}/agents`, { agent })
  const section = page.slice(page.indexOf('## Measure your agent'))
  const blocks = [...section.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql = '']) => sql)
  const answers: { column_names: readonly string[]; data: readonly (readonly unknown[])[] }[] = []
  for (const query of blocks) {
    const { body } = await t.send('POST', '/api/sql/query', { query })
    expect((body as { error_message?: string }).error_message).toBeUndefined()
    answers.push(body as (typeof answers)[number])
  }
  const column = (index: number, name: string) => {
    const { column_names: names, data } = answers[index] ?? { column_names: [], data: [] }
    return data.map((row) => row[names.indexOf(name)])
  }
  // Made, asked, summed up, compared.
  expect(answers.length).toBe(4)
  expect(column(1, 'correct')).toEqual([true, true, true])
  expect(column(2, 'accuracy')).toEqual([1])
  expect(column(3, 'setting')).toEqual(['base', 'compare'])
  expect(column(3, 'losses')).toEqual([null, 2])
  await t.close()
})
