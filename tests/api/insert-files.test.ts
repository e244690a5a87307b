/** `POST …/knowledge_bases/{kb}/files`: files become documents and leave nothing else behind. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', KBS, { knowledge_base: { name: 'notes' } })
})
afterAll(() => t.close())

function form(...files: readonly (readonly [name: string, content: string])[]): FormData {
  const sent = new FormData()
  for (const [name, content] of files) sent.append('file', new Blob([content]), name)
  return sent
}

test('each file is a document of its own name, with its folders', async () => {
  const files = form(['docs/tea.md', '# Tea\n\nGreen *leaves*.'], ['docs/ü b.txt', 'plain words'])
  const { status, body } = await t.send('POST', `${KBS}/notes/files`, files)
  expect([status, body]).toEqual([
    200,
    {
      files: [
        {
          name: 'docs/tea.md',
          format: 'markdown',
          documents: 1,
          chunks: 1,
          warnings: [],
          skipped_rows: 0,
          file_hash: expect.any(String),
        },
        {
          name: 'docs/ü b.txt',
          format: 'text',
          documents: 1,
          chunks: 1,
          warnings: [],
          skipped_rows: 0,
          file_hash: expect.any(String),
        },
      ],
      failed: [],
    },
  ])
  const hash = new Bun.CryptoHasher('sha256').update('plain words').digest('hex')
  expect(
    await t.rows(
      'SELECT id, title, file_path, file_hash, chunk_content FROM notes ORDER BY id DESC',
    ),
  ).toEqual([
    ['docs/ü b.txt', null, 'docs/ü b.txt', hash, 'plain words'],
    ['docs/tea.md', 'Tea', 'docs/tea.md', expect.any(String), expect.stringContaining('leaves')],
  ])
})

test('rows of a table are documents, and no file is left', async () => {
  await t.send('POST', KBS, { knowledge_base: { name: 'rows' } })
  const files = form(['a/prices.csv', 'tea,price\nsencha,9\nassam,6\n'])
  const { body } = await t.send('POST', `${KBS}/rows/files`, files)
  expect(body).toMatchObject({ files: [{ documents: 2, format: 'csv' }], failed: [] })
  expect(await t.rows('SELECT id, chunk_content, price, file_path FROM rows ORDER BY id')).toEqual([
    ['a/prices.csv:1', 'tea: sencha, price: 9', 9, 'a/prices.csv'],
    ['a/prices.csv:2', 'tea: assam, price: 6', 6, 'a/prices.csv'],
  ])
  expect((await t.send('GET', '/api/files')).body).toEqual([])
})

test('the table never appears in the catalog, so a kill leaves nothing behind', async () => {
  const seen: unknown[] = []
  const embedders: EmbedderRegistry = {
    ...wordEmbedders,
    embedder: (model) => ({
      embed: async (texts, signal) => {
        seen.push((await watched.send('GET', '/api/files')).body)
        return wordEmbedders.embedder(model).embed(texts, signal)
      },
    }),
  }
  const watched = await createTestApp({ embedders })
  try {
    await watched.send('POST', KBS, { knowledge_base: { name: 'rows' } })
    // The file is large enough that its rows are embedded while others are read.
    const row = (_: unknown, id: number) => `{"id": ${id}, "content": "tea"${' '.repeat(2000)}}\n`
    const rows = Array.from({ length: 2500 }, row).join('')
    const files = form(['prices.jsonl', rows], ['more.csv', 'tea\nassam\n'])
    const { body } = await watched.send('POST', `${KBS}/rows/files`, files)
    expect(body).toMatchObject({ files: [{ documents: 2500 }, { documents: 1 }], failed: [] })
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.flat()).toEqual([])
  } finally {
    await watched.close()
  }
})

test('a file that cannot be read does not stop the others', async () => {
  const files = form(['empty.txt', ''], ['blank.md', '  \n'], ['good.txt', 'good words'])
  const { status, body } = await t.send('POST', `${KBS}/notes/files`, files)
  expect([status, body]).toMatchObject([
    200,
    {
      files: [{ name: 'good.txt' }],
      failed: [
        { name: 'empty.txt', code: 'file_unreadable', detail: 'The file is empty' },
        { name: 'blank.md', code: 'file_unreadable' },
      ],
    },
  ])
})

test('a knowledge base that is not there, and a body without file names, are refused', async () => {
  expect(await t.send('POST', `${KBS}/none/files`, form(['a', 'b']))).toMatchObject({
    status: 404,
    body: { code: 'knowledge_base_not_found' },
  })
  expect(await t.send('POST', `${KBS}/notes/files`, 'text')).toMatchObject({
    status: 400,
    body: { code: 'missing_parameter' },
  })
})
