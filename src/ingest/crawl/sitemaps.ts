import { AppError } from '../../core/errors.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import { crawlableUrl, type FetchedPage, type PageFetcher } from '../sources/guarded-fetch.ts'
import type { Robots } from './robots.ts'

interface SitemapDeps {
  readonly robots: Robots
  readonly pages: PageFetcher
}

/** The pages that a site lists itself: in the sitemaps that its robots.txt names, else in `/sitemap.xml`. */
export async function pagesOfSite(
  origin: string,
  deps: SitemapDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const named = await deps.robots.sitemaps(origin, signal)
  const queue = (named.length > 0 ? named : [`${origin}/sitemap.xml`]).map((url) => url.trim())
  return pagesListed({ origin, queue }, deps, signal)
}

const ROOT = /^\s*(?:<[?!][^>]{0,2000}>\s*){0,20}<(?:\w{1,20}:)?(?:urlset|sitemapindex)[\s>]/i

/** The pages that a sitemap lists; null: the page is not a sitemap. */
export async function pagesOfSitemap(
  page: FetchedPage,
  deps: SitemapDeps,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  if (page.status !== 200) return null
  const text = new TextDecoder().decode(await unpacked(page, signal))
  if (!ROOT.test(text)) return null
  const known = new Map([[page.url, text]])
  const { origin } = new URL(page.url)
  return pagesListed({ origin, queue: [page.url] }, deps, signal, known)
}

/**
 * The pages in these sitemaps and in those that they name. Only addresses of the same host. A sitemap that is not there or is
 * broken lists nothing.
 */
async function pagesListed(
  { origin, queue }: { readonly origin: string; readonly queue: string[] },
  { robots, pages }: SitemapDeps,
  signal: AbortSignal,
  known: ReadonlyMap<string, string> = new Map(),
): Promise<readonly string[]> {
  const found = new Set<string>()
  const seen = new Set<string>()
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (seen.has(next) || seen.size >= INGEST_LIMITS.sitemapsMax) continue
    seen.add(next)
    const text = known.get(next) ?? (await sitemapText(next, { origin, robots, pages }, signal))
    const addresses = addressesIn(text, origin)
    if (/<(?:\w{1,20}:)?sitemapindex[\s>]/i.test(text.slice(0, 4000))) queue.push(...addresses)
    else for (const address of addresses) found.add(address)
    if (found.size >= INGEST_LIMITS.sitemapUrlsMax) break
  }
  return [...found].slice(0, INGEST_LIMITS.sitemapUrlsMax)
}

async function sitemapText(
  url: string,
  { origin, robots, pages }: { origin: string; robots: Robots; pages: PageFetcher },
  signal: AbortSignal,
): Promise<string> {
  try {
    const page = await pages.fetch(url, {
      signal,
      bytesMax: INGEST_LIMITS.sitemapBytesMax,
      isCut: true,
      beforeRequest: async (next) => {
        if (next.origin !== origin) throw new AppError('crawl_failed', `${next.href} is elsewhere`)
        await robots.permit(next, signal)
      },
    })
    if (page.status !== 200) return ''
    return new TextDecoder().decode(await unpacked(page, signal))
  } catch (error) {
    if (error instanceof AppError && /^(?:crawl_failed|address_refused)$/.test(error.code))
      return ''
    throw error
  }
}

/** What gzip unpacks, no more than the limit of it; a file that is cut off or broken as far as it goes. */
async function unpacked({ bytes }: FetchedPage, signal: AbortSignal): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes
  const parts: Uint8Array[] = []
  let length = 0
  try {
    const stream = new Response(new Uint8Array(bytes)).body?.pipeThrough(
      new DecompressionStream('gzip'),
    )
    for await (const part of stream ?? []) {
      signal.throwIfAborted()
      parts.push(part)
      length += part.byteLength
      if (length >= INGEST_LIMITS.sitemapBytesMax) break
    }
  } catch {
    signal.throwIfAborted()
  }
  return Buffer.concat(parts).subarray(0, INGEST_LIMITS.sitemapBytesMax)
}

const LOCATION = /<(?:\w{1,20}:)?loc>\s*(?:<!\[CDATA\[)?\s*([^<\]]{1,2048}?)\s*(?:\]\]>)?\s*<\//gi

function addressesIn(text: string, origin: string): readonly string[] {
  return Array.from(text.matchAll(LOCATION)).flatMap(([, location = '']) => {
    const address = location.replace(/&amp;/g, '&').replace(/&#38;/g, '&')
    try {
      const url = crawlableUrl(address)
      return url.origin === origin ? [url.href] : []
    } catch {
      return []
    }
  })
}
