import { describe, expect, test } from 'bun:test'
import { A, crawled, html, moved, server } from './trap-site.ts'

describe('pages that are left out are reported', () => {
  const noindex = { 'content-type': 'text/html', 'x-robots-tag': 'noindex' }
  const tagged =
    (text: string, tag: string, links = '') =>
    () => {
      const headers = { 'content-type': 'text/html', 'x-robots-tag': tag }
      return new Response(`<p>${text}</p>${links}`, { headers })
    }

  test('with counts, reasons and the first addresses, until the next crawl', async () => {
    const { ids, store } = await crawled(
      {
        '/robots.txt': () => new Response('User-agent: *\nDisallow: /private'),
        '/': html('home', ['/a', '/b', '/c', '/d', '/private', '/blank', '/secret', '/x.png']),
        '/blank': html('', []),
        '/secret': () => new Response('<p>not kept</p>', { headers: noindex }),
        '/x.png': () => new Response('x', { headers: { 'content-type': 'image/png' } }),
        '/d': () => new Response('broken', { status: 500 }),
      },
      { depth: 1 },
    )
    expect(ids).toEqual(['/'])
    const [warning = '', ...others] = store.crawlWarnings ?? []
    expect(others).toEqual([])
    // Pages are fetched in parallel, so those with one reason are in the order in which they
    // arrived.
    const ordered = warning.replace(/\/[abc](?=[,)])/g, '/·')
    expect(warning).toContain(`${A}/a`)
    expect([ordered]).toEqual([
      `8 pages were not stored: 3 answered 404 (${A}/·, ${A}/·, ${A}/·); 1 answered 500 (${A}/d); ` +
        `1 asked not to be kept (noindex) (${A}/secret); 1 held a picture, sound or font (${A}/x.png); ` +
        `1 held no text (${A}/blank); 1 refused by robots.txt (${A}/private)`,
    ])
    const next = await crawled({ '/': html('home') })
    expect(next.store.crawlWarnings).toEqual([])
  })

  test('ten thousand dead links and a calendar in a few words', async () => {
    const dead = Array.from({ length: 4000 }, (_, at) => `/dead/${'x'.repeat(400)}${at}`)
    const days = Array.from({ length: 300 }, (_, at) => `/day?d=${at}`)
    const { store } = await crawled({ '/': html('home', [...dead, ...days]) }, { pagesMax: 51 })
    const said = store.crawlWarnings ?? []
    expect(said[0]).toMatch(/^50 pages were not stored: 50 answered 404 \(/)
    expect(said[1]).toMatch(/^100 links were not followed: 100 beyond 200 variants of one address/)
    expect(said).toHaveLength(2)
    expect(said.join('').length).toBeLessThan(3000)
  })

  test('an empty page that was named causes a warning; alone it is an error unless it has links', async () => {
    const empty = html('', [])
    const both = await crawled({ '/': html('home'), '/empty': empty }, {}, [`${A}/`, `${A}/empty`])
    expect(both.store.crawlWarnings).toEqual([`1 page was not stored: 1 held no text (${A}/empty)`])
    await expect(crawled({ '/empty': empty }, {}, [`${A}/empty`])).rejects.toThrow(
      `${A}/empty: no text found; a page that a script writes has none`,
    )
    const frames = '<frameset><frame src="/in"></frameset>'
    const { ids } = await crawled(
      {
        '/': () => new Response(frames, { headers: { 'content-type': 'text/html' } }),
        '/in': html('inner'),
      },
      { depth: 1 },
    )
    expect(ids).toEqual(['/in'])
  })

  test('X-Robots-Tag is obeyed where it is for all or for us', async () => {
    const { ids } = await crawled(
      {
        '/': html('home', ['/all', '/ours', '/theirs', '/dead-end', '/snippet']),
        '/all': tagged('all', 'max-snippet: 20, noindex'),
        '/ours': tagged('ours', 'googlebot: nofollow, eider: none'),
        '/theirs': tagged('theirs', 'googlebot: noindex, nofollow'),
        '/dead-end': tagged('dead end', 'nofollow', '<a href="/beyond">b</a>'),
        '/snippet': tagged('snippet', 'max-snippet: 20'),
        '/beyond': html('beyond'),
      },
      { depth: 2 },
    )
    expect(ids).toEqual(['/', '/theirs', '/dead-end', '/snippet'])
    // A page that is named is always wanted.
    const named = await crawled({ '/all': tagged('all', 'noindex') }, {}, [`${A}/all`])
    expect(named.ids).toEqual(['/all'])
  })

  test('redirect loops, a slow drip and redirects into private networks', async () => {
    const drip = () => {
      const body = new ReadableStream({
        async pull(controller) {
          controller.enqueue(new TextEncoder().encode('x'))
          await Bun.sleep(50)
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/html' } })
    }
    const { ids, store } = await crawled(
      {
        '/': html('home', ['/loop', '/ping', '/drip', '/inner', '/idn', '/good']),
        '/loop': moved('/loop'),
        '/ping': moved('/pong'),
        '/pong': moved('/ping'),
        '/drip': drip,
        '/inner': moved('http://10.0.0.1:80/x'),
        '/idn': moved(`http://münchen.test:${server.port}/`),
        '/good': html('good'),
      },
      { depth: 1 },
      [`${A}/`],
      300,
    )
    expect(ids).toEqual(['/', '/good'])
    const [said] = store.crawlWarnings ?? []
    expect(said).toContain('5 pages were not stored')
    expect(said).toContain('more than 5 redirects')
    expect(said).toContain('took longer than 300 ms')
    expect(said).toContain('2 redirected out of the crawled sites')
  })
})

test('links that ask not to be followed', async () => {
  const home = () => {
    const links =
      '<a rel="nofollow" href="/source">s</a><a rel="nofollow" href="/a">a</a><a href="/a">a</a>'
    return new Response(`<p>home</p>${links}`, { headers: { 'content-type': 'text/html' } })
  }
  const { ids } = await crawled({ '/': home, '/source': html('s'), '/a': html('a') }, { depth: 1 })
  expect(ids).toEqual(['/', '/a'])
})

test('who names a depth gets links only, no sitemaps', async () => {
  const site = {
    '/': html('home', ['/linked']),
    '/linked': html('linked'),
    '/lonely': html('lonely'),
    '/sitemap.xml': () => new Response(`<urlset><url><loc>${A}/lonely</loc></url></urlset>`),
  }
  expect((await crawled(site, { depth: 1 })).ids).toEqual(['/', '/linked'])
  expect((await crawled(site, { depth: 1, pagesMax: 9 })).ids).toEqual(['/', '/linked'])
  expect((await crawled(site, { pagesMax: 9 })).ids).toEqual(['/', '/linked', '/lonely'])
})
