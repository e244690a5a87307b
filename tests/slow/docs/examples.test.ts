/** The examples of README.md, docs/search.md and docs/sql.md, run with the built-in model against the product in memory. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { builtinEmbedders } from '../../support/builtin-embedders.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const ROOT = join(import.meta.dir, '../../..')

function blocksOf(markdown: string, language: string): readonly string[] {
  const blocks = markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))
  return [...blocks].map(([, block = '']) => block.trim())
}

interface CurlCall {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

/** `curl -X POST localhost:47334/api/… -H '…' -d '…'` as a shell would read it. */
function curlCallOf(command: string): CurlCall {
  const words = [...command.matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\s\\]+)/g)].map((word) => {
    return word[1] ?? word[2]?.replaceAll(/\\(.)/g, '$1') ?? word[3] ?? ''
  })
  const after = (flag: string) => words[words.indexOf(flag) + 1] ?? ''
  const address = words.find((word) => word.startsWith('localhost:47334')) ?? ''
  return {
    method: after('-X'),
    path: address.replace('localhost:47334', ''),
    body: JSON.parse(after('-d')),
  }
}

const readme = await Bun.file(join(ROOT, 'README.md')).text()
const sqlPage = await Bun.file(join(ROOT, 'docs/sql.md')).text()
const searchPage = await Bun.file(join(ROOT, 'docs/search.md')).text()

function commandsOf(markdown: string): readonly string[] {
  return blocksOf(markdown, 'sh')
    .flatMap((block) => block.split(/\n\n/))
    .filter((command) => command.startsWith('curl'))
}

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
  })
})

describe('docs/search.md', () => {
  test('its searches find what the README stored', async () => {
    const t = await createTestApp({ embedders })
    for (const { method, path, body } of commands.slice(0, 2).map(curlCallOf)) {
      await t.send(method, path, body)
    }
    const calls = commandsOf(searchPage).map(curlCallOf)
    expect(calls.length).toBe(3)
    const best: string[] = []
    for (const { method, path, body } of calls) {
      const answer = await t.send(method, path, body)
      expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
      const { results } = answer.body as { results: readonly { chunk_content: string }[] }
      best.push(results[0]?.chunk_content.split(' ')[0] ?? '')
    }
    expect(best).toEqual(['Rooibos', 'Assam', 'Sencha'])
    await t.close()
  })
})

describe('docs/sql.md', () => {
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

  for (const sql of blocksOf(sqlPage, 'sql')) {
    test(sql.replaceAll(/\s+/g, ' '), async () => {
      const { body } = await t.send('POST', '/api/sql/query', { query: sql, params })
      const answer = body as { type: string; data?: unknown[]; error_message?: string }
      expect(answer.error_message).toBeUndefined()
      if (!/^(CREATE|ALTER|DROP|INSERT|UPDATE|DELETE|SET)/.test(sql))
        expect(answer.data?.length).toBeGreaterThan(0)
    })
  }
})
