import { AppError } from '../../core/errors.ts'
import { withoutDot } from '../../core/runtime/address-policy.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { CrawlRequest } from '../sources/insert-request.ts'

/** Which links a crawl follows. */
export interface CrawlScope {
  readonly allowedDomains: readonly string[]
  /** Hosts of the start addresses, where no domains are named; a redirect of a start address adds its own. */
  readonly sites: Set<string>
}

/** @throws AppError `insert_failed` for a start address outside of the domains, for too many or too long patterns */
export function crawlScope(starts: readonly string[], crawl: CrawlRequest): CrawlScope {
  refuseLargePatterns(crawl.patterns)
  const urls = starts.map((start) => new URL(start))
  const allowedDomains = crawl.allowedDomains.map((domain) => withoutDot(domain.toLowerCase()))
  const scope = { allowedDomains, sites: new Set(urls.map(siteOf)) }
  const outside = urls.find((url) => !isInScope(url, scope))
  if (outside === undefined) return scope
  throw new AppError('insert_failed', `${outside.href} is outside of ${domainsShown(scope)}`)
}

/**
 * A start address may redirect to another site, as one that has moved does: unless domains are named, that site is then
 * crawled in its place.
 * @throws AppError `crawl_failed`
 */
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

/** Of the web, without credentials. */
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

/** A host and its port: `www.` makes no other site. */
export function siteOf(url: URL): string {
  return withoutDot(url.hostname).replace(/^www\./, '') + (url.port === '' ? '' : `:${url.port}`)
}
