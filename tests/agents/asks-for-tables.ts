/**
 * A model that lists tables, requests descriptions of two, and tries to read one that is forbidden.
 */
import { expect } from 'bun:test'
import type { TestApp } from '../support/test-app.ts'
import { unfenced } from './agent-fixture.ts'
import { chatServer } from './chat-server.ts'

const QUERY = 'SELECT name, sum(total) AS total FROM shop.orders GROUP BY name ORDER BY name'
const HIDDEN = 'SELECT * FROM shop.staff.wages'

/** @returns what each tool answered, as the model saw it */
export async function askForTables(
  app: TestApp,
  tables: readonly string[],
): Promise<{ readonly seen: readonly string[]; readonly answer: string }> {
  const server = chatServer(
    { kind: 'call', name: 'sql_db_list_tables', input: {} },
    {
      kind: 'call',
      name: 'sql_db_schema',
      input: { table_names: 'shop.orders, shop.extra.notes' },
    },
    { kind: 'call', name: 'sql_db_query', input: { sql_query: QUERY } },
    { kind: 'call', name: 'sql_db_query', input: { sql_query: HIDDEN } },
    { kind: 'text', pieces: ['Done.'] },
  )
  try {
    const options = { provider: 'openai', model_name: 'm', api_key: 'k', base_url: server.url }
    const agent = { name: 'clerk', model: options, data: { knowledge_bases: [], tables } }
    const agents = '/api/projects/mindsdb/agents'
    const created = await app.send('POST', agents, { agent })
    expect(created).toMatchObject({ status: 201 })
    const messages = [{ role: 'user', content: 'What was sold?' }]
    const answer = await app.send('POST', `${agents}/clerk/completions`, { messages })
    const last = server.requests.at(-1) as { messages: { role: string; content: string }[] }
    const seen = last.messages
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => unfenced(content))
    return { seen, answer: answer.text }
  } finally {
    server.close()
  }
}
