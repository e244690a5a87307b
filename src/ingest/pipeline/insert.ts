import { isDeepStrictEqual } from 'node:util'
import {
  requireFileTable,
  requireKnowledgeBase,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { Row } from '../../core/domain/document.ts'
import type { JobError } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { JobDraft, JobWork } from '../../core/domain/ports/job-ports.ts'
import type { FileTable } from '../../core/domain/uploaded-file.ts'
import { notFound } from '../../core/errors.ts'
import { crawledRows } from '../crawl/crawled-rows.ts'
import { LeftOutPages } from '../crawl/left-out-pages.ts'
import { rowsOfFiles, rowsOfQuery } from '../sources/file-rows.ts'
import type {
  InsertDeps,
  InsertOutcome,
  InsertReport,
  InsertRequest,
} from '../sources/insert-request.ts'
import { insertOrJob, JobInsert, type LongInsertDeps } from './job-insert.ts'
import { storeRows } from './store-rows.ts'

interface InsertSource {
  /** Its name in the request. */
  readonly source: 'rows' | 'files' | 'urls' | 'query'
  readonly rows: AsyncIterable<Row> | readonly Row[]
  /** Stored piece by piece: whole documents, but more of them than fit in memory. */
  readonly isUnbounded: boolean
}

/**
 * Inserts every source in a separate transaction, large queries and files in several, and all in several once it is a job.
 * The error of a failed source counts its stored rows and those of the others.
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

/** In storing order. Nothing is read until rows are requested. */
function insertSourcesOf(
  request: InsertRequest & {
    /** Called for an address without a page, if the rest is to be stored anyway. */
    readonly onLeftOut: (error: JobError) => void
  },
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

function keepLeftOutPages(
  kb: KnowledgeBase,
  leftOut: LeftOutPages,
  deps: InsertDeps,
): Promise<void> {
  return deps.keepCrawlWarnings(kb, leftOut.warnings())
}

/** A background insert, from the start or by now: stored batch by batch, and continued after a restart. */

/** A PUT, as its job keeps it. The rows are the job's items. */
interface StoredRequest extends Omit<InsertRequest, 'kb' | 'rows'> {
  readonly source: 'put'
  /** A later knowledge base of the same name is not the intended one. */
  readonly knowledgeBaseId: number
  /** null: none was sent. */
  readonly rowCount: number | null
  /** For `files`: a replaced file counts as a new one. */
  readonly fileIds: readonly number[]
}

/** @throws AppError for errors known before anything is read: `unknown_provider`, `file_not_found` */
export function insertJobOf(
  request: InsertRequest,
  deps: Pick<InsertDeps, 'embedders' | 'snapshot'>,
): JobDraft {
  deps.embedders.embedder(request.kb.embeddingModel)
  return draftOf(request, tablesOf(request, deps))
}

/**
 * Inserts while the client waits, and becomes a job if that takes too long.
 * @throws AppError as `insert`
 */
export async function insertWaitedFor(
  request: InsertRequest,
  deps: InsertDeps & LongInsertDeps,
  signal: AbortSignal,
): Promise<InsertOutcome> {
  const { kb } = request
  // Errors in the files are reported when they are read.
  const tables = knownTablesOf(request, deps)
  const total = totalOf(request, tables)
  const outcome = await insertOrJob(
    {
      ...{ kb, total },
      run: (tracked, stopping) => insert(request, deps, stopping, tracked),
      draft: () => draftOf(request, tables),
    },
    deps,
    signal,
  )
  if (outcome.kind === 'job') return { job: outcome.job, skippedRows: null }
  return { job: null, skippedRows: outcome.value.skippedRows }
}

function draftOf(
  { kb, rows, ...others }: InsertRequest,
  tables: readonly Pick<FileTable, 'file'>[],
): JobDraft {
  const request: StoredRequest = {
    ...others,
    source: 'put',
    knowledgeBaseId: kb.id,
    rowCount: rows?.length ?? null,
    fileIds: tables.map(({ file }) => file.id),
  }
  return {
    kind: 'insert',
    projectName: kb.projectName,
    knowledgeBase: kb.name,
    title: insertTitle({ kb, ...(rows === undefined ? {} : { rows }), ...others }),
    request,
    ...(rows === undefined ? {} : { items: rows }),
  }
}

function insertTitle({ kb, rows, files, urls, query }: Partial<InsertRequest>): string {
  const parts = [
    ...(rows === undefined ? [] : [countedDocuments(rows.length, 'row')]),
    ...(files === undefined ? [] : [countedDocuments(files.length, 'file')]),
    ...(urls === undefined ? [] : [countedDocuments(urls.length, 'address', 'addresses')]),
    ...(query === undefined ? [] : ['the rows of a query']),
  ]
  return `Insert ${parts.join(', ')} into ${kb?.name}`
}

function countedDocuments(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}

/** @throws AppError as `insert`; `knowledge_base_not_found` after a drop */
export async function runInsertJob(
  work: JobWork,
  deps: InsertDeps,
  signal: AbortSignal,
): Promise<void> {
  // Only `insertJobOf` makes these requests, and a job's request is authentic.
  const { knowledgeBaseId, rowCount, fileIds, source: _, ...stored } = work.request as StoredRequest
  const kb = knowledgeBaseOf(work, knowledgeBaseId, deps)
  // A model that cannot be called is refused before anything is read.
  deps.embedders.embedder(kb.embeddingModel)
  const request = { ...stored, kb, ...(rowCount === null ? {} : { rows: [] }) }
  const tables = tablesOf(request, deps)
  const total = totalOf({ ...request, rows: { length: rowCount ?? 0 } }, tables)
  const tracked = await JobInsert.begin(work, { kb, total }, deps.chunks)
  const known = tables.map(({ file }) => file.id)
  const areFilesSame = isDeepStrictEqual(fileIds, known)
  await deps.inserts.during(kb, tracked, () => {
    return storeSources({ work, tracked, request, areFilesSame }, deps, signal)
  })
}

async function storeSources(
  given: {
    readonly work: JobWork
    readonly tracked: JobInsert
    readonly request: InsertRequest
    readonly areFilesSame: boolean
  },
  deps: InsertDeps,
  signal: AbortSignal,
): Promise<void> {
  const { work, tracked, request, areFilesSame } = given
  const { kb, onBadDocument } = request
  const onLeftOut = (one: JobError) => tracked.leaveOut(one)
  const { sources, leftOutPages } = insertSourcesOf({ ...request, onLeftOut }, deps, signal)
  for (const [index, source] of sources.entries()) {
    // The rows of these have the same order each time they are read.
    const isInOrder = source.source === 'rows' || (source.source === 'files' && areFilesSame)
    await tracked.store({ index, isInOrder }, (run) => {
      const rows = rowsAfter(source, run.doneRows, work)
      const options = { ...run.storing, skipsFailed: onBadDocument === 'skip' }
      const target = { ...source, rows, isUnbounded: true, kb, counts: run.counts }
      return storeRows(target, deps, signal, options)
    })
    if (source.source === 'urls') await keepLeftOutPages(kb, leftOutPages, deps)
  }
}

/** null: the rows of a query or a site are unknown. */
function totalOf(
  { rows, urls, query }: Pick<InsertRequest, 'urls' | 'query'> & { readonly rows?: Counted },
  tables: readonly Pick<FileTable, 'rowCount'>[],
): number | null {
  if (urls !== undefined || query !== undefined) return null
  return tables.reduce((sum, { rowCount }) => sum + rowCount, rows?.length ?? 0)
}

interface Counted {
  readonly length: number
}

function knowledgeBaseOf({ job }: JobWork, id: number, deps: InsertDeps): KnowledgeBase {
  const { projectName, knowledgeBase } = job
  const kb = requireKnowledgeBase(deps.snapshot(), projectName, knowledgeBase ?? '')
  if (kb.id !== id) throw notFound('knowledge_base', kb.name)
  return kb
}

/** @throws AppError `file_not_found` */
function tablesOf(
  { files = [] }: Pick<InsertRequest, 'files'>,
  deps: Pick<InsertDeps, 'snapshot'>,
): readonly FileTable[] {
  const snapshot = deps.snapshot()
  return files.map((name) => requireFileTable(snapshot, name))
}

function knownTablesOf(request: InsertRequest, deps: InsertDeps): readonly FileTable[] {
  try {
    return tablesOf(request, deps)
  } catch {
    return []
  }
}

function rowsAfter(source: InsertSource, done: number, work: JobWork): AsyncIterable<Row> {
  if (source.source === 'rows') return itemsOf(work, done)
  return without(source.rows, done)
}

/** Validated by the schema of the PUT. */
function itemsOf(work: JobWork, firstIndex: number): AsyncIterable<Row> {
  return work.items(firstIndex) as AsyncIterable<Row>
}

async function* without(rows: InsertSource['rows'], count: number): AsyncGenerator<Row> {
  let index = 0
  for await (const row of rows) {
    if (index >= count) yield row
    index += 1
  }
}
