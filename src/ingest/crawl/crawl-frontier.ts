import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { LeftOutPages } from './left-out-pages.ts'
import { isEndless } from './page-address.ts'

/** An address to visit; links of pages with depth 0 have depth 1. */
export interface Target {
  readonly url: string
  readonly depth: number
  /** The client named it, rather than a page or a sitemap. */
  readonly isStart: boolean
}

/** What is to be visited, in the order in which it was found, each address once. */
export class CrawlFrontier {
  readonly #seen: Set<string>
  readonly #settled = new Set<string>()
  readonly #texts = new Set<string>()
  /** Addresses that differ in their parameters only: a calendar has no end of them. */
  readonly #variants = new Map<string, number>()
  readonly #leftOut: LeftOutPages
  #queue: Target[]

  constructor(starts: readonly string[], leftOut: LeftOutPages) {
    this.#leftOut = leftOut
    this.#seen = new Set(starts)
    this.#queue = starts.map((url) => ({ url, depth: 0, isStart: true }))
  }

  /** Addresses that wait. */
  get size(): number {
    return this.#queue.length
  }

  /** Of one depth only, so that the order stays breadth first, and few of one host. */
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

  /** @returns false where a document has that id already */
  settle(id: string): boolean {
    if (this.#settled.has(id)) return false
    this.#settled.add(id)
    this.#seen.add(id)
    return true
  }

  /** @returns false where another address had the same text */
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

  /** Why an address is not opened; null: it is. */
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
