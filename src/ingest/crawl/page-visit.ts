import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { ReadDocument, ReadFile } from '../../core/domain/ports/reading-ports.ts'
import { type DocumentFormat, isDocumentFormat } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import { fileFormat, formatOfBytes } from '../../reading/file-format.ts'
import { type FetchedPage, fileNameOf } from '../sources/guarded-fetch.ts'
import type { CrawlRequest, InsertDeps } from '../sources/insert-request.ts'
import {
  type CrawlScope,
  isInScope,
  isOpenAddress,
  pageAddress,
  refuseRedirect,
  siteOf,
  type Target,
} from './crawl-frontier.ts'
import { isOfPage, type LeftOutPages, ofAddress, PageError } from './left-out-pages.ts'
import { BY_ROBOTS, type Robots, robotsTag } from './robots.ts'
import { pagesOfSitemap } from './sitemaps.ts'

export interface VisitedPage extends Target {
  /** The address after redirects, which is the id of its documents. */
  readonly address: string
  /** The canonical address, or null if the page names none. */
  readonly canonical: string | null
  readonly documents: readonly ReadDocument[]
  readonly links: readonly string[]
}

export interface VisitPlan {
  readonly scope: CrawlScope
  readonly crawl: CrawlRequest
  readonly depthMax: number
  readonly robots: Robots
  /** Filled while pages are visited. */
  readonly leftOut: LeftOutPages
  /** Called for a start address that fails. @throws the error if it should end the crawl */
  readonly onFailedStart: (error: AppError, address: string) => void
}

/** Nothing if the site's robots.txt forbids the request. */
type Visit =
  | { readonly kind: 'page'; readonly page: VisitedPage }
  | { readonly kind: 'sitemap'; readonly pages: readonly string[] }
  | { readonly kind: 'failed' | 'not_asked' }

type VisitDeps = Pick<InsertDeps, 'pages' | 'reader'>

export function visitor(
  plan: VisitPlan,
  deps: VisitDeps,
  signal: AbortSignal,
): (target: Target) => Promise<Visit> {
  return async (target) => {
    try {
      return await visited(target, plan, deps, signal)
    } catch (error) {
      if (!isOfPage(error)) throw error
      if (target.isStart) plan.onFailedStart(error, target.url)
      else plan.leftOut.addFailure(error, target.url)
      const isRefused = error instanceof PageError && error.reason === BY_ROBOTS
      return { kind: isRefused ? 'not_asked' : 'failed' }
    }
  }
}

/** A page with less text than this and a refresh tag is treated as a redirect. */
const REFRESHING_CHARS_MAX = 300

async function visited(
  target: Target,
  plan: VisitPlan,
  deps: VisitDeps,
  signal: AbortSignal,
): Promise<Visit> {
  const { isStart } = target
  let { url } = target
  for (let hop = 0; hop <= INGEST_LIMITS.redirectsMax; hop += 1) {
    const page = await fetched({ ...target, url }, plan, deps, signal)
    if (isStart) plan.scope.sites.add(siteOf(new URL(page.url)))
    const listed = isStart
      ? await pagesOfSitemap(page, { ...deps, robots: plan.robots }, signal)
      : null
    if (listed !== null) {
      return { kind: 'sitemap', pages: await linksToFollow(listed, plan, deps, signal) }
    }
    const documents = await pageDocuments(page, { ...deps, leftOut: plan.leftOut }, signal)
    const [first] = documents
    const refresh = first?.page?.refresh ?? null
    const isShort = (first?.content.length ?? 0) < REFRESHING_CHARS_MAX
    if (refresh !== null && isShort && pageAddress(new URL(refresh)).href !== page.url) {
      url = refresh
      continue
    }
    const tag = robotsTag(page.robotsTag ?? null)
    const isKept = isStart || (first?.page?.isKept !== false && tag.isKept)
    if (!isKept) plan.leftOut.addPage('asked not to be kept (noindex)', page.url)
    const isFollowed = first?.page?.isFollowed !== false && tag.isFollowed
    const isLast = target.depth >= plan.depthMax || !isFollowed
    const found = isLast ? [] : documents.flatMap(followedLinks)
    const visited = {
      ...target,
      address: pageAddress(new URL(page.url)).href,
      canonical: canonicalOf(first),
      // Store a page that the client named; store others only if they allow it.
      documents: isKept ? documents : [],
      links: await linksToFollow(found, plan, deps, signal),
    }
    return { kind: 'page', page: visited }
  }
  throw new AppError('crawl_failed', `${target.url} redirects its readers endlessly`)
}

function followedLinks({ links, page }: ReadDocument): readonly string[] {
  const notFollowed = new Set(page?.notFollowed ?? [])
  return links.filter((link) => !notFollowed.has(link))
}

function canonicalOf(document: ReadDocument | undefined): string | null {
  const canonical = document?.page?.canonical ?? null
  return canonical === null ? null : pageAddress(new URL(canonical)).href
}

async function fetched(
  target: Target,
  { scope, crawl, robots }: VisitPlan,
  deps: VisitDeps,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { isStart } = target
  return deps.pages.fetch(target.url, {
    signal,
    bytesMax: INGEST_LIMITS.pageBytesMax,
    beforeRequest: async (url) => {
      if (isStart) refuseRedirect(target.url, url, scope)
      else await refuseOutside(url, target)
      await robots.permit(url, signal)
    },
  })

  /** Redirects within the site belong to an address that was already allowed. */
  async function refuseOutside(url: URL, { url: asked }: Target): Promise<void> {
    const isSameSite = crawl.patterns.length > 0 && siteOf(url) === siteOf(new URL(asked))
    if (
      isSameSite ||
      (await linksToFollow([url.href], { scope, crawl }, deps, signal)).length > 0
    ) {
      return
    }
    const message = `${url.href} is outside of the crawled sites`
    throw new PageError('redirected out of the crawled sites', message)
  }
}

export async function linksToFollow(
  links: readonly string[],
  { scope, crawl }: Pick<VisitPlan, 'scope' | 'crawl'>,
  { reader }: Pick<InsertDeps, 'reader'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const hasPatterns = crawl.patterns.length > 0
  const open = links.flatMap((link) => {
    if (link.length > INGEST_LIMITS.urlCharsMax || !URL.canParse(link)) return []
    const url = pageAddress(new URL(link))
    const isOpen = hasPatterns ? isOpenAddress(url) : isInScope(url, scope)
    return isOpen ? [url.href] : []
  })
  if (!hasPatterns || open.length === 0) return open
  return reader.matching(open, crawl.patterns, signal)
}

/** One document, or several for a mailbox. @throws AppError for anything but text */
async function pageDocuments(
  page: FetchedPage,
  { reader, leftOut }: Pick<InsertDeps, 'reader'> & { readonly leftOut: LeftOutPages },
  signal: AbortSignal,
): Promise<readonly ReadDocument[]> {
  if (page.status < 200 || page.status > 299) {
    throw new PageError(`answered ${page.status}`, `GET ${page.url} answered ${page.status}`)
  }
  const { format, charset } = pageFormat(page)
  const { bytes, url, contentType } = page
  try {
    if (/^(?:html|markdown|text)$/.test(format)) {
      return [await reader.read({ bytes, format, charset, url }, signal)]
    }
    const sent = { bytes, name: fileNameOf({ url }), contentType, url, options: { format } }
    const take = async ({ documents, warnings }: ReadFile) => {
      const found = await some(documents, (sentence) => leftOut.note(`${url}: ${sentence}`))
      for (const warning of warnings) leftOut.note(`${url}: ${warning}`)
      return found
    }
    return await reader.readFile(sent, take, signal)
  } catch (error) {
    throw ofAddress(error, url)
  }
}

async function some(
  documents: AsyncIterable<ReadDocument>,
  note: (sentence: string) => void,
): Promise<readonly ReadDocument[]> {
  const { documentsPerPageMax } = INGEST_LIMITS
  const found: ReadDocument[] = []
  for await (const document of documents) {
    if (found.length >= documentsPerPageMax) {
      note(`only its first ${documentsPerPageMax} documents are stored; upload it as a file`)
      break
    }
    found.push(document)
  }
  return found
}

const PAGE_FORMATS: Readonly<Record<string, DocumentFormat>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'application/json': 'text',
  'application/ld+json': 'text',
  'application/x-ndjson': 'text',
}
const NO_TEXT = /^(?:image|audio|video|font|model)\//

/** By first bytes, content type or name, in this order. @throws AppError `crawl_failed` */
function pageFormat({ url, contentType, bytes }: FetchedPage): {
  readonly format: DocumentFormat
  readonly charset: string | null
} {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim())
  const name = type.toLowerCase()
  const known = PAGE_FORMATS[name] ?? null
  const format = NO_TEXT.test(name) ? null : (formatOfPage(bytes, url, known) ?? known)
  if (format === null) {
    const what = name === '' ? 'holds no text' : `has the type ${name.slice(0, 100)}`
    const reason = NO_TEXT.test(name) ? 'held a picture, sound or font' : 'had no readable type'
    throw new PageError(reason, `${url} ${what}; expected a page, a text or a document`)
  }
  return { format, charset: charsetOf(parameters) }
}

/** Refuses formats that are not text. A table is read as plain text. */
function formatOfPage(
  bytes: Uint8Array,
  url: string,
  known: DocumentFormat | null,
): DocumentFormat | null {
  const isText = formatOfBytes(new Uint8Array(bytes.subarray(0, 4096))) !== null
  if (known !== null && isText && !isMarked(bytes)) return known
  try {
    const format = fileFormat(fileNameOf({ url }), bytes)
    if (isDocumentFormat(format)) return format
    return format === 'parquet' || isMarked(bytes) ? null : 'text'
  } catch {
    return null
  }
}

/** Whether it is a ZIP or PDF file, regardless of its content type. */
function isMarked(bytes: Uint8Array): boolean {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, 5))
  return begin === '%PDF-' || begin.startsWith('PK\u0003\u0004')
}

function charsetOf(parameters: readonly string[]): string | null {
  const parameter = parameters.find((one) => /^charset=/i.test(one))
  return parameter?.slice('charset='.length).replace(/^["'](.*)["']$/, '$1') || null
}
