import { afterEach, expect, spyOn, test } from 'bun:test'
import { INGEST_LIMITS } from '../../src/core/domain/flow/ingest-limits.ts'
import { type SyncFixture, syncFixture } from './sync-fixture.ts'

let fixture: SyncFixture
let site: ReturnType<typeof slowSite>

afterEach(async () => {
  site.release()
  await fixture.close()
  await site.stop()
})

/** A page that moves the clock on until a batch is old, and one that waits for the test. */
function slowSite() {
  const now = performance.now.bind(performance)
  const clock = spyOn(performance, 'now')
  const released = Promise.withResolvers<void>()
  const pages: Readonly<Record<string, () => Promise<string>>> = {
    '/': async () => '<p>Teas of the world, a list of them.</p><a href="/green">green</a>',
    '/green': async () => {
      clock.mockImplementation(() => now() + INGEST_LIMITS.batchMs)
      return '<p>Green tea is steamed or fired.</p><a href="/black">black</a>'
    },
    '/black': async () => {
      await released.promise
      return '<p>Black tea is withered and rolled.</p>'
    },
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const page = pages[new URL(request.url).pathname]
      if (page === undefined) return new Response('none', { status: 404 })
      return new Response(await page(), { headers: { 'content-type': 'text/html' } })
    },
  })
  const stop = () => {
    clock.mockRestore()
    return server.stop(true)
  }
  return { url: `http://127.0.0.1:${server.port}/`, release: released.resolve, stop }
}

async function documentsWhileWaiting(count: number): Promise<void> {
  while (Object.keys(await fixture.documents()).length < count) await Bun.sleep(50)
}

test('a slow site is stored page by page, not at the end of the crawl', async () => {
  fixture = await syncFixture()
  site = slowSite()
  await fixture.addSource({ name: 'site', kind: 'site', url: site.url })
  const run = fixture.run('site')
  await documentsWhileWaiting(2)
  site.release()
  expect(await run).toMatchObject({ state: 'done', added: 3 })
})

test('a job of a slow site stores its pages while it crawls', async () => {
  fixture = await syncFixture()
  site = slowSite()
  await fixture.app.send('PUT', '/api/projects/mindsdb/knowledge_bases/docs', {
    knowledge_base: { urls: [site.url], limit: 3, background: true },
  })
  await documentsWhileWaiting(2)
  site.release()
  await documentsWhileWaiting(3)
})
