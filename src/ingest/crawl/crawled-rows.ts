import type { Row, RowValue } from '../../domain/document.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { DocumentFormat } from '../../domain/uploaded-file.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import { formatOfBytes } from '../../reading/file-format.ts'
import { columnMappingOf, documentRow } from '../document-of-row.ts'
import { INGEST_LIMITS } from '../ingest-limits.ts'
import type { CrawlRequest, InsertDeps } from '../insert-request.ts'
import { LAYOUT_COLUMN, layoutValue } from '../row-layout.ts'
import { type CrawlScope, crawlScope, isInScope, refuseRedirect, siteOf } from './crawl-scope.ts'
import { crawlableUrl } from './crawlable-url.ts'
import type { FetchedPage } from './guarded-fetch.ts'
import { Robots } from './robots.ts'

type CrawlDeps = Pick<InsertDeps, 'pages' | 'reader' | 'crawlPagesMax'>

/** An address to visit; depth 0 is a start address. */
interface Target {
  readonly url: string
  readonly depth: number
}

interface Page extends Target {
  readonly content: string
  readonly layout: RowValue
  readonly title: string | null
  readonly links: readonly string[]
}

/**
 * The pages at the start addresses and, breadth first, those they link to: one row each, its text as Markdown. Only a
 * start address must answer; what does not answer behind a link is left out.
 * @throws AppError `crawl_failed`, `address_refused`, `insert_failed`
 */
export async function* crawledRows(
  {
    kb,
    urls,
    crawl,
  }: { readonly kb: KnowledgeBase; readonly urls: readonly string[]; readonly crawl: CrawlRequest },
  deps: CrawlDeps,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  const starts = startsOf(urls, deps.crawlPagesMax)
  const scope = crawlScope(starts, crawl)
  const rule = columnMappingOf(kb)
  await refuseBadPatterns(crawl.patterns, deps, signal)
  const visit = visitor({ scope, crawl }, deps, signal)
  const frontier = new Frontier(starts)
  const pagesMax = pagesMaxOf(starts.length, crawl, deps.crawlPagesMax)
  let attemptsLeft = pagesMax * INGEST_LIMITS.attemptsPerPage
  for (let pageCount = 0; pageCount < pagesMax && attemptsLeft > 0; ) {
    const targets = frontier.next(Math.min(INGEST_LIMITS.pagesAtOnce, pagesMax - pageCount))
    if (targets.length === 0) return
    attemptsLeft -= targets.length
    for (const page of await Promise.all(targets.map(visit))) {
      if (page === null || !frontier.settle(page)) continue
      pageCount += 1
      frontier.add(page.links, page.depth + 1)
      const { url, title, depth, layout } = page
      const columns = { url, title, crawl_depth: depth, [LAYOUT_COLUMN]: layout }
      yield documentRow({ id: page.url, content: page.content, columns }, rule)
    }
  }
}

/** Several texts may be one address; so many more than there may be addresses are not even read. */
const SPELLINGS_MAX = 10

function startsOf(urls: readonly string[], crawlPagesMax: number): readonly string[] {
  const distinct = new Set(urls)
  const starts =
    distinct.size > crawlPagesMax * SPELLINGS_MAX
      ? distinct
      : new Set([...distinct].map((url) => crawlableUrl(url).href))
  if (starts.size <= crawlPagesMax) return [...starts]
  const limit = `EIDER_CRAWL_PAGES_MAX allows ${crawlPagesMax} pages`
  throw new AppError('insert_failed', `${limit}, found ${starts.size} addresses`)
}

function pagesMaxOf(startCount: number, crawl: CrawlRequest, settingMax: number): number {
  const isDeep = depthMaxOf(crawl) > 0
  return Math.min(crawl.pagesMax ?? (isDeep ? settingMax : startCount), settingMax)
}

/** Who names a number of pages wants that many, however deep they are. */
function depthMaxOf({ depth, pagesMax }: CrawlRequest): number {
  return depth ?? (pagesMax === undefined ? 0 : INGEST_LIMITS.depthByPagesMax)
}

/**
 * Tries the patterns on one text, before anything is fetched; in the reading thread, because an expression may take long.
 * @throws AppError `insert_failed`
 */
async function refuseBadPatterns(
  patterns: readonly string[],
  { reader }: CrawlDeps,
  signal: AbortSignal,
): Promise<void> {
  if (patterns.length > 0) await reader.matching([''], patterns, signal)
}

/** What is to be visited, in the order in which it was found, each address once. */
class Frontier {
  readonly #seen: Set<string>
  readonly #settled = new Set<string>()
  readonly #queue: Target[]
  #nextIndex = 0

  constructor(starts: readonly string[]) {
    this.#seen = new Set(starts)
    this.#queue = starts.map((url) => ({ url, depth: 0 }))
  }

  /** Of one depth only, so that the order stays breadth first. */
  next(count: number): readonly Target[] {
    const first = this.#queue[this.#nextIndex]
    const some = this.#queue.slice(this.#nextIndex, this.#nextIndex + count)
    const targets = some.filter(({ depth }) => depth === first?.depth)
    this.#nextIndex += targets.length
    return targets
  }

  /** @returns false where the page is known already, by a redirect to it. */
  settle({ url }: Target): boolean {
    if (this.#settled.has(url)) return false
    this.#settled.add(url)
    this.#seen.add(url)
    return true
  }

  add(urls: readonly string[], depth: number): void {
    for (const url of urls) {
      if (this.#seen.has(url) || this.#seen.size >= INGEST_LIMITS.frontierUrlsMax) continue
      this.#seen.add(url)
      this.#queue.push({ url, depth })
    }
  }
}

interface VisitPlan {
  readonly scope: CrawlScope
  readonly crawl: CrawlRequest
}

type Visit = (target: Target) => Promise<Page | null>

/** null: a page behind a link that is missing, unreadable or not allowed. */
function visitor({ scope, crawl }: VisitPlan, deps: CrawlDeps, signal: AbortSignal): Visit {
  const robots = new Robots(deps.pages)
  const depthMax = depthMaxOf(crawl)
  const toFollow = linkFilter({ scope, crawl }, deps, signal)
  return async (target) => {
    const isStart = target.depth === 0
    try {
      const page = await deps.pages.fetch(target.url, {
        signal,
        bytesMax: INGEST_LIMITS.pageBytesMax,
        beforeRequest: async (url) => {
          if (isStart) refuseRedirect(target.url, url, scope)
          else if (!isInScope(url, scope)) throw leavesSite(url)
          await robots.permit(url, signal)
        },
      })
      if (isStart) scope.sites.add(siteOf(new URL(page.url)))
      const read = await readPage(page, deps, signal)
      const isLast = target.depth >= depthMax
      const links = isLast ? [] : await toFollow(read.links)
      return { ...target, ...read, layout: layoutValue(read), url: page.url, links }
    } catch (error) {
      if (isStart || !isOfPage(error)) throw error
      return null
    }
  }
}

/** Failures that are a page's own, not the crawl's. */
const PAGE_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'crawl_failed',
  'address_refused',
  'file_unreadable',
])

function isOfPage(error: unknown): boolean {
  return error instanceof AppError && PAGE_CODES.has(error.code)
}

function leavesSite(url: URL): AppError {
  return new AppError('crawl_failed', `${url.href} is outside of the crawled sites`)
}

async function readPage(page: FetchedPage, deps: CrawlDeps, signal: AbortSignal) {
  if (!isSuccess(page.status)) {
    throw new AppError('crawl_failed', `GET ${page.url} answered ${page.status}`)
  }
  const { format, charset } = pageFormat(page)
  const raw = { bytes: page.bytes, format, charset, url: page.url }
  try {
    return await deps.reader.read(raw, signal)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'file_unreadable') throw error
    throw new AppError('file_unreadable', `${page.url}: ${error.message}`, { cause: error })
  }
}

/** Of a page's links those that the crawl follows. */
function linkFilter(
  { scope, crawl }: VisitPlan,
  deps: CrawlDeps,
  signal: AbortSignal,
): (links: readonly string[]) => Promise<readonly string[]> {
  return async (links) => {
    const inScope = links.flatMap((link) => {
      if (link.length > INGEST_LIMITS.urlCharsMax || !URL.canParse(link)) return []
      const url = new URL(link)
      url.hash = ''
      return isInScope(url, scope) ? [url.href] : []
    })
    if (crawl.patterns.length === 0) return inScope
    return deps.reader.matching(inScope, crawl.patterns, signal)
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

const FORMATS: Readonly<Record<string, DocumentFormat>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'application/pdf': 'pdf',
  'application/json': 'text',
  'application/ld+json': 'text',
  'application/x-ndjson': 'text',
}

/**
 * How a page is to be read, by its content type, and by its bytes where it has none.
 * @throws AppError `crawl_failed` for a page that is not text
 */
function pageFormat({ url, contentType, bytes }: FetchedPage): {
  readonly format: DocumentFormat
  readonly charset: string | null
} {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim())
  const name = type.toLowerCase()
  const isPlain = name === 'text/plain' && /\.(md|markdown)$/i.test(new URL(url).pathname)
  const known = isPlain ? 'markdown' : FORMATS[name]
  const format = known ?? (name.startsWith('text/') ? 'text' : null)
  const found = format ?? (name === '' ? documentFormatOf(bytes) : null)
  if (found === null) {
    const what = name === '' ? 'holds no text' : `has the type ${name.slice(0, 100)}`
    throw new AppError('crawl_failed', `${url} ${what}; expected HTML, text, Markdown, PDF or JSON`)
  }
  return { format: found, charset: charsetOf(parameters) }
}

function documentFormatOf(bytes: Uint8Array): DocumentFormat | null {
  const format = formatOfBytes(bytes)
  if (format === 'pdf' || format === 'html') return format
  return format === null || format === 'parquet' ? null : 'text'
}

function charsetOf(parameters: readonly string[]): string | null {
  const parameter = parameters.find((one) => /^charset=/i.test(one))
  return parameter?.slice('charset='.length).replace(/^"(.*)"$/, '$1') || null
}
