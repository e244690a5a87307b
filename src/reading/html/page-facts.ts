import type { Row } from '../../core/domain/document.ts'
import type { PageFacts } from '../../core/domain/ports/reading-ports.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import { READING_LIMITS } from '../reading-limits.ts'
import { all, oneLine } from './elements.ts'

/** Returns absolute addresses that a page links to, including frames, which it shows. */
export function linksOf(document: Document, url: string | null): readonly string[] {
  const base = baseOf(document, url)
  const links = new Set<string>()
  for (const element of all(document, 'a[href], area[href], frame[src], iframe[src]')) {
    const address = element.getAttribute('href') ?? element.getAttribute('src')
    const target = resolved(address, base)
    if (target !== null && links.size < READING_LIMITS.linksPerPageMax) links.add(target)
  }
  return [...links]
}

/** Links that only occur with `rel="nofollow"`, such as those to page sources and in comments. */
function notFollowedOf(document: Document, base: string | null): readonly string[] {
  const links = new Set<string>()
  const others = new Set<string>()
  for (const anchor of all(document, 'a[href]')) {
    const target = resolved(anchor.getAttribute('href'), base)
    const isFollowed = !/(?:^|\s)nofollow(?:\s|$)/i.test(anchor.getAttribute('rel') ?? '')
    if (target !== null) (isFollowed ? others : links).add(target)
  }
  return [...links].filter((link) => !others.has(link)).slice(0, READING_LIMITS.linksPerPageMax)
}

function baseOf(document: Document, url: string | null): string | null {
  const declared = all(document, 'base[href]')[0]?.getAttribute('href') ?? null
  if (declared === null) return url
  return resolved(declared, url) ?? url
}

/** Null if it is not a web address. */
function resolved(address: string | null, base: string | null): string | null {
  if (address === null) return null
  const url = URL.parse(address.trim(), base ?? undefined)
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null
}

export function pageFacts(document: Document, url: string | null): PageFacts {
  const base = baseOf(document, url)
  const metas = metasOf(document)
  const robots = metaOf(metas, ['eider', 'robots']).toLowerCase()
  const directives = robots.split(/[\s,]+/)
  const notFollowed = notFollowedOf(document, base)
  return {
    canonical: canonicalOf(document, base, url),
    refresh: refreshOf(document, base),
    isKept: !directives.includes('noindex') && !directives.includes('none'),
    isFollowed: !directives.includes('nofollow') && !directives.includes('none'),
    ...(notFollowed.length === 0 ? {} : { notFollowed }),
  }
}

function canonicalOf(document: Document, base: string | null, url: string | null): string | null {
  const link = all(document, 'link[rel][href]').find((one) => {
    return /(?:^|\s)canonical(?:\s|$)/i.test(one.getAttribute('rel') ?? '')
  })
  const address = resolved(link?.getAttribute('href') ?? null, base)
  if (address === null || url === null) return null
  return new URL(address).host === URL.parse(url)?.host ? address : null
}

const REFRESH_SECONDS_MAX = 10

function refreshOf(document: Document, base: string | null): string | null {
  const meta = all(document, 'meta[http-equiv]').find((one) => {
    return /^refresh$/i.test(one.getAttribute('http-equiv') ?? '')
  })
  const content = (meta?.getAttribute('content') ?? '').slice(0, 4096)
  const found = /^\s*(\d+)[\d.]*\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i.exec(content)
  if (found === null || Number(found[1]) > REFRESH_SECONDS_MAX) return null
  return resolved(found[2] ?? null, base)
}

function metasOf(document: Document): readonly Element[] {
  return all(document, 'meta[content]').slice(0, 500)
}

/** Returns the first `meta` with one of these names that is not empty. */
function metaOf(metas: readonly Element[], names: readonly string[]): string {
  for (const name of names) {
    const meta = metas.find((one) => {
      const own =
        one.getAttribute('name') ?? one.getAttribute('property') ?? one.getAttribute('itemprop')
      return own?.toLowerCase() === name
    })
    const content = oneLine(meta?.getAttribute('content'))
    if (content !== '') return content
  }
  return ''
}

/** Returns the title without the site's name. */
export function pageTitle(document: Document): string | null {
  const whole = oneLine(all(document, 'title')[0]?.textContent)
  const metas = metasOf(document)
  const open = metaOf(metas, ['og:title', 'twitter:title'])
  const site = metaOf(metas, ['og:site_name', 'application-name'])
  const headings = [...all(document, 'h1'), ...all(document, 'h2').slice(0, 3)].map((heading) => {
    return oneLine(heading.textContent).replace(/\s*[¶#§]$/, '')
  })
  const heading = headings.find((text) => text.length > 2 && isPartOf(text, whole))
  if (heading !== undefined) return heading
  const title = withoutSite(whole === '' ? open : whole, site)
  if (title !== '' && (open === '' || !isPartOf(open, title))) return title
  const first = oneLine(all(document, 'h1')[0]?.textContent)
  return withoutSite(open, site) || first || null
}

const SEPARATOR = /\s+[|·•»«:–—-]+\s+|\s*::\s*|:\s+/

/** Whether a title consists of the text and the name of a site. */
function isPartOf(text: string, whole: string): boolean {
  if (text === whole) return true
  const at = whole.indexOf(text)
  if (at < 0 || text === '') return false
  const [before, after] = [whole.slice(0, at), whole.slice(at + text.length)]
  const isCut = (rest: string): boolean => rest === '' || SEPARATOR.test(rest)
  return isCut(before) && isCut(after)
}

function withoutSite(title: string, site: string): string {
  if (site === '' || title === site) return title
  const parts = title.split(/\s+[|·•»«–—-]\s+|\s*::\s*/)
  const others = parts.filter((part) => part !== site)
  return others.length > 0 && others.length < parts.length ? others.join(' - ') : title
}

const PAGE_DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/
const FACT_CHARS_MAX = 1000

export function factColumns(document: Document): Row {
  const language = oneLine(document.documentElement.getAttribute('lang'))
  const written = articleData(document)
  const metas = metasOf(document)
  const published = metaOf(metas, [
    'article:published_time',
    'datepublished',
    'dcterms.date',
    'dc.date',
    'citation_publication_date',
    'date',
  ])
  const author = metaOf(metas, ['author', 'dc.creator', 'dcterms.creator', 'article:author'])
  const facts: Record<string, string> = {
    author: /^https?:/.test(author) ? (written.author ?? '') : author || (written.author ?? ''),
    published: PAGE_DATE.test(published) ? published : (written.published ?? ''),
    language: /^[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3}$/i.test(language) ? language : '',
    description: metaOf(metas, ['description', 'og:description']),
  }
  const known = Object.entries(facts).filter(([, value]) => value !== '')
  return Object.fromEntries(known.map(([name, value]) => [name, value.slice(0, FACT_CHARS_MAX)]))
}

const DATA_CHARS_MAX = 100_000

function articleData(document: Document): {
  readonly author?: string
  readonly published?: string
} {
  for (const script of all(document, 'script[type="application/ld+json"]').slice(0, 10)) {
    const text = script.textContent ?? ''
    const found = text.length > DATA_CHARS_MAX ? null : parsedJson(text)
    for (const item of [found].flat().slice(0, 20)) {
      if (!isObject(item) || !/Article|BlogPosting|WebPage/.test(String(item['@type']))) continue
      const [author] = [item.author].flat()
      const name = isObject(author) ? author.name : author
      const published = item.datePublished
      return {
        ...(typeof name === 'string' ? { author: oneLine(name) } : {}),
        ...(typeof published === 'string' && PAGE_DATE.test(published) ? { published } : {}),
      }
    }
  }
  return {}
}
