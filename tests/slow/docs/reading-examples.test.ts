/** The examples in docs/load-data.md and docs/formats.md that depend only on each other, in order. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp } from '../../support/test-app.ts'

const DOCS = join(import.meta.dir, '../../../docs')

/** Sections whose blocks are statements, or requests written as a line `POST /path` and a body. */
const SECTIONS = [
  ['load-data.md', 'Files'],
  ['load-data.md', 'Chunks'],
  ['formats.md', 'Tables'],
  ['formats.md', 'Types'],
] as const

test.each(SECTIONS)('%s: %s', async (name, section) => {
  const page = await Bun.file(join(DOCS, name)).text()
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const [own = ''] = text.split('\n## ')
  const blocks = [...own.matchAll(/^```(sql|http)\n([\s\S]*?)^```/gm)]
  expect(blocks.length).toBeGreaterThan(0)
  const t = await createTestApp()
  for (const [, language, block = ''] of blocks) {
    if (language === 'sql') {
      const { text: answer } = await t.send('POST', '/api/sql/query', { query: block })
      expect([block, answer]).toEqual([block, expect.not.stringContaining('"type":"error"')])
      continue
    }
    const [line = '', ...body] = block.split('\n')
    const [method = '', path = ''] = line.split(' ')
    const type = /^Content-Type: (.*)$/.exec(body[0] ?? '')?.[1]
    if (type === undefined) {
      const answer = await t.send(method, path, JSON.parse(body.join('\n')))
      expect([block, answer.status < 300, answer.text]).toEqual([block, true, answer.text])
      continue
    }
    const request = { method, body: body.slice(2).join('\n'), headers: { 'content-type': type } }
    const sent = await t.app.handle(new Request(`http://localhost${path}`, request))
    expect([block, sent.status, await sent.text()]).toEqual([block, 200, expect.anything()])
  }
  await t.close()
})
