/** How much of a PDF is read when its limits are reached. */
import { afterAll, expect, test } from 'bun:test'
import { readDocuments } from '../../src/reading/processes/read-file.ts'
import { createTestApp } from '../support/test-app.ts'
import { drawnPdf, line } from './drawn-pdf.ts'

const PAGES = 397
const book = drawnPdf({
  pages: Array.from({ length: PAGES }, (_, page) => {
    return Array.from({ length: 60 }, (_line, at) => {
      return line(
        `Line ${at} of page ${page + 1} tells of otters and of rivers.`,
        72,
        740 - at * 11,
      )
    }).join('')
  }),
})

const app = await createTestApp()
afterAll(() => app.close())

/** @param pages the number of pages after which most of the processor time is used up */
async function readUpTo(pages: number) {
  const warnings: string[] = []
  let asked = 0
  const notes = {
    recognize: () => {},
    warn: (sentence: string) => void warnings.push(sentence),
    isSpent: () => {
      asked += 1
      return asked >= pages
    },
  }
  const file = { bytes: book, format: 'pdf', name: 'book.pdf', charset: null, url: null } as const
  const [document] = await Array.fromAsync(readDocuments(file, notes))
  return { document, warnings }
}

test.each([
  [200, 'pages 201 to 397 were not read: reading took too much processor time'],
  [396, 'page 397 was not read: reading took too much processor time'],
  [1, 'pages 2 to 397 were not read: reading took too much processor time'],
])('the first %d pages are kept when the processor time is spent', async (pages, warning) => {
  const { document, warnings } = await readUpTo(pages)
  expect(document?.parts?.starts).toHaveLength(pages)
  expect(document?.content).toContain(`of page ${pages} tells`)
  expect(document?.content).not.toContain(`of page ${pages + 1} tells`)
  expect(warnings).toEqual([`${warning}; split the PDF to read them`])
})

test('with enough of it all 397 pages of a megabyte are read', async () => {
  expect(book.byteLength).toBeGreaterThan(1_400_000)
  const form = new FormData()
  form.set('file', new File([new Uint8Array(book)], 'book.pdf'))
  const { status, body } = await app.send('PUT', '/api/files/book', form)
  expect(status).toBe(200)
  expect(body).toMatchObject({ recognized: { pages: PAGES }, warnings: [] })
  const [[text] = []] = await app.rows('SELECT content FROM files.book')
  expect(String(text)).toContain(`of page ${PAGES} tells`)
})
