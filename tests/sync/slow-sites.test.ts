import { afterEach, expect, test } from 'bun:test'
import { type SyncFixture, syncFixture } from './sync-fixture.ts'

let fixture: SyncFixture
afterEach(() => fixture.close())

/** A page after a batch is old, and another one that answers only when the test lets it. */
function slowSite() {
  const released = Promise.withResolvers<void>()
  const pages: Readonly<Record<string, () => Promise<string>>> = {
    '/': async () => '<p>Teas of the world, a list of them.</p><a href="/green">green</a>',
    '/green': async () => {
      await Bun.sleep(5_100)
      return '<p>Green tea is steamed or fired.</p><a href="/black">black</a>'
    },
    '/black': async () => {
      await released.promise
      return '<p>Black tea is withered and rolled.</p>'
    },
  }
  const server = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1', idleTimeout: 60 },
    async fetch(request) {
      const page = pages[new URL(request.url).pathname]
      if (page === undefined) return new Response('none', { status: 404 })
      return new Response(await page(), { headers: { 'content-type': 'text/html' } })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/`, release: released.resolve, server }
}

async function documentsWhileWaiting(count: number): Promise<void> {
  while (Object.keys(await fixture.documents()).length < count) await Bun.sleep(50)
}

test('a slow site is stored page by page, not at the end of the crawl', async () => {
  fixture = await syncFixture()
  const site = slowSite()
  await fixture.addSource({ name: 'site', kind: 'site', url: site.url })
  const run = fixture.run('site')
  await documentsWhileWaiting(2)
  site.release()
  expect(await run).toMatchObject({ state: 'done', added: 3 })
  await site.server.stop(true)
})

test('a job of a slow site stores its pages while it crawls', async () => {
  fixture = await syncFixture()
  const site = slowSite()
  await fixture.app.send('PUT', '/api/projects/mindsdb/knowledge_bases/docs', {
    knowledge_base: { urls: [site.url], limit: 3, background: true },
  })
  await documentsWhileWaiting(2)
  site.release()
  await documentsWhileWaiting(3)
  await site.server.stop(true)
})
