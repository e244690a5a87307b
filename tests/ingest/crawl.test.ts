import { describe, expect, test } from 'bun:test'
import { insert } from '../../src/ingest/pipeline/insert.ts'
import type { CrawlRequest } from '../../src/ingest/sources/insert-request.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'
import { FakeWeb, fixture, never, type Site } from './insert-fixture.ts'

const A = 'https://a.test'

function page(title: string, ...links: readonly string[]) {
  const anchors = links.map((link) => `<a href="${link}">${link}</a>`).join(' ')
  return {
    body: `<html><head><title>${title}</title></head><body><p>About ${title}.</p>${anchors}`,
  }
}

const SITE: Site = {
  [`${A}/`]: page('home', '/one', 'two#part', 'https://b.test/', 'mailto:x@a.test', '/gone'),
  [`${A}/one`]: page('one', '/', '/deep', '/one?page=2'),
  [`${A}/two`]: page('two', '/deep'),
  [`${A}/deep`]: page('deep', '/deeper'),
  [`${A}/deeper`]: page('deeper'),
  [`${A}/one?page=2`]: page('page 2'),
  'https://b.test/': page('other site'),
  'https://sub.a.test/': page('sub'),
}

async function crawled(
  urls: readonly string[],
  crawl: Partial<CrawlRequest> = {},
  site: Site = SITE,
) {
  const web = new FakeWeb(site)
  const { store, deps } = fixture({ pages: web })
  const all = { allowedDomains: [], patterns: [], ...crawl }
  const report = await insert({ kb: knowledgeBase(), urls, crawl: all }, deps, never)
  return { ids: Object.keys(store.contents), store, web, report }
}

describe('which pages', () => {
  test('without depth or limit: the start addresses only', async () => {
    const { ids, web } = await crawled([A, 'https://b.test', `${A}/#x`])
    expect(ids).toEqual([`${A}/`, 'https://b.test/'])
    expect(web.asked.filter((url) => url.endsWith('/robots.txt')).length).toBe(2)
  })

  test('with depth 1: what they link to on their site, each page once', async () => {
    const { ids, web } = await crawled([A], { depth: 1 })
    expect(ids).toEqual([`${A}/`, `${A}/one`, `${A}/two`])
    expect(new Set(web.asked).size).toBe(web.asked.length)
  })

  test('breadth first, up to the limit', async () => {
    // The missing page counts as well.
    const { ids } = await crawled([A], { depth: 9, pagesMax: 6 })
    expect(ids).toEqual([`${A}/`, `${A}/one`, `${A}/two`, `${A}/deep`, `${A}/one?page=2`])
    expect((await crawled([A, 'https://b.test'], { pagesMax: 1 })).ids).toEqual([`${A}/`])
  })

  test('of the allowed domains and their subdomains', async () => {
    const site = { ...SITE, [`${A}/`]: page('home', 'https://sub.a.test/', 'https://nota.test/') }
    const { ids } = await crawled([A], { depth: 1, allowedDomains: ['A.test'] }, site)
    expect(ids).toEqual([`${A}/`, 'https://sub.a.test/'])
    const outside = crawled([A], { allowedDomains: ['c.test'] })
    await expect(outside).rejects.toMatchObject({
      code: 'insert_failed',
      message: expect.stringMatching(/a\.test\/ is outside of the allowed domains \(c\.test\)/),
    })
  })

  test('that a pattern is found in; start addresses need none', async () => {
    const { ids } = await crawled([A], { depth: 1, patterns: ['/on.$', 'never'] })
    expect(ids).toEqual([`${A}/`, `${A}/one`])
    const long = crawled([A], { patterns: ['x'.repeat(1000)] })
    await expect(long).rejects.toThrow('A pattern has at most 512 characters')
  })

  test('on other hosts too, where a pattern is found in them; no other page of the own', async () => {
    const { ids } = await crawled([A], { depth: 2, patterns: ['^https://b[.]test/', '/two$'] })
    expect(ids).toEqual([`${A}/`, `${A}/two`, 'https://b.test/'])
  })

  test('patterns are checked before anything is fetched, whether they are used or not', async () => {
    const web = new FakeWeb(SITE)
    const { deps } = fixture({ pages: web })
    for (const depth of [0, 1]) {
      const crawl = { depth, allowedDomains: [], patterns: ['ok', '(bad'] }
      const work = insert({ kb: knowledgeBase(), urls: [A], crawl }, deps, never)
      await expect(work).rejects.toMatchObject({
        code: 'insert_failed',
        message: expect.stringContaining('"(bad" is not a regular expression'),
      })
    }
    expect(web.asked).toEqual([])
  })

  test('with a limit only: as deep as it takes', async () => {
    const { ids } = await crawled([A], { pagesMax: 7 })
    expect(ids).toHaveLength(6)
    expect(ids).toContain(`${A}/deeper`)
    expect((await crawled([A], { pagesMax: 6, depth: 0 })).ids).toEqual([`${A}/`])
  })

  test('with a limit only: no deeper than a hundred links', async () => {
    const chain = Array.from({ length: 110 }, (_, index) => {
      return [`${A}/${index}`, page(`${index}`, `/${index + 1}`)] as const
    })
    const pages = new FakeWeb(Object.fromEntries(chain))
    const { store, deps } = fixture({ pages, crawlPagesMax: 1000 })
    const crawl = { pagesMax: 105, allowedDomains: [], patterns: [] }
    await insert({ kb: knowledgeBase(), urls: [`${A}/0`], crawl }, deps, never)
    expect(Object.keys(store.contents)).toHaveLength(101)
  })

  test('no redirect leaves the allowed domains, not from a start address and not by the way', async () => {
    const site: Site = {
      [`${A}/`]: { url: 'https://b.test/' },
      [`${A}/there`]: { url: 'https://sub.a.test/' },
      [`${A}/around`]: { url: 'https://c.test/' },
      'https://b.test/': page('b'),
      'https://c.test/': { url: `${A}/there` },
      'https://sub.a.test/': page('sub'),
    }
    const allowedDomains = ['a.test']
    await expect(crawled([A], { allowedDomains }, site)).rejects.toMatchObject({
      code: 'crawl_failed',
      message:
        'Error during preprocessing and insertion: urls: https://a.test/ redirects to ' +
        'https://b.test/, which is outside of the allowed domains (a.test). Nothing was stored',
    })
    await expect(crawled([`${A}/around`], { allowedDomains }, site)).rejects.toThrow(
      'https://a.test/around redirects to https://c.test/, which is outside of',
    )
    const { ids } = await crawled([`${A}/there`], { allowedDomains }, site)
    expect(ids).toEqual(['https://sub.a.test/'])
  })

  test('a redirect off the site is not followed from a link, and is from a start address', async () => {
    const site: Site = {
      [`${A}/`]: page('home', '/out', '/same'),
      [`${A}/out`]: { url: 'https://b.test/' },
      [`${A}/same`]: { url: `${A}/` },
      'https://old.test/': { url: 'https://b.test/' },
      'https://b.test/': page('b', '/next'),
      'https://b.test/next': page('next'),
    }
    expect((await crawled([A], { depth: 1 }, site)).ids).toEqual([`${A}/`])
    const moved = await crawled(['https://old.test'], { depth: 1 }, site)
    expect(moved.ids).toEqual(['https://b.test/', 'https://b.test/next'])
  })

  test('more start addresses than the settings allow are refused', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `${A}/${index}`)
    await expect(crawled(many)).rejects.toThrow('EIDER_CRAWL_PAGES_MAX allows 100 pages')
  })
})

describe('what is stored', () => {
  test('the text as Markdown, with address, title and depth', async () => {
    const { store } = await crawled([A], { depth: 1 })
    expect(store.contents[`${A}/one`]?.[0]).toBe('About one.\n\n/ /deep /one?page=2')
    expect(store.metadataOf(`${A}/one`)).toEqual({ url: `${A}/one`, title: 'one', crawl_depth: 1 })
  })

  test('text, Markdown and JSON as they are', async () => {
    const site: Site = {
      [`${A}/a.txt`]: { body: 'plain <b>', contentType: 'text/plain; charset=utf-8' },
      [`${A}/b.md`]: { body: '# B\n\ntext', contentType: 'text/plain' },
      [`${A}/c.json`]: { body: '{"c":1}', contentType: 'application/json' },
    }
    const { store } = await crawled(Object.keys(site), {}, site)
    expect(Object.values(store.contents)).toEqual([['plain <b>'], ['# B\n\ntext'], ['{"c":1}']])
    expect(store.metadataOf(`${A}/b.md`)).toMatchObject({ title: 'B' })
  })

  test('an empty page gives nothing; if no page has text, a warning says so', async () => {
    const empty = { body: '<html><script>draw()</script></html>' }
    const site = { ...SITE, [`${A}/empty`]: empty }
    const { ids, report } = await crawled([A, `${A}/empty`], {}, site)
    expect([ids, report.skippedRows]).toEqual([[`${A}/`], 1])
    await expect(crawled([`${A}/empty`], {}, site)).rejects.toThrow(
      'urls: https://a.test/empty: no text found; a page that a script writes has none before it runs. Nothing was stored',
    )
  })

  test('what a page says about itself, and its links where metadata_columns name them', async () => {
    const body = `<html lang=en><meta name=author content="A. Duck"><p>text <a href=/x>x</a>`
    const site = { [`${A}/`]: { body } }
    expect((await crawled([A], {}, site)).store.metadataOf(`${A}/`)).toMatchObject({
      author: 'A. Duck',
      language: 'en',
    })
    const { store, deps } = fixture({ pages: new FakeWeb(site) })
    const kb = knowledgeBase({ metadataColumns: ['links', 'url'] })
    const crawl = { allowedDomains: [], patterns: [] }
    await insert({ kb, urls: [A], crawl }, deps, never)
    expect(store.metadataOf(`${A}/`)).toEqual({ links: [`${A}/x`], url: `${A}/` })
  })
})

describe('what fails', () => {
  test('a start address that is not there: nothing is stored', async () => {
    await expect(crawled([A, `${A}/gone`])).rejects.toMatchObject({
      code: 'crawl_failed',
      message:
        'Error during preprocessing and insertion: urls: GET https://a.test/gone answered 404. ' +
        'Nothing was stored',
    })
  })

  test('a start address without text', async () => {
    const site = { [`${A}/x`]: { body: 'x', contentType: 'image/png' } }
    await expect(crawled([`${A}/x`], {}, site)).rejects.toThrow(/has the type image\/png/)
  })

  test('a link that is binary, too deep or gone is left out', async () => {
    const site: Site = {
      [`${A}/`]: page('home', '/x', '/y', '/z'),
      [`${A}/x`]: { body: 'x', contentType: 'image/png' },
      [`${A}/y`]: { body: '<div>'.repeat(2000) },
    }
    expect((await crawled([A], { depth: 1 }, site)).ids).toEqual([`${A}/`])
  })
})

describe('robots.txt', () => {
  const robots = (body: string, status = 200): Site => ({
    ...SITE,
    [`${A}/robots.txt`]: { body, status, contentType: 'text/plain' },
  })

  test('is asked once for each site, and obeyed', async () => {
    const site = robots('User-agent: *\nDisallow: /one\n')
    const { ids, web } = await crawled([A], { depth: 1 }, site)
    expect(ids).toEqual([`${A}/`, `${A}/two`])
    expect(web.asked.filter((url) => url === `${A}/robots.txt`).length).toBe(1)
    await expect(crawled([`${A}/one`], {}, site)).rejects.toThrow(
      'https://a.test/one is refused by the robots.txt of its site',
    )
  })

  test('may speak to us by name', async () => {
    const site = robots('User-agent: Eider\nDisallow: /\n\nUser-agent: *\nAllow: /\n')
    await expect(crawled([A], {}, site)).rejects.toMatchObject({ code: 'crawl_failed' })
  })

  test('that is not there allows everything; one that fails nothing', async () => {
    expect((await crawled([A])).ids).toEqual([`${A}/`])
    await expect(crawled([A], {}, robots('', 503))).rejects.toThrow(
      'its rules cannot be read: GET https://a.test/robots.txt answered 503',
    )
  })

  test('with more wildcards than can be compared fast allows nothing', async () => {
    const rules = (count: number) => robots(`User-agent: *\n${'Disallow: /x*y\n'.repeat(count)}`)
    expect((await crawled([A], {}, rules(4_999))).ids).toEqual([`${A}/`])
    await expect(crawled([A], {}, rules(5_000))).rejects.toThrow(
      'its rules cannot be read: GET https://a.test/robots.txt has 5001 wildcards',
    )
  })

  test('sets the pace', async () => {
    const site = robots('User-agent: *\nCrawl-delay: 0.05\n')
    const start = performance.now()
    await crawled([A, `${A}/one`, `${A}/two`], {}, site)
    expect(performance.now() - start).toBeGreaterThanOrEqual(95)
  })
})
