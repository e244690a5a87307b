import { afterEach, describe, expect, test } from 'bun:test'
import { type SyncFixture, syncFixture } from './sync-fixture.ts'

let fixture: SyncFixture
let site: ReturnType<typeof testSite>

afterEach(async () => {
  await fixture.close()
  site.stop()
})

interface Page {
  status?: number
  content?: string
  type?: string
  headers?: Record<string, string>
}

/** A site whose pages a test changes. It answers 304 to requests with their tags. */
function testSite(pages: Record<string, Page>) {
  const asked: string[] = []
  const headers: Headers[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname } = new URL(request.url)
      asked.push(pathname)
      headers.push(request.headers)
      const page = pages[pathname]
      if (page === undefined) return new Response('none', { status: 404 })
      const tag = `"${Bun.hash(page.content ?? '')}"`
      if (request.headers.get('if-none-match') === tag) return new Response(null, { status: 304 })
      return new Response(page.content ?? '', {
        status: page.status ?? 200,
        headers: { 'content-type': page.type ?? 'text/html', etag: tag, ...page.headers },
      })
    },
  })
  const url = (path: string) => `http://127.0.0.1:${server.port}${path}`
  return { asked, headers, pages, url, stop: () => void server.stop(true) }
}

function html(text: string, links: readonly string[] = []): Page {
  const list = links.map((link) => `<a href="${link}">${link}</a>`).join(' ')
  return { content: `<html><body><main><p>${text}</p>${list}</main></body></html>` }
}

function sitemap(entries: readonly (readonly [path: string, lastmod: string | null])[]): Page {
  const listed = entries.map(([path, lastmod]) => {
    const changed = lastmod === null ? '' : `<lastmod>${lastmod}</lastmod>`
    return `<url><loc>${site.url(path)}</loc>${changed}</url>`
  })
  return { type: 'text/xml', content: `<urlset>${listed.join('')}</urlset>` }
}

describe('a file by its address', () => {
  test('is asked for with its tag, and sent its headers', async () => {
    fixture = await syncFixture()
    site = testSite({ '/tea.md': { content: '# Green tea\n\nSteamed.', type: 'text/markdown' } })
    const source = {
      name: 'tea',
      kind: 'url',
      url: site.url('/tea.md'),
      headers: { 'X-Key': 'k1' },
    }
    await fixture.addSource(source)
    expect(await fixture.run('tea')).toMatchObject({ state: 'done', added: 1, pages: 1 })
    expect(await fixture.run('tea')).toMatchObject({ unchanged: 1, pages: 1, bytes: 0 })
    site.pages['/tea.md'] = { content: '# Green tea\n\nFired.', type: 'text/markdown' }
    expect(await fixture.run('tea')).toMatchObject({ changed: 1 })
    expect((await fixture.documents())[site.url('/tea.md')]).toContain('Fired')
    expect(site.headers.at(-1)?.get('x-key')).toBe('k1')
    const { text } = await fixture.app.send(
      'GET',
      '/api/projects/mindsdb/knowledge_bases/docs/sources/tea',
    )
    expect(text).not.toContain('k1')
    expect(text).toContain('******')

    delete site.pages['/tea.md']
    expect(await fixture.run('tea')).toMatchObject({ state: 'failed', removed: 0 })
    expect(Object.keys(await fixture.documents())).toHaveLength(1)
  })
})

test('headers of a source do not follow a redirect to another host', async () => {
  fixture = await syncFixture()
  site = testSite({})
  const other = testSite({ '/tea.md': { content: 'Steamed.', type: 'text/markdown' } })
  site.pages['/tea.md'] = { status: 302, headers: { location: other.url('/tea.md') } }
  const headers = { 'X-Key': 'k1' }
  await fixture.addSource({ name: 'tea', kind: 'url', url: site.url('/tea.md'), headers })
  expect(await fixture.run('tea')).toMatchObject({ state: 'done', added: 1 })
  expect(site.headers.at(-1)?.get('x-key')).toBe('k1')
  expect(other.asked).toContain('/tea.md')
  expect(other.headers.map((sent) => sent.get('x-key'))).not.toContain('k1')
  other.stop()
})

describe('a sitemap', () => {
  test('tells what changed and what vanished', async () => {
    fixture = await syncFixture()
    site = testSite({
      '/a': html('Green tea.'),
      '/b': html('Black tea.'),
      '/c': html('White tea.'),
    })
    site.pages['/sitemap.xml'] = sitemap([
      ['/a', '2024-01-01'],
      ['/b', null],
      ['/c', '2024-01-01'],
    ])
    await fixture.addSource({ name: 'site', kind: 'sitemap', url: site.url('/sitemap.xml') })
    expect(await fixture.run('site')).toMatchObject({ state: 'done', added: 3, failed: 0 })

    site.asked.length = 0
    expect(await fixture.run('site')).toMatchObject({ unchanged: 3, changed: 0, pages: 1 })
    expect(site.asked.filter((path) => path.length === 2)).toEqual(['/b'])

    site.pages['/a'] = html('Green tea, fired.')
    site.pages['/b'] = { status: 503 }
    site.pages['/sitemap.xml'] = sitemap([
      ['/a', '2024-02-01'],
      ['/b', null],
    ])
    const mixed = await fixture.run('site')
    expect(mixed).toMatchObject({ state: 'done', changed: 1, failed: 1, removed: 1 })
    expect(Object.keys(await fixture.documents())).toEqual([site.url('/a'), site.url('/b')])

    site.pages['/sitemap.xml'] = { status: 503 }
    expect(await fixture.run('site')).toMatchObject({ state: 'failed', removed: 0 })
    site.pages['/sitemap.xml'] = { type: 'text/xml', content: '<urlset><url><loc>' }
    expect(await fixture.run('site')).toMatchObject({ state: 'failed', removed: 0 })
    site.pages['/sitemap.xml'] = sitemap([])
    expect(await fixture.run('site')).toMatchObject({ state: 'failed', removed: 0 })
    expect(Object.keys(await fixture.documents())).toHaveLength(2)
  })
})

describe('a site', () => {
  test('is followed by its links; what did not answer has not vanished', async () => {
    fixture = await syncFixture()
    site = testSite({
      '/': html('Teas of the world, a list of them.', ['/a', '/b']),
      '/a': html('Green tea is steamed or fired.'),
      '/b': html('Black tea is withered and rolled.'),
    })
    await fixture.addSource({ name: 'site', kind: 'site', url: site.url('/') })
    expect(await fixture.run('site')).toMatchObject({ state: 'done', added: 3 })
    expect(await fixture.run('site')).toMatchObject({ unchanged: 3, changed: 0 })

    site.pages['/'] = html('Teas of the world, a list of them.', ['/a'])
    site.pages['/a'] = { status: 500 }
    const partial = await fixture.run('site')
    expect(partial).toMatchObject({ removed: 0 })
    expect(partial.errors).toContainEqual({
      item: site.url('/'),
      message: '2 known pages not found, but kept because a request failed',
    })
    site.pages['/a'] = html('Green tea is steamed or fired.')
    expect(await fixture.run('site')).toMatchObject({ removed: 1 })
    expect(Object.keys(await fixture.documents())).toEqual([site.url('/'), site.url('/a')])
  })

  test('that answers with a notice of maintenance keeps its pages', async () => {
    fixture = await syncFixture()
    const home = html('Teas of the world, a list of them.', ['/a'])
    site = testSite({ '/': home, '/a': html('Green tea is steamed or fired.') })
    await fixture.addSource({ name: 'site', kind: 'site', url: site.url('/') })
    expect(await fixture.run('site')).toMatchObject({ state: 'done', added: 2 })
    site.pages['/'] = html('We will be back soon.')
    expect(await fixture.run('site')).toMatchObject({
      state: 'failed',
      removed: 0,
      error:
        'The site has only one page now; its 1 known item stays. If that is right, "allow_empty": true removes them',
    })
    site.pages['/'] = home
    expect(await fixture.run('site')).toMatchObject({ state: 'done', unchanged: 1, changed: 1 })
    expect(Object.keys(await fixture.documents())).toHaveLength(2)
  })

  test('whose second page is gone keeps the first', async () => {
    fixture = await syncFixture()
    site = testSite({
      '/': html('Teas of the world.', ['/a']),
      '/a': html('Green tea is steamed.'),
    })
    await fixture.addSource({ name: 'site', kind: 'site', url: site.url('/') })
    expect(await fixture.run('site')).toMatchObject({ state: 'done', added: 2 })
    delete site.pages['/a']
    expect(await fixture.run('site')).toMatchObject({ state: 'done', unchanged: 1, removed: 1 })
    expect(Object.keys(await fixture.documents())).toEqual([site.url('/')])
  })

  test('keeps a page that the crawl had no request left for', async () => {
    fixture = await syncFixture()
    site = testSite({
      '/': html('Teas of the world.', ['/a', '/b']),
      '/a': html('Green tea is steamed.'),
      '/b': html('Black tea is withered.'),
    })
    await fixture.addSource({ name: 'site', kind: 'site', url: site.url('/'), limit: 3 })
    expect(await fixture.run('site')).toMatchObject({ state: 'done', added: 3 })
    site.pages['/'] = html('Teas of the world.', ['/x', '/a', '/b'])
    const cut = await fixture.run('site')
    expect(cut).toMatchObject({ state: 'done', changed: 1, unchanged: 1, removed: 0 })
    expect(cut.errors).toContainEqual({
      item: site.url('/'),
      message: '1 known page not found, but kept because the crawl ended at its limit',
    })
    site.pages['/'] = html('Teas of the world.', ['/x', '/a'])
    expect(await fixture.run('site')).toMatchObject({ state: 'done', removed: 1 })
    expect(Object.keys(await fixture.documents())).toEqual([site.url('/'), site.url('/a')])
  })

  test('keeps the pages of its sitemap that a lower limit leaves unasked', async () => {
    fixture = await syncFixture()
    site = testSite({ '/': html('Teas of the world.'), '/a': html('Green tea is steamed.') })
    site.pages['/sitemap.xml'] = sitemap([['/a', null]])
    const source = { name: 'site', kind: 'site', url: site.url('/'), limit: 2 }
    await fixture.addSource(source)
    expect(await fixture.run('site')).toMatchObject({ state: 'done', added: 2 })
    await fixture.app.send('PUT', '/api/projects/mindsdb/knowledge_bases/docs', {
      knowledge_base: { sources: [{ ...source, limit: 1 }] },
    })
    expect(await fixture.run('site')).toMatchObject({ state: 'done', unchanged: 1, removed: 0 })
  })
})
