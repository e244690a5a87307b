/** PDF files, from the upload to the chunks of a knowledge base. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { drawnPdf, line } from '../reading/drawn-pdf.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

test('chunks of a PDF know their page, their heading and the title', async () => {
  const page = (heading: string, text: string) =>
    line(heading, 72, 700, 'F1', 16) +
    line(text, 72, 660) +
    Array.from({ length: 40 }, (_, index) =>
      line('A further sentence says the same with more words.', 72, 640 - index * 12),
    ).join('')
  const pdf = drawnPdf({
    pages: [
      page('Storage', 'Rows are kept in files of columns.'),
      page('Search', 'Words and vectors find the rows.'),
    ],
    info: { Title: 'The manual' },
  })
  const form = new FormData()
  form.set('file', new File([new Uint8Array(pdf)], 'manual.pdf'))
  expect((await t.send('PUT', '/api/files/manual.pdf', form)).status).toBe(200)
  const kbs = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', kbs, { knowledge_base: { name: 'k' } })
  const insert = { knowledge_base: { files: ['manual.pdf'] } }
  expect((await t.send('PUT', `${kbs}/k`, insert)).status).toBe(200)
  const rows = await t.rows('SELECT DISTINCT title, page, heading FROM k ORDER BY page')
  expect(rows).toEqual([
    ['The manual', 1, 'Storage'],
    ['The manual', 2, 'Search'],
  ])
  expect(
    await t.rows('SELECT page FROM k WHERE chunk_content LIKE $text', { text: '%vectors%' }),
  ).toEqual([[2]])
})
