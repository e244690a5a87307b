import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import { crawlableUrl, type FetchedPage, type PageFetcher } from '../sources/guarded-fetch.ts'
import { pageAddress } from './crawl-frontier.ts'
import type { Robots } from './robots.ts'

interface SitemapDeps {
  readonly robots: Robots
  readonly pages: PageFetcher
}

/** Returns the pages in a site's sitemaps: those named in robots.txt, or else `/sitemap.xml`. */
export async function pagesOfSite(
  origin: string,
  deps: SitemapDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const named = await deps.robots.sitemaps(origin, signal)
  const queue = (named.length > 0 ? named : [`${origin}/sitemap.xml`]).map((url) => url.trim())
  return urlsListed({ origin, queue }, deps, signal)
}

const BEGIN = /^\s*(?:<[?!][^>]{0,2000}>\s*){0,20}</

/** Returns the pages in a sitemap; null if the page is not a sitemap. */
export async function pagesOfSitemap(
  page: FetchedPage,
  deps: SitemapDeps,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  if (page.status !== 200) return null
  const { text } = await unpacked(page, INGEST_LIMITS.sitemapBytesMax, signal)
  if (!BEGIN.test(text) || !isSitemap(text)) return null
  const known = new Map([[page.url, text]])
  const { origin } = new URL(page.url)
  return urlsListed({ origin, queue: [page.url], known }, deps, signal)
}

/** A missing or broken sitemap counts as empty, and what is beyond the limits is left out. */
async function urlsListed(
  given: {
    readonly origin: string
    readonly queue: string[]
    readonly known?: ReadonlyMap<string, string>
  },
  deps: SitemapDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { sitemapsMax, sitemapUrlsMax: pagesMax, sitemapBytesMax: bytesMax } = INGEST_LIMITS
  const { origin, queue, known } = given
  const textOf = async (url: string) => {
    const text = known?.get(url)
    if (text !== undefined) return text
    const read = sitemapText(url, { ...deps, origin, bytesMax, isWhole: false }, signal)
    return read.catch((error: unknown) => {
      if (hasCode(error, 'crawl_failed') || hasCode(error, 'address_refused')) return ''
      throw error
    })
  }
  const { pages } = await listedPages({ queue, textOf, sitemapsMax, pagesMax }, signal)
  return pages.map(({ url }) => url)
}

/** The limit of the protocol (sitemaps.org). */
const SITEMAP_BYTES_MAX = 50 * 1024 * 1024
const SITEMAPS_MAX = 1_000
const PAGES_MAX = 1_000_000

/** @throws AppError `crawl_failed` unless every sitemap is there and within the limits */
export async function wholeSitemap(
  start: string,
  deps: SitemapDeps,
  signal: AbortSignal,
): Promise<readonly ListedAddress[]> {
  const textOf = (url: string) => {
    const { origin } = new URL(url)
    return sitemapText(url, { ...deps, origin, bytesMax: SITEMAP_BYTES_MAX, isWhole: true }, signal)
  }
  const given = {
    queue: [crawlableUrl(start).href],
    sitemapsMax: SITEMAPS_MAX,
    pagesMax: PAGES_MAX,
  }
  const { pages, isCut } = await listedPages({ ...given, textOf }, signal)
  if (!isCut) return pages
  const limits = `${SITEMAPS_MAX} sitemaps or ${PAGES_MAX} pages`
  throw new AppError('crawl_failed', `${start} lists more than ${limits}`)
}

async function listedPages(
  given: {
    readonly queue: string[]
    readonly textOf: (url: string) => Promise<string>
    readonly sitemapsMax: number
    readonly pagesMax: number
  },
  signal: AbortSignal,
): Promise<{ readonly pages: readonly ListedAddress[]; readonly isCut: boolean }> {
  const { queue, textOf, sitemapsMax, pagesMax } = given
  const pages = new Map<string, ListedAddress>()
  const seen = new Set<string>()
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (seen.has(next)) continue
    if (seen.size >= sitemapsMax) return { pages: [...pages.values()], isCut: true }
    seen.add(next)
    const text = await textOf(next)
    const isIndex = isSitemapIndex(text)
    for (const { url, lastmod } of sitemapEntries(text, new URL(next).origin)) {
      if (slice.isSpent) await slice.yieldIfSpent(signal)
      const page = isIndex ? url : pageAddress(new URL(url)).href
      if (isIndex) queue.push(page)
      else pages.set(page, { url: page, lastmod })
      if (pages.size > pagesMax) return { pages: [...pages.values()].slice(0, -1), isCut: true }
    }
  }
  return { pages: [...pages.values()], isCut: false }
}

/** @throws AppError `crawl_failed` if the answer is not a sitemap of this host */
async function sitemapText(
  url: string,
  given: SitemapDeps & {
    readonly origin: string
    readonly bytesMax: number
    /** Whether a missing part is an error, because its pages would count as removed. */
    readonly isWhole: boolean
  },
  signal: AbortSignal,
): Promise<string> {
  const { origin, robots, pages, bytesMax, isWhole } = given
  const failed = (why: string) => new AppError('crawl_failed', `The sitemap ${url} ${why}`)
  const page = await pages.fetch(url, {
    signal,
    bytesMax,
    isCut: !isWhole,
    beforeRequest: (next) => {
      if (next.origin !== origin) throw failed('redirects to another host')
      return robots.permit(next, signal)
    },
  })
  if (page.status !== 200) throw failed(`answered ${page.status}`)
  const { text, isCut } = await unpacked(page, bytesMax, signal)
  if (!isWhole) return text
  if (!isCut && !isSitemap(text)) throw failed('is not one')
  if (isCut || !END.test(text.slice(-200))) throw failed('is too long, cut off or damaged')
  return text
}

/** Returns what can be unpacked, up to the limit. */
async function unpacked({ bytes }: FetchedPage, bytesMax: number, signal: AbortSignal) {
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b
  const body = new Response(new Uint8Array(bytes)).body
  const stream = isPacked ? body?.pipeThrough(new DecompressionStream('gzip')) : body
  const parts: Uint8Array[] = []
  let length = 0
  let isCut = false
  try {
    for await (const part of stream ?? []) {
      signal.throwIfAborted()
      parts.push(part)
      length += part.byteLength
      isCut = length > bytesMax
      if (isCut) break
    }
  } catch {
    signal.throwIfAborted()
    isCut = true
  }
  return { text: new TextDecoder().decode(Buffer.concat(parts).subarray(0, bytesMax)), isCut }
}

const ROOT = /<(?:\w{1,20}:)?(?:urlset|sitemapindex)[\s>]/i

const END = /<\/(?:\w{1,20}:)?(?:urlset|sitemapindex)>\s*$/i

function isSitemap(text: string): boolean {
  return ROOT.test(text.slice(0, 4000))
}

function isSitemapIndex(text: string): boolean {
  return /<(?:\w{1,20}:)?sitemapindex[\s>]/i.test(text.slice(0, 4000))
}

// Anyone can write a sitemap, so no text may make these patterns backtrack.
const ENTRY =
  /<(?:\w{1,20}:)?(url|sitemap)>((?:[^<]|<(?!(?:\w{1,20}:)?\1>)){1,20000}?)<\/(?:\w{1,20}:)?\1>/gi
const LOCATION = /<(?:\w{1,20}:)?loc>(.{1,2100}?)<\//is
const LAST_CHANGE = /<(?:\w{1,20}:)?lastmod>(.{1,100}?)<\//is

function fieldText(field: RegExp, entry: string): string {
  const [, text = ''] = field.exec(entry) ?? []
  return text.replace(/<!\[CDATA\[|\]\]>/g, '').trim()
}

export interface ListedAddress {
  readonly url: string
  readonly lastmod: string | null
}

/** Yields the addresses in a sitemap that are on its own host, as the protocol demands. */
function* sitemapEntries(text: string, origin: string): Generator<ListedAddress> {
  for (const [, , entry = ''] of text.matchAll(ENTRY)) {
    const location = fieldText(LOCATION, entry).replace(/&amp;|&#38;/g, '&')
    try {
      const url = crawlableUrl(location)
      if (url.origin === origin) {
        yield { url: url.href, lastmod: fieldText(LAST_CHANGE, entry) || null }
      }
    } catch {
      // Skip an invalid address.
    }
  }
}
