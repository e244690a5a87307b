import type { Row } from '../../core/domain/document.ts'
import type { JobError } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { crawledRows } from '../crawl/crawled-rows.ts'
import { LeftOutPages } from '../crawl/left-out-pages.ts'
import { rowsOfFiles } from '../sources/file-rows.ts'
import type { InsertDeps, InsertReport, InsertRequest } from '../sources/insert-request.ts'
import { rowsOfQuery } from '../sources/query-rows.ts'
import { JobInsert } from './job-insert.ts'
import { storeRows } from './store-rows.ts'

export interface InsertSource {
  /** Its name in the request. */
  readonly source: 'rows' | 'files' | 'urls' | 'query'
  readonly rows: AsyncIterable<Row> | readonly Row[]
  /** Stored piece by piece: whole documents, but more of them than fit in memory. */
  readonly isUnbounded: boolean
}

/**
 * Inserts every source in one transaction of its own, a large `query` and large files in several, and all in several once
 * it is a job. The message of a source that fails says how many of its rows and of the others are stored.
 * @throws AppError `insert_failed`, `invalid_select`, `crawl_failed`, `address_refused`, those of the embedder and store
 */
export async function insert(
  request: InsertRequest,
  deps: InsertDeps,
  signal: AbortSignal,
  tracked = JobInsert.waitedFor({ kb: request.kb, total: null }, deps.chunks),
): Promise<InsertReport> {
  const { kb } = request
  // A model that cannot be called is refused before anything is read.
  deps.embedders.embedder(kb.embeddingModel)
  const skipsFailed = request.onBadDocument === 'skip'
  const onLeftOut = (one: JobError) => tracked.leaveOut(one)
  const { sources, leftOutPages } = insertSourcesOf({ ...request, onLeftOut }, deps, signal)
  await deps.inserts.during(kb, tracked, async () => {
    for (const [index, source] of sources.entries()) {
      const isInOrder = source.source === 'rows' || source.source === 'files'
      await tracked.store({ index, isInOrder }, ({ counts, storing }) => {
        return storeRows({ ...source, kb, counts }, deps, signal, { ...storing, skipsFailed })
      })
      if (source.source === 'urls') await keepLeftOutPages(kb, leftOutPages, deps)
    }
  })
  const { storedDocuments, skippedRows, chunks } = tracked.counts
  return { storedDocuments, skippedRows, chunks }
}

interface SourcesRequest extends InsertRequest {
  /** An address that gives no page, where the rest is to be stored in spite of it. */
  readonly onLeftOut: (error: JobError) => void
}

/** In the order in which they are stored. Nothing is read before somebody asks for rows. */
export function insertSourcesOf(
  request: SourcesRequest,
  deps: InsertDeps,
  signal: AbortSignal,
): { readonly sources: readonly InsertSource[]; readonly leftOutPages: LeftOutPages } {
  const leftOut = new LeftOutPages()
  const { kb, rows, files, urls, crawl, query, rights, onBadDocument, onLeftOut } = request
  const sources: InsertSource[] = []
  if (rows !== undefined) sources.push({ source: 'rows', rows, isUnbounded: false })
  if (files !== undefined) {
    const fileRows = rowsOfFiles({ kb, files }, deps, signal)
    sources.push({ source: 'files', rows: fileRows, isUnbounded: true })
  }
  if (urls !== undefined) {
    const skips = onBadDocument === 'skip' ? { onLeftOut } : {}
    const pages = crawledRows({ kb, urls, crawl, leftOut, ...skips }, deps, signal)
    sources.push({ source: 'urls', rows: pages, isUnbounded: false })
  }
  if (query !== undefined) {
    const selected = rowsOfQuery({ kb, query, rights }, deps, signal)
    sources.push({ source: 'query', rows: selected, isUnbounded: true })
  }
  return { sources, leftOutPages: leftOut }
}

export function keepLeftOutPages(
  kb: KnowledgeBase,
  leftOut: LeftOutPages,
  deps: InsertDeps,
): Promise<void> {
  return deps.keepCrawlWarnings(kb, leftOut.warnings())
}
