import { afterAll, beforeAll, expect, test } from 'bun:test'
import { METRICS } from '../../src/ops/telemetry/measurements.ts'
import { kindOfStatement } from '../../src/wiring/metric-parts.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

/** Returns the lines of one metric without its buckets. */
async function lines(name: string): Promise<readonly string[]> {
  const { text } = await t.send('GET', '/metrics')
  return text.split('\n').filter((line) => line.startsWith(name) && !line.includes('_bucket'))
}

const sql = (query: string) => t.send('POST', '/api/sql/query', { query })

test('requests are counted by the pattern of their route, never by a name', async () => {
  await t.send('GET', '/api/projects/secret_project')
  await t.send('GET', '/secret_path')
  const { text } = await t.send('GET', '/metrics')
  expect(text).toContain(
    'eider_http_requests_total{method="GET",route="/api/projects/:project_name",status="4xx"} 1',
  )
  expect(text).toContain('{method="GET",route="unknown",status="4xx"} 1')
  expect(text).toContain('eider_http_errors_total{status="404"}')
  expect(text.toLowerCase()).not.toContain('secret')
})

test('statements, searches and embeddings are counted', async () => {
  await sql('CREATE KNOWLEDGE_BASE teas')
  await sql("INSERT INTO teas (id, content) VALUES (1, 'green tea'), (2, 'black tea')")
  await sql("SELECT id FROM teas WHERE content = 'green'")
  await sql("SELECT id FROM teas WHERE content = 'green' AND hybrid_search = true")
  await sql('SELECT nothing FROM nowhere')
  expect(await lines('eider_statements_total')).toEqual(
    expect.arrayContaining([
      'eider_statements_total{kind="create",outcome="ok"} 1',
      'eider_statements_total{kind="insert",outcome="ok"} 1',
      'eider_statements_total{kind="select",outcome="ok"} 2',
      'eider_statements_total{kind="select",outcome="refused"} 1',
    ]),
  )
  expect(await lines('eider_statement_failures_total')).toEqual([
    'eider_statement_failures_total{code="sql_unknown_name"} 1',
  ])
  const searches = await lines('eider_searches_total')
  expect(searches.join()).toContain('kind="vector"')
  expect(searches.join()).toContain('kind="hybrid"')
  const [texts = ''] = await lines('eider_embedding_texts_total')
  expect(texts).toStartWith('eider_embedding_texts_total{provider="builtin"}')
  expect(await lines('eider_objects{kind="knowledge_bases"}')).toEqual([
    'eider_objects{kind="knowledge_bases"} 1',
  ])
})

test('questions to agents are counted, also where traces are off', async () => {
  const app = await createTestApp({ environment: { EIDER_TRACES: '0' } })
  await app.send('POST', '/api/projects/mindsdb/agents', { agent: { name: 'guide' } })
  const path = '/api/projects/mindsdb/agents/guide/completions'
  await app.send('POST', path, { messages: [{ question: 'Which tea?', answer: '' }] })
  const { text } = await app.send('GET', '/metrics')
  expect(text).toMatch(
    /eider_agent_questions_total\{provider="builtin",purpose="question",outcome="\w+"\} 1/,
  )
  await app.close()
})

test('every metric of the list is there, in both formats', async () => {
  const plain = await t.send('GET', '/metrics')
  expect(plain.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const accept = 'application/openmetrics-text; version=1.0.0, text/plain; q=0.5'
  const open = await t.send('GET', '/metrics', undefined, { accept })
  expect(open.headers.get('content-type')).toStartWith('application/openmetrics-text')
  expect(open.text).toEndWith('# EOF\n')
  for (const [name, { type }] of Object.entries(METRICS)) {
    expect(plain.text).toContain(`# TYPE ${name} ${type}\n`)
    expect(open.text).toContain(`# TYPE ${name.replace(/_total$/, '')} ${type}\n`)
  }
  const names = Object.keys(METRICS).map((name) => name.replace(/_total$/, ''))
  expect(new Set(names).size).toBe(names.length)
})

test('with a login they need one, unless a setting opens them', async () => {
  const login = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'secret' }
  const closed = await createTestApp({ environment: login })
  expect((await closed.send('GET', '/metrics')).status).toBe(401)
  await closed.close()
  const opened = await createTestApp({ environment: { ...login, EIDER_METRICS_OPEN: '1' } })
  expect((await opened.send('GET', '/metrics')).status).toBe(200)
  await opened.close()
})

test.each([
  ['SELECT 1', 'select'],
  ['  -- a comment\n/* another */ with x as (select 1) from x', 'select'],
  ['(SELECT 1)', 'select'],
  ['Desc teas', 'describe'],
  ['secret_word', 'other'],
  ['', 'other'],
])('%p is of the kind %p', (statement, kind) => {
  expect(kindOfStatement(statement)).toBe(kind)
})

/** Returns the names in a text that begin with a metric's name, with any suffix. */
function namedMetrics(text: string): readonly string[] {
  const names = text.match(/\b(?:eider|process)_[a-z_]+\b/g) ?? []
  return [...new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, '')))]
}

const root = new URL('../../', import.meta.url)
const page = await Bun.file(new URL('docs/operations.md', root)).text()

test('the page on operations lists each metric as it is', () => {
  const [, table = ''] = /<!-- metrics -->\n([\s\S]*?)\n\n/.exec(page) ?? []
  const rows = Object.entries(METRICS).map(([name, { type, help }]) => {
    return `| \`${name}\` | ${type} | ${help} |`
  })
  expect(table.split('\n').slice(2)).toEqual(rows)
  expect(namedMetrics(page).filter((name) => !Object.hasOwn(METRICS, name))).toEqual([])
})

test('the dashboard uses only existing metrics, and all of them', async () => {
  const text = await Bun.file(new URL('docs/grafana-dashboard.json', root)).text()
  const { panels }: { readonly panels: readonly Panel[] } = JSON.parse(text)
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  expect(queries.length).toBeGreaterThan(30)
  const named = namedMetrics(queries.join('\n'))
  expect(named.filter((name) => !Object.hasOwn(METRICS, name))).toEqual([])
  expect(Object.keys(METRICS).filter((name) => !named.includes(name))).toEqual([])
})

interface Panel {
  readonly targets?: readonly { readonly expr: string }[]
}
