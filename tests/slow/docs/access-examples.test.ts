/** The examples in docs/access.md, run on the product in memory. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp } from '../../support/test-app.ts'

const page = await Bun.file(join(import.meta.dir, '../../../docs/access.md')).text()

function blockOf(language: string, text = page): string {
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(text)?.[1] ?? ''
}

test('its key is made, and its statement shows that', async () => {
  const app = await createTestApp()
  const sent = /-d '(.*)'/.exec(blockOf('bash'))?.[1] ?? ''
  const made = await app.send('POST', '/api/keys', JSON.parse(sent))
  expect(made.status).toBe(201)
  const headers = { authorization: `Bearer ${Object(made.body).key}` }
  expect((await app.send('GET', '/api/projects/mindsdb', undefined, headers)).status).toBe(200)
  expect((await app.send('DELETE', '/api/projects/mindsdb', undefined, headers)).status).toBe(403)
  const rows = await app.rows(blockOf('sql'))
  expect(rows.map((row) => row.slice(1))).toEqual([
    ['notebook', 'deleteProject', '["mindsdb"]', 'forbidden'],
    ['anyone', 'createKey', '["notebook"]', 'ok'],
  ])
  await app.close()
})
