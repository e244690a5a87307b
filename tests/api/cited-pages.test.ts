/** A citation names the page of its quote, even if the chunk begins on another page. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { drawnPdf, line } from '../reading/drawn-pdf.ts'
import { shape, tinyPptx } from '../reading/tiny-office.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

const SENTENCES = [
  'Walruses sleep on drifting ice.',
  'Copper bells ring before breakfast.',
  'The lighthouse keeper paints spoons.',
  'Tomatoes ripen behind the garage.',
  'Nine violins were sold in Lisbon.',
  'Glaciers carve valleys very slowly.',
]

const QUESTIONS = [
  'Where do walruses sleep?',
  'When do copper bells ring?',
  'Who paints spoons?',
  'Where do tomatoes ripen?',
  'Where were nine violins sold?',
  'What do glaciers carve?',
]

const PROJECT = '/api/projects/mindsdb'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  const files = {
    'deck.pdf': drawnPdf({ pages: SENTENCES.map((text) => line(text, 72, 700)) }),
    'deck.pptx': tinyPptx(SENTENCES.map((text) => shape([text]))),
    'heads.pptx': tinyPptx([
      shape(['A title alone'], 'title'),
      ...SENTENCES.map((text) => shape([text])),
    ]),
  }
  for (const [name, bytes] of Object.entries(files)) {
    const form = new FormData()
    form.set('file', new File([new Uint8Array(bytes)], name))
    expect((await t.send('PUT', `/api/files/${name}`, form)).status).toBe(200)
    const kb = name.replace('.', '_')
    await t.send('POST', `${PROJECT}/knowledge_bases`, { knowledge_base: { name: kb } })
    const insert = { knowledge_base: { files: [name] } }
    const { status } = await t.send('PUT', `${PROJECT}/knowledge_bases/${kb}`, insert)
    expect(status).toBe(200)
    const agent = { name: `${kb}_guide`, data: { knowledge_bases: [`mindsdb.${kb}`] } }
    await t.send('POST', `${PROJECT}/agents`, { agent })
  }
})
afterAll(() => t.close())

interface Answer {
  readonly content: string
  readonly citations: readonly { readonly text: string; readonly page: number | null }[]
}

test.each([
  ['deck_pdf', 0],
  ['deck_pptx', 0],
  ['heads_pptx', 1],
] as const)('the six sentences of %s are cited with their own pages', async (agent, before) => {
  for (const [index, sentence] of SENTENCES.entries()) {
    const messages = [{ question: QUESTIONS[index], answer: '' }]
    const path = `${PROJECT}/agents/${agent}_guide/completions`
    const { body } = await t.send('POST', path, { messages })
    const { content, citations } = (body as { readonly message: Answer }).message
    const own = citations.find(({ text }) => text.startsWith(sentence))
    expect([sentence, own?.page]).toEqual([sentence, before + index + 1])
    expect(content).toContain(`page ${before + index + 1}`)
  }
})

test('a chunk carries the page where it begins and the page where it ends', async () => {
  expect(await t.rows('SELECT page, page_end FROM deck_pdf')).toEqual([[1, 6]])
  expect(await t.rows('SELECT slide, slide_end FROM heads_pptx ORDER BY slide LIMIT 2')).toEqual([
    [1, 2],
    [3, 3],
  ])
  const [[starts, text] = []] = await t.rows('SELECT page_starts, chunk_content FROM deck_pdf')
  const pages = (starts as readonly number[]).map((start) => String(text).slice(start))
  expect(pages.map((page) => page.split('.')[0])).toEqual(
    SENTENCES.slice(1).map((sentence) => sentence.slice(0, -1)),
  )
})
