/** Attempts to escape the restrictions (hostile.sql), and the data for them. */
import type { TestApp } from '../support/test-app.ts'

export const SECRET = 'sk-never-to-be-seen-anywhere'

export interface Attempt {
  readonly codes: readonly number[]
  readonly sql: string
}

export const ATTEMPTS: readonly Attempt[] = (
  await Bun.file(`${import.meta.dir}/hostile.sql`).text()
)
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('--'))
  .map((line) => {
    const at = line.indexOf(' ')
    return { codes: line.slice(0, at).split(',').map(Number), sql: line.slice(at + 1) }
  })

/** Creates a knowledge base with a secret, a file and a table. */
export async function fill(t: TestApp): Promise<void> {
  const kbs = '/api/projects/mindsdb/knowledge_bases'
  // No server listens there.
  const unreachable = { base_url: 'http://127.0.0.1:9/v1', max_retries: 0 }
  const reranking_model = { provider: 'openai', model_name: 'r', api_key: SECRET, ...unreachable }
  await t.send('POST', kbs, { knowledge_base: { name: 'kb', reranking_model } })
  const rows = [{ id: 'a', content: 'one', price: 1 }]
  await t.send('PUT', `${kbs}/kb`, { knowledge_base: { rows } })
  await t.send('PUT', '/api/files/f', 'a,b\n1,2\n')
  const query = 'CREATE TABLE mine (id INT PRIMARY KEY, s VARCHAR)'
  await t.send('POST', '/api/sql/query', { query })
}
