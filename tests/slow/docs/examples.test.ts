/** The examples in README.md and in the pages of docs/, run with the built-in model on the product in memory. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { builtinEmbedders } from '../../support/builtin-embedders.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { blocksOf, commandsOf, curlCallOf, pageText } from './page-examples.ts'

const readme = await pageText('README.md')
const sqlPages = ['docs/sql.md', 'docs/sql-reference.md']
const sqlTexts = await Promise.all(sqlPages.map(pageText))
const startPage = await pageText('docs/start.md')
const searchPage = await pageText('docs/search.md')
const documentsPage = await pageText('docs/documents.md')
const httpPage = await pageText('docs/http.md')
const errorsPage = await pageText('docs/errors.md')

const commands = commandsOf(readme)
const embedders = builtinEmbedders()

describe('README.md', () => {
  let t: TestApp
  beforeAll(async () => {
    t = await createTestApp({ embedders })
  })
  afterAll(() => t.close())

  test('its commands do what it says, in their order', async () => {
    const calls = commands.map(curlCallOf)
    expect(calls.length).toBe(5)
    const answers: string[] = []
    for (const { method, path, body } of calls) {
      const answer = await t.send(method, path, body)
      expect([200, 201]).toContain(answer.status)
      answers.push(answer.text)
    }
    expect(answers[2]).toContain('Rooibos')
    expect(answers[4]).toContain('"output":')
    expect(answers[4]).toContain('without caffeine')
    for (const query of blocksOf(readme, 'sql')) {
      expect((await t.send('POST', '/api/sql/query', { query })).body).not.toHaveProperty(
        'error_message',
      )
    }
  })
})

/** Returns an app with the data that the README's commands leave behind. */
async function appOfReadme(): Promise<TestApp> {
  const t = await createTestApp({ embedders })
  for (const { method, path, body } of commands.map(curlCallOf)) await t.send(method, path, body)
  return t
}

describe('docs/start.md', () => {
  test('its commands find the right document and answer with it', async () => {
    const t = await createTestApp({ embedders })
    const calls = commandsOf(startPage).map(curlCallOf)
    expect(calls.length).toBe(5)
    const answers: { status: number; body: unknown }[] = []
    for (const { method, path, body } of calls) answers.push(await t.send(method, path, body))
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 201, 200])
    expect(answers[2]?.body).toMatchObject({
      data: [['laptops', expect.stringContaining('lost one to IT')]],
    })
    expect(answers[4]?.body).toMatchObject({
      message: {
        content: expect.stringContaining('30 days of paid leave'),
        citations: [{ document_id: 'leave' }],
      },
    })
    await t.close()
  })
})

describe('docs/search.md', () => {
  test('its searches find what the README stored', async () => {
    const t = await appOfReadme()
    const calls = commandsOf(searchPage).map(curlCallOf)
    expect(calls.length).toBe(4)
    const best: string[] = []
    for (const { method, path, body } of calls) {
      const answer = await t.send(method, path, body)
      expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
      const { results } = answer.body as { results: readonly { chunk_content: string }[] }
      best.push(results[0]?.chunk_content.split(' ')[0] ?? '')
    }
    expect(best).toEqual(['Rooibos', 'Sencha', 'Assam', 'Sencha'])
    await t.close()
  })
})

describe('docs/documents.md', () => {
  test('its commands list, store, read, change and delete', async () => {
    const t = await appOfReadme()
    const calls = commandsOf(documentsPage).map(curlCallOf)
    const statuses: number[] = []
    const bodies: unknown[] = []
    for (const { method, path, body } of calls) {
      const answer = await t.send(method, path, body)
      statuses.push(answer.status)
      bodies.push(answer.body)
    }
    expect(statuses).toEqual([200, 201, 200, 200, 204])
    const [shown] = blocksOf(documentsPage, 'json').map((block) => JSON.parse(block))
    const listed = bodies[0] as typeof shown
    expect(Object.keys(listed)).toEqual(Object.keys(shown))
    expect(Object.keys(listed.items[0])).toEqual(Object.keys(shown.items[0]))
    expect([listed.items.length, typeof listed.next]).toEqual([2, 'string'])
    expect(bodies[2]).toMatchObject({ exact: true, metadata: { price: 8 } })
    expect(bodies[3]).toMatchObject({ metadata: { price: 9, smoky: true } })
    await t.close()
  })
})

describe('docs/http.md', () => {
  test('its commands do what it says, after those of the README', async () => {
    const t = await appOfReadme()
    const calls = commandsOf(httpPage).map(curlCallOf)
    expect(calls.length).toBe(4)
    const answers: string[] = []
    for (const { method, path, body } of calls) {
      const answer = await t.send(method, path, body)
      expect([path, [200, 201].includes(answer.status), answer.text]).toEqual([
        path,
        true,
        answer.text,
      ])
      answers.push(answer.text)
    }
    expect(answers.slice(1, 3)).toEqual(['""', '""'])
    expect(await t.rows('SELECT DISTINCT id FROM recipes ORDER BY 1')).toEqual([
      ['Iced tea'],
      ['Tea 1'],
      ['Tea 2'],
      ['Tea 3'],
    ])
    expect(answers[3]).toContain('India')
    expect(answers[3]).toContain('"citations":[{')
    await t.close()
  })
})

describe('docs/errors.md', () => {
  test('its answers are those of the server, but for what it leaves out', async () => {
    const t = await createTestApp({ embedders })
    const calls = commandsOf(errorsPage).map(curlCallOf)
    const shown = blocksOf(errorsPage, 'json').map((block) => JSON.parse(block))
    expect([calls.length, shown.length]).toEqual([2, 2])
    for (const [index, { method, path, body }] of calls.entries()) {
      const answer = await t.send(method, path, body)
      const fields = Object.entries(shown[index] as Record<string, unknown>)
      expect(Object.keys(answer.body as object).sort()).toEqual(fields.map(([name]) => name).sort())
      const given = fields.filter(([, value]) => value !== '…' && typeof value !== 'object')
      expect(answer.body).toMatchObject(Object.fromEntries(given))
      expect(answer.status).toBe(index === 0 ? 404 : 200)
    }
    await t.close()
  })
})

describe(sqlPages.join(' and '), () => {
  let t: TestApp
  const params = { question: 'green tea', ids: ['sencha', 'assam'] }
  beforeAll(async () => {
    t = await createTestApp({ embedders })
    const kbs = '/api/projects/mindsdb/knowledge_bases'
    await t.send('POST', kbs, { knowledge_base: { name: 'teas' } })
    const rows = [
      { id: 'sencha', content: 'Sencha: green tea from Japan, grassy', price: 9, colour: 'green' },
      { id: 'assam', content: 'Assam: strong black tea from India', price: 6, colour: 'black' },
      { id: 'keemun', content: 'Keemun: mild black tea from China', price: 7, colour: 'black' },
      { id: 'rooibos', content: 'Rooibos has no caffeine', price: 5, colour: 'red' },
    ]
    await t.send('PUT', `${kbs}/teas`, { knowledge_base: { rows } })
    const form = new FormData()
    form.set('file', new File(['tea,amount\nsencha,3\nassam,5\nassam,2\nrooibos,1\n'], 'sales.csv'))
    await t.send('PUT', '/api/files/sales', form)
  })
  afterAll(() => t.close())

  for (const sql of sqlTexts.flatMap((text) => blocksOf(text, 'sql'))) {
    test(sql.replaceAll(/\s+/g, ' '), async () => {
      const headers = { 'x-session': 'shop' }
      const { body } = await t.send('POST', '/api/sql/query', { query: sql, params }, headers)
      const answer = body as { type: string; data?: unknown[]; error_message?: string }
      expect(answer.error_message).toBeUndefined()
      if (!/^(CREATE|ALTER|DROP|INSERT|UPDATE|DELETE|TRUNCATE|SET)/.test(sql))
        expect(answer.data?.length).toBeGreaterThan(0)
    })
  }
})
