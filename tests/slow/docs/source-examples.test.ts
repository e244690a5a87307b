/** The examples in docs/sync.md, in order. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { syncFixture } from '../../sync/sync-fixture.ts'

const PAGE = join(import.meta.dir, '../../../docs/sync.md')

test('docs/sync.md: its commands and statements sync a knowledge base', async () => {
  const page = await Bun.file(PAGE).text()
  const blocks = [...page.matchAll(/^```(sh|sql)\n([\s\S]*?)^```/gm)]
  const inLanguage = (wanted: string) => {
    return blocks.filter(([, language]) => language === wanted).map(([, , text = '']) => text)
  }
  const fixture = await syncFixture()
  const { app } = fixture
  await fixture.write('handbook/leave.md', 'Thirty days a year.')

  const answers: [number, unknown][] = []
  for (const command of inLanguage('sh').flatMap((block) => block.trim().split('\n\n'))) {
    const method = /-X (\w+)/.exec(command)?.[1] ?? 'GET'
    const path = /localhost:47334(\S+)/.exec(command)?.[1] ?? ''
    const sent = /-d '([^']*)'/.exec(command)?.[1]
    const { status, body } = await app.send(method, path, sent && JSON.parse(sent))
    answers.push([status, body])
    if (status === 202) await app.send('GET', `/api/jobs/${Object(body).id}/events`)
  }
  expect(answers.map(([status]) => status)).toEqual([201, 202, 200])
  expect(answers[2]?.[1]).toMatchObject([{ state: 'done', added: 1 }])
  expect(Object.keys(await fixture.documents())).toEqual(['leave.md'])

  const statements = inLanguage('sql').flatMap((block) => block.trim().split('\n'))
  expect(statements).toHaveLength(6)
  for (const query of statements) {
    const { body } = await app.send('POST', '/api/sql/query', { query })
    expect([query, Object(body).error_message]).toEqual([query, undefined])
    if (/^(SHOW|SELECT|REFRESH)/.test(query)) expect(Object(body).data.length).toBeGreaterThan(0)
  }
  await fixture.close()
})
