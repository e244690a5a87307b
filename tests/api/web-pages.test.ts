import { expect, test } from 'bun:test'
import { createTestApp } from '../support/test-app.ts'
import { endOf, type JobBody } from './jobs-fixture.ts'

const KB = '/api/projects/mindsdb/knowledge_bases'
const PAGES: Readonly<Record<string, string>> = {
  '/green': '<title>Green</title><p>Sencha is steamed green tea.',
  '/black': '<title>Black</title><p>Assam is malty black tea.',
}

test('an address without a page ends the insert, or is skipped while the rest is stored', async () => {
  const site = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      const page = PAGES[new URL(url).pathname]
      if (page === undefined) return new Response('no such page', { status: 404 })
      return new Response(page, { headers: { 'content-type': 'text/html' } })
    },
  })
  const app = await createTestApp({ environment: { EIDER_CRAWL_ALLOW: '127.0.0.1' } })
  try {
    await app.send('POST', KB, { knowledge_base: { name: 'teas' } })
    const of = (path: string) => `http://127.0.0.1:${site.port}${path}`
    const refused = ['http://10.1.2.3/private', 'not an address', 'https://ada:secret@example.org/']
    const urls = [of('/green'), of('/green'), ...refused, of('/missing'), of('/black')]
    const insert = (more: object) =>
      app.send('PUT', `${KB}/teas`, { knowledge_base: { urls, ...more } })
    const ended = async (more: object) => {
      return endOf((await insert({ ...more, background: true })).body as JobBody, app)
    }

    expect(await ended({})).toMatchObject({ state: 'failed', documents: 0 })
    const job = await ended({ error: 'skip' })
    expect(job).toMatchObject({ state: 'done', error: null, documents: 2, error_count: 4 })
    const messages = new Map(job.errors.map(({ item, message }) => [item, message]))
    expect(new Set(messages.keys())).toEqual(
      new Set(['address 4', 'address 5', 'http://10.1.2.3/private', of('/missing')]),
    )
    expect(messages.get('http://10.1.2.3/private')).toContain('is not a public address')
    expect(messages.get(of('/missing'))).toContain('404')
    expect(JSON.stringify(job)).not.toContain('secret')
    const rows = await app.rows('SELECT id FROM teas ORDER BY id')
    expect(rows).toEqual([[of('/black')], [of('/green')]])

    // The same insert with a client that waits. The warnings of the knowledge base list the rows
    // left out.
    expect((await insert({})).status).toBe(400)
    expect(await insert({ error: 'skip' })).toMatchObject({ status: 200, body: '' })
    const { body } = await app.send('GET', `${KB}/teas`)
    expect(JSON.stringify(body)).toContain('4 pages were not stored')
  } finally {
    await app.close()
    await site.stop(true)
  }
})
