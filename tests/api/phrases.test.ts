import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

const ROWS = [
  { id: 'layers', content: 'The boundary\n  layers, of the wing.' },
  { id: 'apart', content: 'A layer has a boundary' },
  { id: 'gpt-4', content: 'we tried the GPT-4 model once' },
  { id: 'gpt4', content: 'they tried GPT4 models twice' },
  { id: 'gpt 4', content: 'nobody tried a GPT 4 model' },
  { id: 'e-mail', content: 'an e-mail address is enough' },
  { id: 'email', content: 'no Email Address was given' },
  { id: 'e mail', content: 'give an address and e-mail' },
  { id: 'state', content: 'A state-of-the-art kitchen' },
  { id: 'web', content: 'the web-site map' },
  { id: 'straße', content: 'Lange Straße Nord' },
  { id: 'zh', content: '我们研究人工智能\n技术，很有趣' },
  { id: 'zh2', content: '工人的智能与技术' },
  { id: 'ja', content: '美味しい緑茶を「毎日」飲む。' },
  { id: 'ja2', content: '緑の茶わん' },
  { id: 'ko', content: '저는 녹색 차를 마신다' },
  { id: 'ko2', content: '차를 마신 녹색' },
  { id: 'th', content: 'ฉันชอบดื่มชาเขียว' },
  { id: 'ar', content: 'شربت الشاي الأخضر في المدرسة' },
  { id: 'ar2', content: 'الأخضر ثم الشاي' },
  { id: 'ru', content: 'Он пил зелёный чай, вечером' },
  { id: 'ru2', content: 'чай был зелёным' },
  { id: 'mixed', content: '使用GPT-4模型分析' },
  {
    id: 'titled',
    content: 'nothing of interest',
    title: 'Annual Report',
    layout: { syntax: 'text' },
  },
  { id: 'spanning', content: 'tables follow', title: 'Yearly', layout: { syntax: 'text' } },
]

let t: TestApp

beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', KBS, { knowledge_base: { name: 'kb', language: 'english' } })
  const filled = await t.send('PUT', `${KBS}/kb`, { knowledge_base: { rows: ROWS } })
  expect(filled.status).toBe(200)
})
afterAll(() => t.close())

test.each([
  ['"boundary layer"', ['layers']],
  ['"BOUNDARY: Layers"', ['layers']],
  ['"layers of wing"', ['layers']],
  ['"GPT-4 model"', ['gpt 4', 'gpt-4', 'gpt4']],
  ['"gpt4 models"', ['gpt 4', 'gpt-4', 'gpt4']],
  ['"GPT 4 model"', ['gpt 4', 'gpt-4', 'gpt4']],
  ['"tried GPT 4"', ['gpt 4', 'gpt-4', 'gpt4']],
  ['"4 model"', ['gpt 4', 'gpt-4', 'gpt4']],
  ['"e-mail address"', ['e-mail', 'email']],
  ['"email address"', ['e-mail', 'email']],
  ['"mail address"', ['e-mail']],
  ['"art kitchen"', ['state']],
  ['"state of the art kitchen"', ['state']],
  ['"website map"', ['web']],
  ['"web site map"', ['web']],
  ['"STRASSE nord"', ['straße']],
  ['"人工智能技术"', ['zh']],
  ['"智能 技术"', ['zh']],
  ['"工智"', ['zh']],
  ['「緑茶」', ['ja']],
  ['"緑茶を毎日"', ['ja']],
  ['"녹색 차"', ['ko']],
  ['"녹색"', ['ko', 'ko2']],
  ['"ชาเขียว"', ['th']],
  ['"الشاي الأخضر"', ['ar']],
  ['"зеленый чай"', ['ru']],
  ['«Зелёного чая»', ['ru']],
  ['"gpt4 模型"', ['mixed']],
  ['"annual report"', ['titled']],
  ['"yearly tables"', []],
  ['"report" "interest"', ['titled']],
])('the phrase %s is in %p', async (query, ids) => {
  const { body } = await t.send('POST', `${KBS}/kb/search`, { query, mode: 'keyword', k: 30 })
  const found = (body as { results: { id: string }[] }).results.map(({ id }) => id)
  expect(found.toSorted()).toEqual([...ids])
  const where =
    'content = :query AND hybrid_search = true AND hybrid_search_alpha = 0 AND relevance > 0'
  const rows = await t.rows(`SELECT id FROM kb WHERE ${where} LIMIT 30`, { query })
  expect(rows.map(([id]) => String(id)).toSorted()).toEqual([...ids])
})
