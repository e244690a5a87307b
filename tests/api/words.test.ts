import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'

const ROWS = [
  { id: 'ru', content: 'Он читал книги вечером' },
  { id: 'ar', content: 'ذهبت إلى المدرسة' },
  { id: 'el', content: 'οι άνθρωποι διαβάζουν' },
  { id: 'hi', content: 'उसने किताबें खरीदीं' },
  { id: 'ko', content: '아이들이 학교에서 대한민국정부를 배운다' },
  { id: 'ja', content: '東京都庁で情報処理を学ぶ' },
  { id: 'zh', content: '我喜欢喝茶' },
  { id: 'th', content: 'ฉันชอบดื่มชาเขียว' },
  { id: 'de', content: 'Die Straße heißt so' },
  { id: 'gpt', content: 'we tried GPT-4 once' },
  { id: 'gpt3', content: 'they tried GPT3 twice' },
  { id: 'mail', content: 'send an e-mail today' },
  { id: 'email', content: 'the email came' },
  { id: 'owner', content: "the dog's bowl and café" },
  { id: 'comb', content: 'Гребневики могут съесть добычу' },
  { id: 'begins', content: 'Съезд закончился' },
  { id: 'titled', content: 'nothing of interest', title: 'Slipstream', layout: { syntax: 'text' } },
]

let t: TestApp

beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', KBS, { knowledge_base: { name: 'words' } })
  const filled = await t.send('PUT', `${KBS}/words`, { knowledge_base: { rows: ROWS } })
  expect(filled.status).toBe(200)
})
afterAll(() => t.close())

async function found(query: string): Promise<readonly string[]> {
  const { body } = await t.send('POST', `${KBS}/words/search`, { query, mode: 'keyword', k: 20 })
  return (body as { results: { id: string }[] }).results.map(({ id }) => id)
}

test.each([
  ['книга', ['ru']],
  ['гребневая', ['comb']],
  ['съедобные', []],
  ['مدرسة', ['ar']],
  ['άνθρωπος', ['el']],
  ['ανθρωπος', ['el']],
  ['किताब', ['hi']],
  ['학교', ['ko']],
  ['정부', ['ko']],
  ['東京', ['ja']],
  ['処理', ['ja']],
  ['茶', ['zh']],
  ['ชา', ['th']],
  ['เขียว', ['th']],
  ['STRASSE', ['de']],
  ['GPT4', ['gpt', 'gpt3']],
  ['gpt 4', ['gpt', 'gpt3']],
  ['GPT-3', ['gpt3', 'gpt']],
  ['email', ['email', 'mail']],
  ['e-mails', ['mail', 'email']],
  ['dogs', ['owner']],
  ['cafe', ['owner']],
])('%s finds %p', async (query, ids) => {
  const all = await found(query)
  expect([...all].sort()).toEqual([...ids].sort())
})

test('a separate title is found by its words', async () => {
  expect(await found('slipstream')).toEqual(['titled'])
})

test('texts of marks, lone surrogates and long words are searched without an error', async () => {
  for (const query of [
    '\u0301'.repeat(50_000),
    '\ud800',
    `${'x'.repeat(100_000)}`,
    '-'.repeat(9),
    '茶'.repeat(20_000),
  ]) {
    const answer = await t.send('POST', `${KBS}/words/search`, { query, mode: 'keyword' })
    expect(answer.status).toBeLessThan(500)
  }
})
