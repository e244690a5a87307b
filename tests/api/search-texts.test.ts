/** Unusual search texts return results or one clear error, in every mode and in SQL. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const ROWS = [
  { id: 'sencha', content: 'sencha green tea japan' },
  { id: 'mixed', content: 'чай tea 茶 شاي ชา 차 τσάι' },
  { id: 'letter', content: 'a z' },
]

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', KBS, { knowledge_base: { name: 'teas' } })
  const filled = await t.send('PUT', `${KBS}/teas`, { knowledge_base: { rows: ROWS } })
  expect(filled.status).toBe(200)
})
afterAll(() => t.close())

const LONG = 100_000

const TEXTS: Readonly<Record<string, string>> = {
  'one letter': 'z',
  'stop words only': 'the of and to in a is that it',
  'one word of 100 000 letters': 'a'.repeat(LONG),
  'many words': Array.from({ length: 15_000 }, (_, index) => `w${index}`).join(' '),
  'spaces before a word': `${' '.repeat(LONG)}tea`,
  ideographs: '茶'.repeat(LONG),
  emoji: '😀'.repeat(LONG / 2),
  'quotation marks': '"'.repeat(LONG),
  phrases: '"a b" '.repeat(LONG / 6),
  'accents over one letter': `e${'\u0301'.repeat(LONG)}`,
  Thai: 'ช'.repeat(LONG),
  hyphens: 'a-'.repeat(LONG / 2),
  'scripts side by side': 'tea чай 茶 شاي ชา 차 τσάι',
  'an open quotation mark': 'green "tea japan',
  'a phrase of one word': '"tea"',
  'half of a pair': 'tea \ud83d x',
  'a zero byte': 'tea\u0000japan',
  'turned around': '\u202e\u202dtea',
}

describe('a search for', () => {
  for (const [name, query] of Object.entries(TEXTS)) {
    test(name, async () => {
      for (const mode of ['hybrid', 'vector', 'keyword']) {
        const { status, body } = await t.send('POST', `${KBS}/teas/search`, { query, mode, k: 3 })
        const { results } = body as { readonly results: readonly unknown[] }
        expect([mode, status, Array.isArray(results)]).toEqual([mode, 200, true])
        if (mode !== 'keyword') expect(results.length).toBe(3)
      }
      const where = 'content = :query AND hybrid_search = true'
      expect(await t.rows(`SELECT id FROM teas WHERE ${where} LIMIT 3`, { query })).toHaveLength(3)
    })
  }

  test('text beyond the limit is refused, blank or not', async () => {
    for (const query of ['x '.repeat(LONG * 1.5), ' '.repeat(LONG * 3)]) {
      const { status, body } = await t.send('POST', `${KBS}/teas/search`, { query })
      expect([status, Object.keys(body as object).includes('detail')]).toEqual([400, true])
    }
  })

  test('a word is analysed by its script, next to any other', async () => {
    for (const query of ['чай', 'τσάι', 'nothing чай']) {
      const { body } = await t.send('POST', `${KBS}/teas/search`, { query, mode: 'keyword' })
      const { results } = body as { readonly results: readonly { readonly id: string }[] }
      expect(results.map(({ id }) => id)).toEqual(['mixed'])
    }
  })
})

test('a knowledge base that is dropped during a search is not there', async () => {
  const drop = () => dropping.send('DELETE', `${KBS}/teas`)
  const dropping = await createTestApp({
    embedders: {
      ...wordEmbedders,
      embedder: (ref) => {
        const { embed } = wordEmbedders.embedder(ref)
        return {
          embed: async (texts, ...others) => {
            if (texts.includes('dropped')) expect((await drop()).status).toBe(204)
            return embed(texts, ...others)
          },
        }
      },
    },
  })
  await dropping.send('POST', KBS, { knowledge_base: { name: 'teas' } })
  await dropping.send('PUT', `${KBS}/teas`, { knowledge_base: { rows: ROWS } })
  const answer = await dropping.send('POST', `${KBS}/teas/search`, { query: 'dropped' })
  expect(answer.status).toBe(404)
  expect(answer.body).toMatchObject({ code: 'knowledge_base_not_found' })
  await dropping.close()
})
