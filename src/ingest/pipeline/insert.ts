import { isDeepStrictEqual } from 'node:util'
import { requireJobTarget } from '../../core/domain/access/catalog-snapshot.ts'
import type { Row } from '../../core/domain/document.ts'
import type { JobError } from '../../core/domain/flow/job.ts'
import type { JobDraft, JobWork } from '../../core/domain/ports/job-ports.ts'
import type { FileTable } from '../../core/domain/uploaded-file.ts'
import { counted } from '../../core/short-text.ts'
import { crawledRows } from '../crawl/crawled-rows.ts'
import { LeftOutPages } from '../crawl/left-out-pages.ts'
import { rowsOfFiles, rowsOfQuery, sheetsNamed } from '../sources/file-rows.ts'
import type {
  InsertDeps,
  InsertOutcome,
  InsertReport,
  InsertRequest,
} from '../sources/insert-request.ts'
import { insertOrJob, JobInsert, type LongInsertDeps } from './job-insert.ts'
import { storeRows } from './store-rows.ts'

interface InsertSource {
  readonly source: 'rows' | 'files' | 'urls' | 'query'
  readonly rows: AsyncIterable<Row> | readonly Row[]
  /** Whether it is stored in batches of whole documents, because it may not fit in memory. */
  readonly isUnbounded: boolean
}

/**
 * Inserts each source in its own transaction. Large queries and files take several, and so does
 * every source once the insert is a job. If a source fails, the error counts the rows stored from
 * it and from the others.
 * @throws AppError `insert_failed`, `invalid_select`, `crawl_failed`, `address_refused`; errors of
 * the embedder and store
 */
export async function insert(
  request: InsertRequest,
  deps: InsertDeps,
  signal: AbortSignal,
  tracked = JobInsert.waitedFor({ kb: request.kb, total: null }, deps.chunks),
): Promise<InsertReport> {
  const { kb } = request
  // Fails before reading anything if the model cannot be called.
  deps.embedders.embedder(kb.embeddingModel)
  await deps.inserts.during(kb, tracked, () => storeSources({ request, tracked }, deps, signal))
  const { storedDocuments, skippedRows, chunks } = tracked.counts
  return { storedDocuments, skippedRows, chunks }
}

/** Returns the sources in storing order. Nothing is read until rows are requested. */
function insertSourcesOf(
  request: InsertRequest & {
    /** Called for an address that fails, if the rest is stored anyway. */
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

/** Stored in batches; continues after a restart. */

/** A PUT request as its job stores it. The rows are the job's items. */
interface StoredRequest extends Omit<InsertRequest, 'kb' | 'rows'> {
  readonly source: 'put'
  /** The id, because a later knowledge base may have the same name. */
  readonly knowledgeBaseId: number
  readonly rowCount: number | null
  /** The ids of `files`, because a file that replaced another has a new one. */
  readonly fileIds: readonly number[]
}

/**
 * @throws AppError for errors known before reading anything: `unknown_provider`, `file_not_found`
 */
export function insertJobOf(
  request: InsertRequest,
  deps: Pick<InsertDeps, 'embedders' | 'snapshot'>,
): JobDraft {
  deps.embedders.embedder(request.kb.embeddingModel)
  return draftOf(request, tablesOf(request, deps))
}

/** Becomes a job if it takes too long. @throws AppError like `insert` */
export async function insertWaitedFor(
  request: InsertRequest,
  deps: InsertDeps & LongInsertDeps,
  signal: AbortSignal,
): Promise<InsertOutcome> {
  const { kb } = request
  // Errors in files are reported when the files are read.
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
    ...(rows === undefined ? [] : [counted(rows.length, 'row')]),
    ...(files === undefined ? [] : [counted(files.length, 'file')]),
    ...(urls === undefined ? [] : [counted(urls.length, 'address', 'addresses')]),
    ...(query === undefined ? [] : ['the rows of a query']),
  ]
  return `Insert ${parts.join(', ')} into ${kb?.name}`
}

/** @throws AppError like `insert`; `knowledge_base_not_found` if it was dropped */
export async function runInsertJob(
  work: JobWork,
  deps: InsertDeps,
  signal: AbortSignal,
): Promise<void> {
  // Only `insertJobOf` creates these requests, and stored requests are authenticated.
  const { knowledgeBaseId, rowCount, fileIds, source: _, ...stored } = work.request as StoredRequest
  const kb = requireJobTarget(deps.snapshot(), work.job, knowledgeBaseId)
  // Fails before reading anything if the model cannot be called.
  deps.embedders.embedder(kb.embeddingModel)
  const request = { ...stored, kb, ...(rowCount === null ? {} : { rows: [] }) }
  const tables = tablesOf(request, deps)
  const total = totalOf({ ...request, rows: { length: rowCount ?? 0 } }, tables)
  const tracked = await JobInsert.begin(work, { kb, total }, deps.chunks)
  const known = tables.map(({ file }) => file.id)
  const areFilesSame = isDeepStrictEqual(fileIds, known)
  await deps.inserts.during(kb, tracked, () => {
    return storeSources({ request, tracked, resumed: { work, areFilesSame } }, deps, signal)
  })
}

/** @param given `resumed`: for a job, whose rows are read again after those that are stored */
async function storeSources(
  given: {
    readonly request: InsertRequest
    readonly tracked: JobInsert
    readonly resumed?: { readonly work: JobWork; readonly areFilesSame: boolean }
  },
  deps: InsertDeps,
  signal: AbortSignal,
): Promise<void> {
  const { request, tracked, resumed } = given
  const { kb, onBadDocument } = request
  const skipsFailed = onBadDocument === 'skip'
  const onLeftOut = (one: JobError) => tracked.leaveOut(one)
  const { sources, leftOutPages } = insertSourcesOf({ ...request, onLeftOut }, deps, signal)
  const areFilesSame = resumed?.areFilesSame ?? true
  for (const [index, source] of sources.entries()) {
    // These sources yield the same rows in the same order each time.
    const isInOrder = source.source === 'rows' || (source.source === 'files' && areFilesSame)
    await tracked.store({ index, isInOrder }, ({ counts, doneRows, storing }) => {
      const left =
        resumed === undefined
          ? source
          : { ...source, rows: rowsAfter(source, doneRows, resumed.work), isUnbounded: true }
      return storeRows({ ...left, kb, counts }, deps, signal, { ...storing, skipsFailed })
    })
    if (source.source === 'urls') await deps.keepCrawlWarnings(kb, leftOutPages.warnings())
  }
}

/** Null, because the number of rows of a query or site is unknown. */
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

/** @throws AppError `file_not_found` */
function tablesOf(
  { files = [] }: Pick<InsertRequest, 'files'>,
  deps: Pick<InsertDeps, 'snapshot'>,
): readonly FileTable[] {
  const snapshot = deps.snapshot()
  return files.flatMap((name) => sheetsNamed(snapshot, name))
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

/** The schema of the PUT has validated the items. */
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
