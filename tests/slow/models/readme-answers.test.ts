import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type AskedAnswer, isRight, saysNothing } from '../../../bench/quality/asked-answer.ts'
import { ANSWERABLE, UNANSWERABLE } from '../../../bench/quality/readme-questions.ts'
import { readmeFiles } from '../../../scripts/readme-files.ts'
import { builtinEmbedders } from '../../support/builtin-embedders.ts'
import { isEverything, sampleOf } from '../../support/sample.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

/** A part of what `bench/quality/readme-answers.ts` measures. */
const PACKAGES = [
  'chokidar',
  'cli-progress',
  'cookie',
  'croner',
  'fflate',
  'global-agent',
  'onnxruntime-node',
  'pgpass',
  'sonic-boom',
]

const PROJECT = '/api/projects/mindsdb'
const README_LIMITS = { filesMax: 1000, charsMax: 12_000 }

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ embedders: builtinEmbedders() })
  const kbs = `${PROJECT}/knowledge_bases`
  await t.send('POST', kbs, { knowledge_base: { name: 'readmes' } })
  const readmes = await readmeFiles(join(import.meta.dir, '../../../node_modules'), README_LIMITS)
  const rows = readmes
    .filter(({ packageName }) => PACKAGES.includes(packageName))
    .map(({ packageName, text }) => ({ id: packageName, content: text }))
  expect(rows).toHaveLength(PACKAGES.length)
  await t.send('PUT', `${kbs}/readmes`, { knowledge_base: { rows } })
  await t.send('POST', `${PROJECT}/agents`, {
    agent: { name: 'guide', data: { knowledge_bases: ['mindsdb.readmes'] } },
  })
}, 120_000)
afterAll(() => t.close())

async function asked(question: string): Promise<AskedAnswer> {
  const messages = [{ question, answer: '' }]
  const { body } = await t.send('POST', `${PROJECT}/agents/guide/completions`, { messages })
  return (body as { readonly message: AskedAnswer }).message
}

test('most questions over READMEs are answered by what is quoted of the right document', async () => {
  const all = ANSWERABLE.filter(({ document }) => PACKAGES.includes(document))
  const questions = sampleOf(all, 2)
  const wrong: string[] = []
  for (const { question, document, expected } of questions) {
    if (!isRight(await asked(question), document, expected)) wrong.push(question)
  }
  expect(all.length).toBeGreaterThan(30)
  expect(wrong.length, wrong.join('\n')).toBeLessThanOrEqual(isEverything ? 10 : 5)
}, 180_000)

test('most questions without an answer there get that reply', async () => {
  const answered: string[] = []
  const questions = sampleOf(UNANSWERABLE, 2)
  for (const { question } of questions) {
    if (!saysNothing(await asked(question))) answered.push(question)
  }
  expect(answered.length, answered.join('\n')).toBeLessThanOrEqual(isEverything ? 8 : 2)
}, 180_000)

test("the README's five minutes are answered by Rooibos alone", async () => {
  const rows = [
    { id: 1, content: 'Sencha is a Japanese green tea with a grassy taste', price: 9 },
    { id: 2, content: 'Assam is a strong black tea from India, often drunk with milk', price: 6 },
    {
      id: 3,
      content: 'Rooibos is a red herbal infusion from South Africa without caffeine',
      price: 5,
    },
  ]
  const readme = await Bun.file(join(import.meta.dir, '../../../README.md')).text()
  for (const { content } of rows) expect(readme).toContain(content)
  const kbs = `${PROJECT}/knowledge_bases`
  await t.send('POST', kbs, { knowledge_base: { name: 'teas' } })
  await t.send('PUT', `${kbs}/teas`, { knowledge_base: { rows } })
  const agent = { name: 'sommelier', data: { knowledge_bases: ['mindsdb.teas'] } }
  await t.send('POST', `${PROJECT}/agents`, { agent })
  const question = 'Which tea has no caffeine?'
  expect(readme).toContain(question)
  const { body } = await t.send('POST', `${PROJECT}/agents/sommelier/completions`, {
    messages: [{ question, answer: '' }],
  })
  const { message } = body as { readonly message: AskedAnswer & { readonly evidence: string } }
  expect(message.content).toContain('**Rooibos is a red herbal infusion')
  expect(message.content).not.toMatch(/Sencha|Assam/)
  expect(message.evidence).toBe('answer')
  expect(message.citations[0]?.document_id).toBe('3')
}, 60_000)

test('a search says how likely its results answer the text', async () => {
  const answerable = async (query: string) => {
    const body = { query, answerability: true }
    const answer = await t.send('POST', `${PROJECT}/knowledge_bases/readmes/search`, body)
    return (answer.body as { readonly answerable: number }).answerable
  }
  expect(await answerable('How do I pause a cron job?')).toBeGreaterThan(0.8)
  expect(await answerable('What is the capital of Mongolia?')).toBeLessThan(0.2)
}, 60_000)
