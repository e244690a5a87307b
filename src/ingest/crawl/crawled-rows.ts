import type { Row } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { JobError } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { AppError } from '../../core/errors.ts'
import {
  type ColumnMapping,
  columnMappingOf,
  documentRow,
  findColumn,
  LAYOUT_COLUMN,
  layoutValue,
} from '../sources/document-of-row.ts'
import { crawlableUrl } from '../sources/guarded-fetch.ts'
import type { CrawlRequest, InsertDeps } from '../sources/insert-request.ts'
import { CrawlFrontier, crawlScope } from './crawl-frontier.ts'
import { isOfPage, type LeftOutPages } from './left-out-pages.ts'
import { linksToFollow, type VisitedPage, type VisitPlan, visitor } from './page-visit.ts'
import { Robots } from './robots.ts'
import { pagesOfSite } from './sitemaps.ts'

type CrawlDeps = Pick<InsertDeps, 'pages' | 'reader' | 'crawlPagesMax'>

/**
 * Crawls the start addresses and, breadth first, the pages they link to. Yields one row per page
 * with its text as Markdown. A start address must answer; pages behind links that fail are listed
 * in `leftOut`.
 * @throws AppError `crawl_failed`, also if no page has text; `address_refused`, `insert_failed`
 */
export async function* crawledRows(
  given: {
    readonly kb: KnowledgeBase
    readonly urls: readonly string[]
    readonly crawl: CrawlRequest
    readonly leftOut: LeftOutPages
    /** Then leaves out the start address that failed. If unset, the failure ends the crawl. */
    readonly onLeftOut?: (error: JobError) => void
  },
  deps: CrawlDeps,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  const { kb, urls, crawl, leftOut, onLeftOut } = given
  let leftOutCount = 0
  const onFailedStart = (error: AppError, item: string) => {
    if (onLeftOut === undefined || !isOfPage(error)) throw error
    leftOutCount += 1
    leftOut.addFailure(error, item)
    onLeftOut({ item, message: error.message })
  }
  const starts = startsOf(urls, deps.crawlPagesMax, onFailedStart)
  const rule = columnMappingOf(kb)
  const scope = crawlScope(starts, crawl)
  const robots = new Robots(deps.pages)
  const plan = { scope, crawl, robots, leftOut, onFailedStart, depthMax: depthMaxOf(crawl) }
  // Refuses bad patterns. They run in the reader thread, as they may take long.
  if (crawl.patterns.length > 0) await deps.reader.matching([''], crawl.patterns, signal)
  let hasText = false
  for await (const page of crawledPages({ plan, starts }, deps, signal)) {
    if (page.documents.every(({ content }) => content.trim() === '')) {
      leftOut.addPage('held no text', page.id)
    } else hasText = true
    yield* pageRows(page, rule)
  }
  if (!hasText && starts.length > 0 && leftOutCount === 0) {
    const hint = 'a page that a script writes has none before it runs'
    throw new AppError('crawl_failed', `${starts.slice(0, 3).join(', ')}: no text found; ${hint}`)
  }
}

interface Crawl {
  readonly plan: VisitPlan
  readonly starts: readonly string[]
}

interface NamedPage extends VisitedPage {
  readonly id: string
}

async function* crawledPages(
  { plan, starts }: Crawl,
  deps: CrawlDeps,
  signal: AbortSignal,
): AsyncGenerator<NamedPage> {
  const visit = visitor(plan, deps, signal)
  const frontier = new CrawlFrontier(starts, plan.leftOut)
  const pagesMax = Math.min(plan.crawl.pagesMax ?? deps.crawlPagesMax, deps.crawlPagesMax)
  let startsLeft = plan.depthMax > 0 ? starts.length : Number.POSITIVE_INFINITY
  let requested = 0
  while (requested < pagesMax) {
    const targets = frontier.next(Math.min(INGEST_LIMITS.pagesAtOnce, pagesMax - requested))
    if (targets.length === 0) break
    for (const visited of await Promise.all(targets.map(visit))) {
      if (visited.kind === 'sitemap') {
        frontier.add(visited.pages, 0)
        // Unlike a site's own sitemap, this one was chosen by the client.
        startsLeft = Number.POSITIVE_INFINITY
      } else if (visited.kind !== 'not_asked') requested += 1
      if (visited.kind !== 'page') continue
      const { page } = visited
      const named = settled(page, frontier, plan.leftOut)
      if (named === null) continue
      frontier.add(page.links, page.depth + 1)
      if (page.documents.length > 0) yield named
    }
    startsLeft -= targets.filter(({ isStart }) => isStart).length
    if (startsLeft > 0 || requested >= pagesMax) continue
    // Pages from a site's sitemap come after the links on the first pages. They are not links, so a
    // crawl with a depth leaves them out.
    startsLeft = Number.POSITIVE_INFINITY
    if (plan.crawl.depth === undefined) {
      frontier.add(await listedPages({ plan, starts }, deps, signal), 1)
    }
  }
  // With no start left to read, a crawl that went on would have asked for the site's sitemap.
  plan.leftOut.isCut = frontier.size > 0 || startsLeft <= 0
  if (frontier.size === 0 || pagesMax === plan.crawl.pagesMax) return
  const waiting = `${frontier.size} addresses that were found are not read`
  plan.leftOut.note(`EIDER_CRAWL_PAGES_MAX=${pagesMax} ended the crawl: ${waiting}`)
}

async function listedPages(
  { plan, starts }: Crawl,
  deps: CrawlDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const origins = new Set(starts.map((start) => new URL(start).origin))
  const listed: string[] = []
  for (const origin of [...origins].slice(0, INGEST_LIMITS.sitemapsMax)) {
    listed.push(...(await pagesOfSite(origin, { ...deps, robots: plan.robots }, signal)))
  }
  return linksToFollow(listed, plan, deps, signal)
}

/** Null if the page was already found under another address. */
function settled(
  page: VisitedPage,
  frontier: CrawlFrontier,
  leftOut: LeftOutPages,
): NamedPage | null {
  const { address, canonical, documents, isStart } = page
  const id = canonical ?? address
  if (!frontier.settle(id)) {
    // The canonical page replaces an earlier variant; a later variant is dropped.
    return id === address && canonical !== null ? { ...page, id } : null
  }
  // A client that names two addresses gets two documents.
  const isNew = frontier.settleText(textKey(documents))
  if (isNew || isStart) return { ...page, id }
  leftOut.addPage('held the text of another page', id)
  return null
}

/** Pages with equal text may have different links, so compare these too. */
function textKey(documents: readonly ReadDocument[]): string {
  const parts = documents.map(({ title, content, links }) => [
    title,
    content,
    content.length < INGEST_LIMITS.tellingChars ? links : [],
  ])
  return Bun.hash(JSON.stringify(parts)).toString(36)
}

function* pageRows(page: NamedPage, rule: ColumnMapping): Generator<Row> {
  const wantsLinks = findColumn(rule.metadataColumns ?? [], 'links') !== undefined
  for (const [index, read] of page.documents.entries()) {
    const isOnly = page.documents.length === 1
    const id = isOnly ? page.id : `${page.id}#${read.id ?? index + 1}`
    const columns = {
      ...read.columns,
      url: page.id,
      title: read.title,
      crawl_depth: page.depth,
      ...(wantsLinks ? { links: [...read.links] } : {}),
      [LAYOUT_COLUMN]: layoutValue(read),
    }
    yield documentRow({ id, content: read.content, columns }, rule)
  }
}

/** Several spellings can mean one address. Read at most this many times the allowed number. */
const SPELLINGS_MAX = 10

function startsOf(
  urls: readonly string[],
  crawlPagesMax: number,
  onFailedStart: VisitPlan['onFailedStart'],
): readonly string[] {
  // Each distinct address with its first position in the list.
  const distinct = new Map<string, number>()
  for (const [index, url] of urls.entries()) {
    if (!distinct.has(url)) distinct.set(url, index)
  }
  const starts =
    distinct.size > crawlPagesMax * SPELLINGS_MAX
      ? new Set(distinct.keys())
      : new Set([...distinct].flatMap(([url, index]) => startOf(url, index, onFailedStart)))
  if (starts.size <= crawlPagesMax) return [...starts]
  const limit = `EIDER_CRAWL_PAGES_MAX allows ${crawlPagesMax} pages`
  throw new AppError('insert_failed', `${limit}, found ${starts.size} addresses`)
}

function startOf(
  url: string,
  index: number,
  onFailedStart: VisitPlan['onFailedStart'],
): readonly string[] {
  try {
    return [crawlableUrl(url).href]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // The address may contain a password, so the message gives its position instead.
    onFailedStart(error, `address ${index + 1}`)
    return []
  }
}

/** A client that sets only a number of pages wants that many, at any depth. */
function depthMaxOf({ depth, pagesMax }: CrawlRequest): number {
  return depth ?? (pagesMax === undefined ? 0 : INGEST_LIMITS.depthByPagesMax)
}
