/** Office files and mailboxes, from the upload to the chunks of a knowledge base. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { shape, tinyPptx } from '../reading/tiny-office.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
})
afterAll(() => t.close())

async function upload(name: string, content: Uint8Array<ArrayBuffer> | string) {
  const form = new FormData()
  form.set('file', new File([content], name))
  expect((await t.send('PUT', `/api/files/${name}`, form)).status).toBe(200)
}

test('slides know their number, messages are rows of their own', async () => {
  await upload(
    'deck.pptx',
    new Uint8Array(tinyPptx([shape(['First'], 'title'), shape(['Second'], 'title')])),
  )
  const message = (id: string) =>
    `From a@x.test Thu Jan  1 00:00:00 2026\nFrom: a@x.test\nSubject: ${id}\nMessage-ID: <${id}>\n\nText of ${id}\n\n`
  await upload('all.mbox', message('one') + message('two'))
  expect(await t.rows('SELECT title, "from", content FROM files."all.mbox" ORDER BY id')).toEqual([
    ['one', 'a@x.test', 'Text of one'],
    ['two', 'a@x.test', 'Text of two'],
  ])
  const kbs = '/api/projects/mindsdb/knowledge_bases'
  await t.send('POST', kbs, { knowledge_base: { name: 'k' } })
  const insert = { knowledge_base: { files: ['deck.pptx', 'all.mbox'] } }
  expect((await t.send('PUT', `${kbs}/k`, insert)).status).toBe(200)
  expect(
    await t.rows("SELECT title, slide, chunk_content FROM k WHERE id = 'deck.pptx'"),
  ).toContainEqual(['First', 1, expect.stringContaining('First')])
  expect(await t.rows("SELECT count(DISTINCT id) FROM k WHERE id LIKE 'all.mbox:%'")).toEqual([[2]])
})
