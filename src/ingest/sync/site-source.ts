import { createHash } from 'node:crypto'
import { type Row, shownValue } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import { crawledRows } from '../crawl/crawled-rows.ts'
import { LeftOutPages } from '../crawl/left-out-pages.ts'
import { pageAddress } from '../crawl/page-address.ts'
import { findColumn, textOf } from '../sources/document-of-row.ts'
import type { PageFetcher } from '../sources/guarded-fetch.ts'
import type { CrawlRequest, InsertDeps } from '../sources/insert-request.ts'
import type { SyncReach, SyncTask } from './sync-sink.ts'

/**
 * The pages of a site, found by its links and sitemaps as in an insert. A page that is not found any more has vanished, unless
 * something did not answer or a limit ended the crawl: then only what answers 404 or 410 has.
 */
export async function readSite(
  task: SyncTask,
  kb: KnowledgeBase,
  deps: Pick<InsertDeps, 'pages' | 'reader' | 'crawlPagesMax'>,
  signal: AbortSignal,
): Promise<SyncReach> {
  const { parameters } = task.source
  const leftOut = new LeftOutPages()
  const watched = new WatchedPages(task, deps.pages)
  const crawl = crawlOf(parameters)
  const request = { kb, urls: [String(parameters.url)], crawl, leftOut }
  const rows = crawledRows(request, { ...deps, pages: watched }, signal)
  let found = 0
  for await (const row of rows) {
    const item = idOf(row, task)
    const hash = hashOf(row)
    const before = task.known.get(item)
    found += 1
    if (before?.hash === hash) task.sink.unchanged(before)
    else await task.sink.content({ item, hash, stamp: null, rows: [row] })
  }
  for (const warning of leftOut.warnings()) task.sink.leaveOut(String(parameters.url), warning)
  const isCut = found >= Math.min(crawl.pagesMax ?? Number.POSITIVE_INFINITY, deps.crawlPagesMax)
  return { found, mayHaveVanished: () => watched.isWhole && !isCut }
}

function crawlOf(parameters: SyncTask['source']['parameters']): CrawlRequest {
  const { limit, crawl_depth: depth, filters } = parameters
  const isList = Array.isArray(filters)
  const domains = filters && !isList ? Reflect.get(Object(filters), 'allowed_domains') : []
  return {
    ...(typeof limit === 'number' ? { pagesMax: limit } : {}),
    // A site is more than its first page.
    ...(typeof depth === 'number'
      ? { depth }
      : typeof limit === 'number'
        ? {}
        : { depth: WHOLE_SITE }),
    allowedDomains: Array.isArray(domains) ? domains.map(String) : [],
    patterns: isList ? filters.map(String) : [],
  }
}

const WHOLE_SITE = 100

function idOf(row: Row, { mapping }: SyncTask): string {
  const column = mapping.idColumns.map((name) => findColumn(Object.keys(row), name)).find(Boolean)
  return column === undefined ? '' : textOf(row[column] ?? null)
}

/** How deep a page lies may change without the page. */
const NOT_HASHED = 'crawl_depth'

function hashOf(row: Row): string {
  const values = Object.entries(row).flatMap(([name, value]) => {
    return name === NOT_HASHED ? [] : [[name, shownValue(value)]]
  })
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url')
}

/** Sees what answers: a crawl says only what it found. */
class WatchedPages implements PageFetcher {
  /** False: something that was asked for did not answer, and what it links to is not known. */
  isWhole = true
  readonly #task: SyncTask
  readonly #pages: PageFetcher

  constructor(task: SyncTask, pages: PageFetcher) {
    this.#task = task
    this.#pages = pages
  }

  fetch: PageFetcher['fetch'] = async (url, options) => {
    const { sink, known } = this.#task
    try {
      const page = await this.#pages.fetch(url, options)
      const isBroken = page.status === 429 || page.status >= 500
      if (isBroken) this.isWhole = false
      const item = pageAddress(new URL(url)).href
      if (isBroken && known.has(item)) {
        sink.failed({ item, message: `GET ${url} answered ${page.status}` })
      } else if (page.status === 404 || page.status === 410) sink.gone(item)
      sink.count({ pages: 1, bytes: page.bytes.byteLength })
      return page
    } catch (error) {
      const isRefused = error instanceof AppError && error.code === 'address_refused'
      if (!isRefused) this.isWhole = false
      throw error
    }
  }
}
