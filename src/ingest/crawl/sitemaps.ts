import { AppError } from '../../core/errors.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import { crawlableUrl, type FetchedPage, type PageFetcher } from '../sources/guarded-fetch.ts'
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
  return pagesListed({ origin, queue }, deps, signal)
}

const BEGIN = /^\s*(?:<[?!][^>]{0,2000}>\s*){0,20}</

/** Returns the pages in a sitemap; null if the page is not a sitemap. */
export async function pagesOfSitemap(
  page: FetchedPage,
  deps: SitemapDeps,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  if (page.status !== 200) return null
  const text = await unpackedText(page, signal)
  if (!BEGIN.test(text) || !isSitemap(text)) return null
  const known = new Map([[page.url, text]])
  const { origin } = new URL(page.url)
  return pagesListed({ origin, queue: [page.url] }, deps, signal, known)
}

/** Only addresses on the same host. A missing or broken sitemap counts as empty. */
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
    const addresses = [...sitemapEntries(text, origin)].map(({ url }) => url)
    if (isSitemapIndex(text)) queue.push(...addresses)
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
        if (next.origin !== origin)
          throw new AppError('crawl_failed', `${next.href} is on another host`)
        await robots.permit(next, signal)
      },
    })
    if (page.status !== 200) return ''
    return await unpackedText(page, signal)
  } catch (error) {
    if (error instanceof AppError && /^(?:crawl_failed|address_refused)$/.test(error.code))
      return ''
    throw error
  }
}

async function unpackedText({ bytes }: FetchedPage, signal: AbortSignal): Promise<string> {
  const { sitemapBytesMax: bytesMax } = INGEST_LIMITS
  const unpacked = await unpackedSitemap(bytes, { bytesMax }, signal)
  return new TextDecoder().decode(unpacked.subarray(0, bytesMax))
}

/** Keeps what can be unpacked. @param onDamage called if part is missing; may throw */
export async function unpackedSitemap(
  bytes: Uint8Array,
  given: { readonly bytesMax: number; readonly onDamage?: (cause: unknown) => void },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { bytesMax, onDamage } = given
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes
  const parts: Uint8Array[] = []
  let length = 0
  try {
    const packed = new Response(new Uint8Array(bytes)).body
    for await (const part of packed?.pipeThrough(new DecompressionStream('gzip')) ?? []) {
      signal.throwIfAborted()
      parts.push(part)
      length += part.byteLength
      if (length > bytesMax) break
    }
  } catch (cause) {
    signal.throwIfAborted()
    onDamage?.(cause)
  }
  return Buffer.concat(parts)
}

const ROOT = /<(?:\w{1,20}:)?(?:urlset|sitemapindex)[\s>]/i

export function isSitemap(text: string): boolean {
  return ROOT.test(text.slice(0, 4000))
}

export function isSitemapIndex(text: string): boolean {
  return /<(?:\w{1,20}:)?sitemapindex[\s>]/i.test(text.slice(0, 4000))
}

const ENTRY = /<(?:\w{1,20}:)?(url|sitemap)>(.{1,20000}?)<\/(?:\w{1,20}:)?\1>/gis
const LOCATION = /<(?:\w{1,20}:)?loc>\s*(?:<!\[CDATA\[)?\s*([^<\]]{1,2048}?)\s*(?:\]\]>)?\s*<\//i
const LAST_CHANGE =
  /<(?:\w{1,20}:)?lastmod>\s*(?:<!\[CDATA\[)?\s*([^<\]]{1,60}?)\s*(?:\]\]>)?\s*<\//i

export interface ListedAddress {
  readonly url: string
  readonly lastmod: string | null
}

/** Yields the addresses in a sitemap that are on its own host, as the protocol demands. */
export function* sitemapEntries(text: string, origin: string): Generator<ListedAddress> {
  for (const [, , entry = ''] of text.matchAll(ENTRY)) {
    const location = LOCATION.exec(entry)?.[1]?.replace(/&amp;|&#38;/g, '&') ?? ''
    try {
      const url = crawlableUrl(location)
      if (url.origin === origin) {
        yield { url: url.href, lastmod: LAST_CHANGE.exec(entry)?.[1] ?? null }
      }
    } catch {
      // Skip an invalid address.
    }
  }
}
