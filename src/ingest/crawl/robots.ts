import robotsParser from 'robots-parser'
import { AppError } from '../../core/errors.ts'
import { sleep } from '../../core/runtime/cancellation.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { PageFetcher } from '../sources/guarded-fetch.ts'
import { PageError } from './left-out-pages.ts'

/** Eider's name in `robots.txt`. */
export const ROBOT_NAME = 'Eider'

/** The reason of a `PageError` for an address that was not requested. */
export const BY_ROBOTS = 'refused by robots.txt'

interface Rules {
  isAllowed(url: string): boolean
  readonly delayMs: number
  readonly sitemaps: readonly string[]
}

/** The rules of the sites of one crawl (RFC 9309), asked once for each origin. */
export class Robots {
  readonly #pages: PageFetcher
  readonly #rules = new Map<string, Promise<Rules>>()
  readonly #nextAt = new Map<string, number>()

  constructor(pages: PageFetcher) {
    this.#pages = pages
  }

  /**
   * Waits for our turn by the site's crawl delay.
   * @throws AppError `crawl_failed` if the site refuses this address or its rules cannot be read
   */
  async permit(url: URL, signal: AbortSignal): Promise<void> {
    const rules = await this.#rulesOf(url.origin, signal)
    if (!rules.isAllowed(url.href)) {
      const message = `${url.href} is refused by the robots.txt of its site`
      throw new PageError(BY_ROBOTS, message)
    }
    const now = performance.now()
    const at = Math.max(now, this.#nextAt.get(url.origin) ?? 0)
    this.#nextAt.set(url.origin, at + rules.delayMs)
    await sleep(at - now, signal)
  }

  /** Sitemap addresses that the site's rules name. */
  async sitemaps(origin: string, signal: AbortSignal): Promise<readonly string[]> {
    try {
      return (await this.#rulesOf(origin, signal)).sitemaps
    } catch (error) {
      if (error instanceof AppError && error.code === 'crawl_failed') return []
      throw error
    }
  }

  #rulesOf(origin: string, signal: AbortSignal): Promise<Rules> {
    const known = this.#rules.get(origin)
    const fetched = known ?? rulesOf(origin, this.#pages, signal)
    if (known === undefined) this.#rules.set(origin, fetched)
    return fetched
  }
}

/** Directives that have a value, and no name before them. */
const VALUED = /^(?:max-\w+(?:-preview)?|unavailable_after)$/

/** The directives of a header `X-Robots-Tag`: for everyone, and for Eider. */
export function robotsTag(header: string | null): {
  readonly isKept: boolean
  readonly isFollowed: boolean
} {
  const ours = new Set<string>()
  let isForUs = true
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [, name, directive = ''] = /^\s*(?:([\w.*-]+)\s*:)?\s*(.*?)\s*$/.exec(part) ?? []
    if (name !== undefined && VALUED.test(name)) continue
    if (name !== undefined) isForUs = name === ROBOT_NAME.toLowerCase() || name === '*'
    if (isForUs) ours.add(directive)
  }
  const isNothing = ours.has('none')
  return {
    isKept: !isNothing && !ours.has('noindex'),
    isFollowed: !isNothing && !ours.has('nofollow'),
  }
}

const ANYTHING: Rules = { isAllowed: () => true, delayMs: 0, sitemaps: [] }

/** A site without rules allows everything; one with unreadable rules, nothing (RFC 9309, 2.3.1). */
async function rulesOf(origin: string, pages: PageFetcher, signal: AbortSignal): Promise<Rules> {
  const url = `${origin}/robots.txt`
  const { status, bytes } = await pages.fetch(url, {
    signal,
    bytesMax: INGEST_LIMITS.robotsBytesMax,
    // The rest is not read (RFC 9309, 2.5).
    isCut: true,
  })
  // A rate limit does not tell what is allowed.
  if (status >= 400 && status < 500 && status !== 429) return ANYTHING
  if (status < 200 || status > 299) {
    const why = `its rules cannot be read: GET ${url} answered ${status}`
    throw new PageError(
      'belonged to a site whose robots.txt cannot be read',
      `${origin} is not crawled because ${why}`,
    )
  }
  const robots = robotsParser(url, new TextDecoder().decode(bytes))
  const delayMs = (robots.getCrawlDelay(ROBOT_NAME) ?? 0) * 1000
  return {
    isAllowed: (address) => robots.isAllowed(address, ROBOT_NAME) ?? true,
    delayMs: Math.min(Math.max(0, delayMs || 0), INGEST_LIMITS.crawlDelayMsMax),
    sitemaps: robots.getSitemaps(),
  }
}
