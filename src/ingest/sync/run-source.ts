import type { Row } from '../../core/domain/document.ts'
import type { SyncRun, SyncSource } from '../../core/domain/flow/sync-source.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { hasCode } from '../../core/errors.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { pageAddress } from '../crawl/crawl-frontier.ts'
import { crawledRows } from '../crawl/crawled-rows.ts'
import { LeftOutPages } from '../crawl/left-out-pages.ts'
import { Robots } from '../crawl/robots.ts'
import { type ListedAddress, wholeSitemap } from '../crawl/sitemaps.ts'
import { columnMappingOf, findColumn, textOf } from '../sources/document-of-row.ts'
import type { PageFetcher } from '../sources/guarded-fetch.ts'
import type { CrawlRequest, InsertDeps } from '../sources/insert-request.ts'
import { type FolderDeps, readFolder } from './folder-source.ts'
import { CURSOR_ITEM, hashOf, readQuery } from './query-source.ts'
import { knowledgeBaseOf, type SyncDeps, type SyncProgressReport, SyncWork } from './sync-run.ts'
import type { SyncReach, SyncTask } from './sync-sink.ts'
import { AddressReader, missPage, readAddress, type WebDeps } from './web-source.ts'

type SourceDeps = SyncDeps & FolderDeps & WebDeps

export interface SourceRunRequest {
  readonly source: SyncSource
  readonly run: SyncRun
  /** Whether to ignore what is remembered and read everything again. */
  readonly isFull: boolean
  readonly report: (progress: SyncProgressReport) => Promise<void>
  /** Called as chunks are embedded, before they are stored. */
  readonly onEmbedded: (chunkCount: number) => void
}

/** The counts of a run that was completed or interrupted. */
export interface EndedRun {
  readonly run: SyncRun
  readonly error: unknown
}

export async function runSource(
  { source, run, isFull, ...reports }: SourceRunRequest,
  deps: SourceDeps,
  signal: AbortSignal,
): Promise<EndedRun> {
  const { syncStore } = deps
  const kb = knowledgeBaseOf(source, deps)
  // Fails before reading anything if the model cannot be called.
  deps.embedders.embedder(kb.embeddingModel)
  const known = await syncStore.items(source)
  const missing = await syncStore.itemsWithout(source, kb)
  for (const [name, item] of known) {
    const isOwn = item.runId === run.id
    if (!missing.has(name) && (!isFull || isOwn)) continue
    known.set(name, { ...item, hash: item.hash === null ? null : '', stamp: null })
  }
  const work = new SyncWork({ source, run, known, ...reports }, deps, signal)
  const { projectName } = kb
  const task = { source, known, projectName, mapping: columnMappingOf(kb), sink: work }
  try {
    const read = (): Promise<SyncReach> => {
      switch (source.kind) {
        case 'folder':
          return readFolder(task, deps, signal)
        case 'url':
          return readAddress(task, deps, signal)
        case 'sitemap':
          return readSitemap(task, deps, signal)
        case 'site':
          return readSite(task, kb, { ...deps, reader: deps.reader() }, signal)
        case 'query':
        case 'table':
          return readQuery(task, kb, deps, signal)
      }
    }
    const reach = await read()
    await work.finish(reach)
    if (reach.cursor !== undefined && reach.cursor !== null) {
      const cursor = { item: CURSOR_ITEM, documentIds: [], hash: null, failure: null }
      const stamp = String(reach.cursor)
      const remembered = { ...cursor, stamp, runId: run.id, outcome: 'changed' as const }
      await syncStore.remember(source, [remembered])
    }
    return { run: work.run, error: null }
  } catch (error) {
    return { run: work.run, error }
  }
}

/** A page not found counts as removed; after failures or a limit, only if it answers 404 or 410. */
async function readSite(
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
  const met = new Set<string>()
  for await (const row of rows) {
    const item = pageId(row, task)
    // A page's depth may change while the page does not.
    const { crawl_depth: _, ...hashed } = row
    const hash = hashOf(hashed)
    const before = task.known.get(item)
    met.add(item)
    if (before?.hash === hash) task.sink.unchanged(before)
    else await task.sink.content({ item, hash, stamp: null, rows: [row] })
  }
  for (const warning of leftOut.warnings()) task.sink.leaveOut(String(parameters.url), warning)
  const { isCut } = leftOut
  const isWhole = watched.isWhole && !isCut
  const kept = [...task.known.keys()].filter((item) => !met.has(item) && !watched.gone.has(item))
  if (!isWhole && kept.length > 0) {
    const why = isCut ? 'the crawl ended at its limit' : 'a request failed'
    const some = `${kept.length} known page${kept.length === 1 ? '' : 's'}`
    task.sink.leaveOut(String(parameters.url), `${some} not found, but kept because ${why}`)
  }
  return { found: met.size, mayHaveVanished: () => isWhole }
}

function crawlOf(parameters: SyncTask['source']['parameters']): CrawlRequest {
  const { limit, crawl_depth: depth, filters } = parameters
  const isList = Array.isArray(filters)
  const domains = filters && !isList ? Reflect.get(Object(filters), 'allowed_domains') : []
  return {
    ...(typeof limit === 'number' ? { pagesMax: limit } : {}),
    // A source is a site, so read more than its first page.
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

function pageId(row: Row, { mapping }: SyncTask): string {
  const column = mapping.idColumns.map((name) => findColumn(Object.keys(row), name)).find(Boolean)
  return column === undefined ? '' : textOf(row[column] ?? null)
}

/** Records the answers, because a crawl reports only the pages it found. */
class WatchedPages implements PageFetcher {
  /** False if a request failed, so that some links are unknown. */
  isWhole = true
  readonly gone = new Set<string>()
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
      } else if (page.status === 404 || page.status === 410) {
        this.gone.add(item)
        sink.gone(item)
      }
      sink.count({ pages: 1, bytes: page.bytes.byteLength })
      return page
    } catch (error) {
      if (!hasCode(error, 'address_refused')) this.isWhole = false
      throw error
    }
  }
}

const PAGES_AT_ONCE = 4

/** Skips pages with an unchanged `lastmod`. Every sitemap must answer: unlisted means removed. */
async function readSitemap(task: SyncTask, deps: WebDeps, signal: AbortSignal): Promise<SyncReach> {
  const robots = new Robots(deps.downloads)
  const { parameters } = task.source
  const texts = (name: string) => {
    const value = parameters[name]
    return Array.isArray(value) ? value.map((glob) => new Bun.Glob(String(glob))) : []
  }
  const include = texts('include')
  const exclude = texts('exclude')
  const isWanted = ({ url }: ListedAddress) => {
    const ways = [url, new URL(url).pathname]
    const isIn = (globs: readonly Bun.Glob[]) => ways.some((way) => globs.some((g) => g.match(way)))
    return (include.length === 0 || isIn(include)) && !isIn(exclude)
  }
  const all = await wholeSitemap(String(parameters.url), { pages: deps.downloads, robots }, signal)
  const wanted = all.filter(isWanted)
  const limit = typeof parameters.limit === 'number' ? parameters.limit : wanted.length
  const pages = wanted.slice(0, limit)
  await mapConcurrent(pages, { concurrencyMax: PAGES_AT_ONCE, signal }, (page, ended) => {
    const reader = new AddressReader({ task, robots, reader: deps.reader() }, deps)
    return reader.read(page, ended).catch((error) => missPage(task, page.url, error))
  })
  return { found: pages.length, mayHaveVanished: () => true }
}
