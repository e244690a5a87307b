import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import { AppError } from '../../core/errors.ts'
import { withoutDot } from '../../core/runtime/address-policy.ts'
import type { CrawlRequest } from '../sources/insert-request.ts'
import type { LeftOutPages } from './left-out-pages.ts'

/** An address to visit. Links on pages of depth 0 have depth 1. */
export interface Target {
  readonly url: string
  readonly depth: number
  /** Whether the client named it, instead of a page or sitemap. */
  readonly isStart: boolean
}

/** The addresses to visit, in order of discovery and without duplicates. */
export class CrawlFrontier {
  readonly #seen: Set<string>
  readonly #settled = new Set<string>()
  readonly #texts = new Set<string>()
  /** By address without parameters, because a calendar, for example, has endless pages. */
  readonly #variants = new Map<string, number>()
  readonly #leftOut: LeftOutPages
  #queue: Target[]

  constructor(starts: readonly string[], leftOut: LeftOutPages) {
    this.#leftOut = leftOut
    this.#seen = new Set(starts)
    this.#queue = starts.map((url) => ({ url, depth: 0, isStart: true }))
  }

  get size(): number {
    return this.#queue.length
  }

  /** Returns addresses of a single depth, to keep the crawl breadth first, and few per host. */
  next(count: number): readonly Target[] {
    const depth = this.#queue[0]?.depth
    const perHost = new Map<string, number>()
    const taken = new Set<Target>()
    for (const target of this.#queue.slice(0, INGEST_LIMITS.frontierLookAhead)) {
      if (taken.size >= count || target.depth !== depth) break
      const { host } = new URL(target.url)
      const ofHost = perHost.get(host) ?? 0
      if (ofHost >= INGEST_LIMITS.pagesAtOncePerHost) continue
      perHost.set(host, ofHost + 1)
      taken.add(target)
    }
    this.#queue = this.#queue.filter((target) => !taken.has(target))
    return [...taken]
  }

  /** @returns false if another document already has this id */
  settle(id: string): boolean {
    if (this.#settled.has(id)) return false
    this.#settled.add(id)
    this.#seen.add(id)
    return true
  }

  /** @returns false if another address had the same text */
  settleText(text: string): boolean {
    if (this.#texts.has(text)) return false
    this.#texts.add(text)
    return true
  }

  add(urls: readonly string[], depth: number): void {
    for (const url of urls) {
      if (this.#seen.has(url)) continue
      const refused = this.#refusalOf(new URL(url))
      if (refused !== null) this.#leftOut.addLink(refused, url)
      else this.#queue.push({ url, depth, isStart: false })
      if (this.#seen.size < INGEST_LIMITS.frontierUrlsMax) this.#seen.add(url)
    }
  }

  /** Why an address is not opened; null if it may be. */
  #refusalOf(url: URL): string | null {
    const { frontierUrlsMax, variantsPerPath } = INGEST_LIMITS
    if (this.#seen.size >= frontierUrlsMax) return `beyond the first ${frontierUrlsMax} addresses`
    if (isEndless(url)) return 'with a path that repeats itself'
    if (url.search === '') return null
    const page = `${url.host}${url.pathname}`
    const count = (this.#variants.get(page) ?? 0) + 1
    this.#variants.set(page, count)
    return count > variantsPerPath ? `beyond ${variantsPerPath} variants of one address` : null
  }
}

/** Parameters that identify a visitor or referrer instead of a page. */
const NO_PAGE =
  /^(?:utm_\w+|gclid|gbraid|wbraid|dclid|fbclid|msclkid|yclid|twclid|igshid|mc_[ce]id|_ga|_gl|_hs(?:enc|mi)|hsctatracking|mkt_tok|oly_(?:enc|anon)_id|vero_id|phpsessid|jsessionid|aspsessionid\w*|sessionid|session_id|sid|cfid|cftoken)$/i
const SESSION_IN_PATH = /;(?:jsessionid|phpsessid|sid)=[^/;]*/gi

/** A page's address without its fragment and without parameters that do not identify a page. */
export function pageAddress(address: URL): URL {
  const url = new URL(address)
  url.hash = ''
  url.pathname = url.pathname.replace(SESSION_IN_PATH, '')
  if (url.search === '') return url
  // Keep each parameter as written, because a server may distinguish `?a` from `?a=`.
  const parts = url.search.slice(1).split('&')
  const kept = parts.filter((part) => !NO_PAGE.test(part.split('=', 1)[0] ?? ''))
  if (kept.length < parts.length) url.search = kept.join('&')
  return url
}

const SEGMENTS_MAX = 30
const REPEATS_MAX = 3

/** Detects paths such as `/a/b/a/b/a/b/a/b`, which come from links that never end. */
function isEndless(url: URL): boolean {
  const segments = url.pathname.split('/').filter((segment) => segment !== '')
  if (segments.length > SEGMENTS_MAX) return true
  const counts = new Map<string, number>()
  for (const segment of segments) counts.set(segment, (counts.get(segment) ?? 0) + 1)
  return Math.max(0, ...counts.values()) > REPEATS_MAX
}

export interface CrawlScope {
  readonly allowedDomains: readonly string[]
  /** Unless domains are named: hosts of start addresses and of their redirects. */
  readonly sites: Set<string>
}

/** @throws AppError `insert_failed` for a start address outside the domains, or bad patterns */
export function crawlScope(starts: readonly string[], crawl: CrawlRequest): CrawlScope {
  refuseLargePatterns(crawl.patterns)
  const urls = starts.map((start) => new URL(start))
  const allowedDomains = crawl.allowedDomains.map((domain) => withoutDot(domain.toLowerCase()))
  const scope = { allowedDomains, sites: new Set(urls.map(siteOf)) }
  const outside = urls.find((url) => !isInScope(url, scope))
  if (outside === undefined) return scope
  throw new AppError('insert_failed', `${outside.href} is outside of ${domainsShown(scope)}`)
}

/** Unless domains are named, the redirect's site is crawled instead. @throws AppError */
export function refuseRedirect(start: string, url: URL, scope: CrawlScope): void {
  if (scope.allowedDomains.length === 0 || isInScope(url, scope)) return
  const where = `${url.href}, which is outside of ${domainsShown(scope)}`
  throw new AppError('crawl_failed', `${start} redirects to ${where}`)
}

function domainsShown({ allowedDomains }: CrawlScope): string {
  return `the allowed domains (${allowedDomains.join(', ').slice(0, 500)})`
}

function refuseLargePatterns(patterns: readonly string[]): void {
  const { patternsMax, patternCharsMax } = INGEST_LIMITS
  const longest = Math.max(0, ...patterns.slice(0, patternsMax).map(({ length }) => length))
  if (patterns.length > patternsMax) {
    const found = `found ${patterns.length}`
    throw new AppError('insert_failed', `A crawl has at most ${patternsMax} patterns, ${found}`)
  }
  if (longest > patternCharsMax) {
    const found = `found one of ${longest}`
    throw new AppError(
      'insert_failed',
      `A pattern has at most ${patternCharsMax} characters, ${found}`,
    )
  }
}

/** Whether this is a web address without credentials. */
export function isOpenAddress(url: URL): boolean {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return false
  return url.username === '' && url.password === ''
}

export function isInScope(url: URL, { allowedDomains, sites }: CrawlScope): boolean {
  if (!isOpenAddress(url)) return false
  if (allowedDomains.length === 0) return sites.has(siteOf(url))
  const host = withoutDot(url.hostname)
  return allowedDomains.some((domain) => host === domain || host.endsWith(`.${domain}`))
}

/** Returns a host and its port without `www.`, which does not make a different site. */
export function siteOf(url: URL): string {
  return withoutDot(url.hostname).replace(/^www\./, '') + (url.port === '' ? '' : `:${url.port}`)
}
