import { describe, expect, test } from 'bun:test'
import { tinyPdf } from '../reading/tiny-pdf.ts'
import { A, B, crawled, html, moved, type Pages, seen, server } from './trap-site.ts'

describe('one document a page', () => {
  test('under its final address, without fragment, session and tracking', async () => {
    const { ids } = await crawled(
      {
        '/': html('home', [
          '/p?utm_source=x&a=1#top',
          '/p?a=1',
          '/s;jsessionid=9',
          '/r1',
          '/q?PHPSESSID=1',
        ]),
        '/p': html('page p'),
        '/s': html('page s'),
        '/r1': moved('/r2', 301),
        '/r2': moved('/end?fbclid=3', 308),
        '/end': html('the end'),
        '/q': html('page q'),
      },
      { depth: 1 },
    )
    expect(ids).toEqual(['/', '/p?a=1', '/s', '/end', '/q'])
    expect(seen.asked.filter((path) => path.startsWith('/p')).length).toBe(1)
  })

  test('under the address that it names on its own host, whichever way it was found', async () => {
    const canonical = '<link rel="canonical" href="/duck">'
    const { ids, store } = await crawled(
      {
        '/': html('home', ['/duck?print=1', '/duck', '/duck?lang=en', '/other']),
        '/duck': (url) => html(`duck ${url.search}`, [], canonical)(),
        '/other': html('other', [], `<link rel=canonical href="${B}/other">`),
      },
      { depth: 1 },
    )
    expect(ids.sort()).toEqual(['/', '/duck', '/other'])
    expect(store.contents[`${A}/duck`]).toEqual(['duck'])
  })

  test('of one text, at whichever address it is', async () => {
    const text = 'The common eider is a large sea duck. '.repeat(10)
    const { ids } = await crawled(
      { '/': html('home', ['/x', '/y']), '/x': html(text), '/y': html(text) },
      { depth: 1 },
    )
    expect(ids).toEqual(['/', '/x'])
  })

  test('where it sends its readers by its markup', async () => {
    const refresh = '<meta http-equiv="refresh" content="0; URL=\'/new\'">'
    const { ids } = await crawled({ '/': html('moved', [], refresh), '/new': html('here') })
    expect(ids).toEqual(['/new'])
    const loop = crawled({
      '/': html('loop', [], refresh),
      '/new': html('x', [], refresh.replace('/new', '/')),
    })
    await expect(loop).rejects.toThrow('redirects its readers endlessly')
  })
})

describe('traps', () => {
  test('calendars, ever deeper paths and endless parameters stop at the limit', async () => {
    const calendar = (url: URL) => {
      const month = Number(url.searchParams.get('m') ?? 0)
      return html(`Month ${month}`, [`/calendar?m=${month + 1}`])()
    }
    const deeper: Pages = {
      '/': html('home', ['/calendar?m=0', 'a/b/', '/good']),
      '/calendar': calendar,
      '/good': html('good'),
    }
    const paths = Array.from({ length: 20 }, (_, at) => {
      return [`/${'a/b/'.repeat(at + 1)}`, html(`deep ${at}`, ['a/b/'])] as const
    })
    const { ids } = await crawled({ ...deeper, ...Object.fromEntries(paths) }, { pagesMax: 12 })
    expect(ids.length).toBe(12)
    expect(ids).toContain('/good')
    expect(ids).not.toContain(`/${'a/b/'.repeat(4)}`)
  })

  test('addresses that are none, private or in another language', async () => {
    const { ids } = await crawled(
      {
        '/': html('home', [
          'data:text/html,x',
          'javascript:x()',
          'http://10.0.0.1/',
          '/in',
          '/data',
          '/ü ber',
        ]),
        '/in': moved('http://10.0.0.1/secret'),
        '/data': moved('data:text/html,x'),
        '/%C3%BC%20ber': html('over'),
      },
      { depth: 1 },
    )
    expect(ids).toEqual(['/', '/%C3%BC%20ber'])
    const idn = await crawled({ 'xn--mnchen-3ya.test/': html('Servus') }, {}, [
      `http://münchen.test:${server.port}/`,
    ])
    expect(idn.ids).toEqual([`http://xn--mnchen-3ya.test:${server.port}/`])
  })

  test('a huge answer, a bomb and ten thousand links do not stop the rest', async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `/none${at}`)
    const { ids } = await crawled(
      {
        '/': html('home', ['/huge', '/bomb', '/good', ...many]),
        '/huge': () =>
          new Response(new Uint8Array(11 * 1024 * 1024), {
            headers: { 'content-type': 'text/html' },
          }),
        '/bomb': () =>
          new Response(Bun.gzipSync(new Uint8Array(30_000_000)), {
            headers: { 'content-encoding': 'gzip', 'content-type': 'text/html' },
          }),
        '/good': html('good'),
      },
      { pagesMax: 4 },
    )
    expect(ids).toEqual(['/', '/good'])
    // Failed pages count, too, but robots.txt and the sitemap do not.
    expect(seen.asked).toHaveLength(6)
  })

  test('frames, a base address and pages that ask not to be kept or followed', async () => {
    const { ids } = await crawled(
      {
        '/': html('home', ['no', 'stop', '/f'], '<base href="/dir/">'),
        '/dir/no': html('not kept', ['/beyond'], '<meta name="robots" content="noindex">'),
        '/dir/stop': html('not followed', ['/hidden'], '<meta name="robots" content="nofollow">'),
        '/f': () =>
          new Response('<frameset><frame src="/inner"></frameset>', {
            headers: { 'content-type': 'text/html' },
          }),
        '/beyond': html('beyond'),
        '/hidden': html('hidden'),
        '/inner': html('inner'),
      },
      { depth: 2 },
    )
    expect(ids).toEqual(['/', '/dir/stop', '/beyond', '/inner'])
  })

  test('documents behind links, by what they are and not by what they are called', async () => {
    const { ids, store } = await crawled(
      {
        '/': html('home', ['/a.pdf', '/b', '/c.md', '/d.png']),
        '/a.pdf': () =>
          new Response(new Uint8Array(tinyPdf(['Hello duck'])), {
            headers: { 'content-type': 'application/pdf' },
          }),
        '/b': () =>
          new Response(new Uint8Array(tinyPdf(['Wrong type'])), {
            headers: { 'content-type': 'text/html' },
          }),
        '/c.md': () =>
          new Response('# C\n\ntext', { headers: { 'content-type': 'application/octet-stream' } }),
        '/d.png': () => new Response('x', { headers: { 'content-type': 'image/png' } }),
      },
      { depth: 1 },
    )
    expect(ids).toEqual(['/', '/a.pdf', '/b', '/c.md'])
    expect(store.contents[`${A}/b`]?.[0]).toContain('Wrong type')
  })
})

describe('manners', () => {
  const busy = (times: number, text: string, seconds: string) => {
    let left = times
    return () => {
      left -= 1
      if (left < 0) return html(text)()
      return new Response('busy', { status: 503, headers: { 'retry-after': seconds } })
    }
  }

  test('two pages of a host at once, those of others beside them', async () => {
    const slow = (text: string) => async () => {
      await Bun.sleep(30)
      return html(text)()
    }
    const sites = Array.from({ length: 6 }, (_, at) => at)
    await crawled(
      Object.fromEntries([
        [
          '/',
          html(
            'home',
            sites.map((at) => `/${at}`),
          ),
        ],
        ...sites.map((at) => [`/${at}`, slow(`page ${at}`)]),
      ]),
      { depth: 1 },
    )
    expect(seen.most).toBe(2)
  })

  test('retries at most twice, when the server says when', async () => {
    const { ids } = await crawled(
      {
        '/': html('home', ['/twice', '/often', '/later']),
        '/twice': busy(2, 'twice', '0'),
        '/often': busy(3, 'often', '0'),
        '/later': busy(1, 'later', '3600'),
      },
      { depth: 1 },
    )
    expect(ids).toEqual(['/', '/twice'])
  })

  test('robots.txt: groups, wildcards, redirects, more than is read', async () => {
    const rules = `User-agent: other\nDisallow: /\n\nUser-agent: eider\nDisallow: /*.cgi$\nDisallow: /private\nAllow: /private/open\n`
    const { ids } = await crawled(
      {
        '/robots.txt': moved('/rules'),
        '/rules': () => new Response(`${rules}${'# x\n'.repeat(200_000)}`),
        '/': html('home', ['/x.cgi', '/x.cgi?a', '/private/a', '/private/open']),
        '/x.cgi': html('cgi'),
        '/private/a': html('private'),
        '/private/open': html('open'),
      },
      { depth: 1 },
    )
    expect(ids).toEqual(['/', '/x.cgi?a', '/private/open'])
  })

  test('sitemaps are seeds: indexes, gzip, of the own host only, after what is linked', async () => {
    const list = (...paths: readonly string[]) =>
      paths.map((path) => `<url><loc>${path}</loc></url>`).join('')
    const { ids } = await crawled(
      {
        '/robots.txt': () => new Response(`Sitemap: ${A}/map.xml`),
        '/map.xml': () =>
          new Response(`<?xml version="1.0"?><sitemapindex><sitemap><loc>${A}/one.xml.gz</loc></sitemap>
            <sitemap><loc>${A}/map.xml</loc></sitemap><sitemap><loc>${B}/b.xml</loc></sitemap></sitemapindex>`),
        '/one.xml.gz': () => {
          const text = `<urlset>${list(`${A}/lonely`, `${B}/other`, `${A}/linked`, `${A}/x?a=1&amp;b=2`)}</urlset>`
          return new Response(Bun.gzipSync(new TextEncoder().encode(text)))
        },
        '/': html('home', ['/linked']),
        '/linked': html('linked', ['/deep']),
        '/deep': html('deep'),
        '/lonely': html('lonely'),
        '/x': html('x'),
        'b.test/other': html('other'),
      },
      { pagesMax: 10 },
    )
    expect(ids).toEqual(['/', '/linked', '/lonely', '/x?a=1&b=2', '/deep'])
    const alone = await crawled({
      '/': html('home'),
      '/sitemap.xml': () => new Response(list(`${A}/l`)),
    })
    expect(alone.ids).toEqual(['/'])
    expect(seen.asked).not.toContain('/sitemap.xml')
  })

  test('a sitemap of tags without an end is read once', async () => {
    const entries = `<url><loc>${' '.repeat(15_000)}</url>${'<url>'.repeat(200_000)}`
    const page = `<url><loc> <![CDATA[${A}/l]]> </loc></url>`
    const site = {
      '/robots.txt': () => new Response(`Sitemap: ${A}/map.xml`),
      '/map.xml': () => new Response(`<urlset>${page}${entries}</urlset>`),
      '/': html('home'),
      '/l': html('lonely'),
    }
    const { ids } = await crawled(site, { pagesMax: 10 })
    expect(ids).toEqual(['/', '/l'])
  })

  const listed = (...paths: readonly string[]) => {
    const urls = paths.map((path) => `<url><loc>${A}${path}</loc></url>`).join('')
    return () => new Response(`<?xml version="1.0"?>\n<urlset>${urls}</urlset>`)
  }
  const withSitemap: Pages = {
    '/robots.txt': () => new Response(`User-agent: *\nDisallow: /private`),
    '/map.xml': listed('/one', '/gone', '/two', '/private'),
    '/index.xml': () =>
      new Response(`<sitemapindex><sitemap><loc>${A}/map.xml</loc></sitemap>
        <sitemap><loc>${A}/more.xml</loc></sitemap></sitemapindex>`),
    '/more.xml': listed('/three'),
    '/one': html('one', ['/below', '/copy']),
    '/two': html('two'),
    '/three': html('three'),
    '/below': html('below', ['/deeper']),
    '/copy': html('two'),
    '/deeper': html('deeper'),
  }
  test.each([
    ['a sitemap alone is its pages', '/map.xml', {}, ['/one', '/two']],
    ['an index of sitemaps too', '/index.xml', {}, ['/one', '/two', '/three']],
    ['depth 0 is its pages', '/map.xml', { depth: 0 }, ['/one', '/two']],
    ['depth 1 is their links', '/map.xml', { depth: 1 }, ['/one', '/two', '/below']],
    // It requests /one, /gone, /two, /below and /copy, but not /private.
    ['a limit counts pages requested', '/index.xml', { pagesMax: 2 }, ['/one']],
    ['failed ones too', '/map.xml', { pagesMax: 3 }, ['/one', '/two']],
    ['and duplicates', '/map.xml', { pagesMax: 5 }, ['/one', '/two', '/below']],
    ['until it is reached', '/map.xml', { pagesMax: 6 }, ['/one', '/two', '/below', '/deeper']],
  ] as const)('of a seed: %s', async (_what, seed, crawl, expected) => {
    const { ids, store } = await crawled(withSitemap, crawl, [`${A}${seed}`])
    expect(ids).toEqual([...expected])
    expect(JSON.stringify(store.contents)).not.toContain('urlset')
    expect(seen.asked).not.toContain('/private')
  })
})

test('the encoding by byte order mark, header and markup, in this order', async () => {
  const bytes = (...codes: readonly number[]) => Uint8Array.from(codes)
  const header = { 'content-type': 'text/html; charset="windows-1251"' }
  const plain = { 'content-type': 'text/html' }
  const meta = Buffer.concat([Buffer.from('<meta charset=windows-1251>'), bytes(0xcf, 0xf0)])
  const { store } = await crawled(
    {
      '/mark': () => new Response(bytes(0xef, 0xbb, 0xbf, 0xc3, 0xa9), { headers: header }),
      '/header': () => new Response(bytes(0xcf, 0xf0), { headers: header }),
      '/meta': () => new Response(meta, { headers: plain }),
    },
    {},
    [`${A}/mark`, `${A}/header`, `${A}/meta`],
  )
  expect(Object.values(store.contents)).toEqual([['é'], ['Пр'], ['Пр']])
})
