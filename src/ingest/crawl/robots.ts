import robotsParser from 'robots-parser'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import { hasCode } from '../../core/errors.ts'
import { sleep } from '../../core/runtime/cancellation.ts'
import type { PageFetcher } from '../sources/guarded-fetch.ts'
import { PageError } from './left-out-pages.ts'

/** Eider's user agent in `robots.txt`. */
const ROBOT_NAME = 'Eider'

export const BY_ROBOTS = 'refused by robots.txt'

interface Rules {
  isAllowed(url: string): boolean
  readonly delayMs: number
  readonly sitemaps: readonly string[]
}

/** The robots.txt rules of the sites in one crawl (RFC 9309), requested once per origin. */
export class Robots {
  readonly #pages: PageFetcher
  readonly #rules = new Map<string, Promise<Rules>>()
  readonly #nextAt = new Map<string, number>()

  constructor(pages: PageFetcher) {
    this.#pages = pages
  }

  /**
   * Waits for the site's crawl delay. @throws AppError if the rules forbid this or cannot be read
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

  /** Returns the sitemap addresses in the site's robots.txt. */
  async sitemaps(origin: string, signal: AbortSignal): Promise<readonly string[]> {
    try {
      return (await this.#rulesOf(origin, signal)).sitemaps
    } catch (error) {
      if (hasCode(error, 'crawl_failed')) return []
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

/** Directives with a value, to tell them from a user agent's name. */
const VALUED = /^(?:max-\w+(?:-preview)?|unavailable_after)$/

/** Parses a header `X-Robots-Tag`, and returns the directives for all robots and for Eider. */
export function robotsTag(header: string | null): {
  readonly isKept: boolean
  readonly isFollowed: boolean
} {
  const ours = new Set<string>()
  let isForUs = true
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [, name, directive = ''] = /^(?:([\w.*-]+)\s*:\s*)?(.*)$/.exec(part.trim()) ?? []
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

/** Each address is compared with each of them, while other requests wait. */
const WILDCARDS_MAX = 5_000

/** No rules allow everything; unreadable rules allow nothing (RFC 9309, 2.3.1). */
async function rulesOf(origin: string, pages: PageFetcher, signal: AbortSignal): Promise<Rules> {
  const url = `${origin}/robots.txt`
  const { status, bytes } = await pages.fetch(url, {
    signal,
    bytesMax: INGEST_LIMITS.robotsBytesMax,
    // Do not read the rest (RFC 9309, 2.5).
    isCut: true,
  })
  // Except 429: being rate-limited does not tell what is allowed.
  if (status >= 400 && status < 500 && status !== 429) return ANYTHING
  const text = new TextDecoder().decode(bytes)
  const wildcards = text.split('*').length - 1
  const isReadable = status >= 200 && status <= 299
  if (!isReadable || wildcards > WILDCARDS_MAX) {
    const found = isReadable ? `has ${wildcards} wildcards` : `answered ${status}`
    const why = `its rules cannot be read: GET ${url} ${found}`
    throw new PageError(
      'belonged to a site whose robots.txt cannot be read',
      `${origin} is not crawled because ${why}`,
    )
  }
  const robots = robotsParser(url, text)
  const delayMs = (robots.getCrawlDelay(ROBOT_NAME) ?? 0) * 1000
  return {
    isAllowed: (address) => robots.isAllowed(address, ROBOT_NAME) ?? true,
    delayMs: Math.min(Math.max(0, delayMs || 0), INGEST_LIMITS.crawlDelayMsMax),
    sitemaps: robots.getSitemaps(),
  }
}
