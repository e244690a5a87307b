/** The examples in docs/jobs.md about schedules, and in docs/databases.md with a real PostgreSQL. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { testPostgres } from '../../support/database-servers.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const DOCS = join(import.meta.dir, '../../../docs')
const databasesPage = await Bun.file(join(DOCS, 'databases.md')).text()
const jobsPage = await Bun.file(join(DOCS, 'jobs.md')).text()

function blocksOf(page: string, section: string, language: string): readonly string[] {
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const [own = ''] = text.split('\n## ')
  const blocks = own.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))
  return [...blocks].map(([, block = '']) => block.trim())
}

let app: TestApp
beforeEach(async () => {
  app = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
})
afterEach(() => app.close())

async function runStatements(block: string): Promise<readonly unknown[]> {
  const answers: unknown[] = []
  for (const query of block.split('\n')) {
    const { body, text } = await app.send('POST', '/api/sql/query', { query })
    expect([query, text]).toEqual([query, expect.not.stringContaining('"type":"error"')])
    answers.push((body as { data?: unknown }).data ?? null)
  }
  return answers
}

test('schedules', async () => {
  const [block = ''] = blocksOf(jobsPage, 'Schedules', 'sql')
  const answers = await runStatements(block)
  expect(answers[5]).toContainEqual([
    'nightly',
    '2099-01-01 03:00:00.000000',
    'day',
    'INSERT INTO sold SELECT * FROM orders WHERE id > LAST',
  ])
})

const server = await testPostgres()

describe.skipIf(server === null)('databases', () => {
  const { port = 0, user = '', password = '', database = '' } = server ?? {}
  const here = (text: string) => {
    return text
      .replace('"port": 5432', `"port": ${port}`)
      .replace('"user": "eider"', `"user": "${user}"`)
      .replace('"password": "secret"', () => `"password": ${JSON.stringify(password)}`)
      .replace('"database": "shop"}', `"database": "${database}"}`)
  }

  beforeEach(async () => {
    await server?.run(`DROP TABLE IF EXISTS orders;
      CREATE TABLE orders (id integer, name text, total numeric(10,2));
      INSERT INTO orders VALUES (1, 'ann', 3.5), (2, 'bob', 1.25), (3, 'ann', 2.25)`)
  })
  afterAll(() => server?.stop())

  test('statements', async () => {
    const [block = ''] = blocksOf(databasesPage, 'Connect', 'sql')
    const answers = await runStatements(here(block))
    expect(answers.slice(1, 5)).toEqual([
      [
        ['ann', 3.5],
        ['ann', 2.25],
      ],
      [
        ['ann', 2],
        ['bob', 1],
      ],
      [['orders']],
      [
        ['id', 'INTEGER', expect.any(String)],
        ['name', 'VARCHAR', 'text'],
        ['total', expect.stringContaining('DECIMAL'), expect.stringContaining('numeric')],
      ],
    ])
    expect(await app.rows('SELECT count(*) FROM sold')).toEqual([[3]])
  })

  test('requests', async () => {
    const commands = blocksOf(databasesPage, 'Connect', 'sh').flatMap((block) =>
      block.split('\n\n'),
    )
    const statuses: number[] = []
    const texts: string[] = []
    for (const command of commands) {
      const method = /-X (\w+)/.exec(command)?.[1] ?? 'GET'
      const path = /localhost:47334(\S+)/.exec(command)?.[1] ?? ''
      const data = /-d '(.*)'$/s.exec(command)?.[1]
      const body = data === undefined ? undefined : JSON.parse(here(data))
      const { status, text } = await app.send(method, path, body)
      statuses.push(status)
      texts.push(text)
    }
    expect(statuses).toEqual([201, 200, 200, 200, 200, 204])
    expect(texts[1]).toContain('"success":true')
    expect(texts[2]).toContain('orders')
    expect(texts.join()).not.toContain(password)
  })
})
