/** An insert that nobody waits for: stored batch by batch, and gone on with after a restart. */
import { requireFileTable, requireKnowledgeBase } from '../domain/catalog-snapshot.ts'
import type { Row } from '../domain/document.ts'
import { type LeftOutItems, withLeftOut } from '../domain/flow/job.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { JobDraft, JobWork } from '../domain/ports/job-ports.ts'
import { notFound } from '../errors.ts'
import { type InsertSource, insertSourcesOf, keepLeftOutPages } from './insert.ts'
import type { InsertDeps, InsertRequest } from './insert-request.ts'
import { storeRows } from './store-rows.ts'
import type { StoredCounts } from './storing-stages.ts'

/** A PUT, as its job keeps it. The rows are the job's items. */
interface StoredRequest extends Omit<InsertRequest, 'kb' | 'rows'> {
  readonly source: 'put'
  /** A knowledge base of the same name is not the one that was meant. */
  readonly knowledgeBaseId: number
  /** null: none came with it. */
  readonly rowCount: number | null
}

/** Where a job is. */
interface Checkpoint {
  /** Of the source at work, in the order of the request. */
  readonly sourceIndex: number
  /** Rows of it that are stored or left out. */
  readonly rows: number
  /** Of the sources before it. */
  readonly before: Counts
}

interface Counts {
  readonly rows: number
  readonly documents: number
  readonly chunks: number
}

const NOTHING: Counts = { rows: 0, documents: 0, chunks: 0 }

/**
 * A transaction of a job is small enough to be there soon: what is stored can be searched, and a kill loses no more than it.
 */
const BATCH_CHUNKS = 512

/** A provider that is busy or down may come back: a job has the time. */
const PATIENCE_MS = 600_000

/** @throws AppError for what is known to be wrong before anything is read: `unknown_provider`, `file_not_found` */
export function insertJobOf(
  { kb, rows, ...others }: InsertRequest,
  deps: Pick<InsertDeps, 'embedders' | 'snapshot'>,
): JobDraft {
  deps.embedders.embedder(kb.embeddingModel)
  for (const name of others.files ?? []) requireFileTable(deps.snapshot(), name)
  const request: StoredRequest = {
    ...others,
    source: 'put',
    knowledgeBaseId: kb.id,
    rowCount: rows?.length ?? null,
  }
  return {
    kind: 'insert',
    projectName: kb.projectName,
    knowledgeBase: kb.name,
    title: titleOf({ kb, ...(rows === undefined ? {} : { rows }), ...others }),
    request,
    ...(rows === undefined ? {} : { items: rows }),
  }
}

function titleOf({ kb, rows, files, urls, query }: Partial<InsertRequest>): string {
  const parts = [
    ...(rows === undefined ? [] : [counted(rows.length, 'row')]),
    ...(files === undefined ? [] : [counted(files.length, 'file')]),
    ...(urls === undefined ? [] : [counted(urls.length, 'address', 'addresses')]),
    ...(query === undefined ? [] : ['the rows of a query']),
  ]
  return `Insert ${parts.join(', ')} into ${kb?.name}`
}

function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}

/** @throws AppError as `insert`; `knowledge_base_not_found` where it was dropped meanwhile */
export async function runInsertJob(
  work: JobWork,
  deps: InsertDeps,
  signal: AbortSignal,
): Promise<void> {
  // Only `insertJobOf` makes these requests, and a job's request is authentic.
  const { knowledgeBaseId, rowCount, source: _, ...stored } = work.request as StoredRequest
  const kb = knowledgeBaseOf(work, knowledgeBaseId, deps)
  // A model that cannot be called is refused before anything is read.
  deps.embedders.embedder(kb.embeddingModel)
  const checkpoint = (work.checkpoint as Checkpoint | null) ?? {
    sourceIndex: 0,
    rows: 0,
    before: NOTHING,
  }
  const request = { ...stored, kb, ...(rowCount === null ? {} : { rows: [] }) }
  const total = totalOf(request, rowCount ?? 0, deps)
  const run = new InsertRun({ work, kb, checkpoint, total }, deps)
  await run.run(request, signal)
}

/** null: nobody knows how many rows a query or a site has. */
function totalOf(
  { files = [], urls, query }: InsertRequest,
  rowCount: number,
  deps: InsertDeps,
): number | null {
  if (urls !== undefined || query !== undefined) return null
  const snapshot = deps.snapshot()
  const counts = files.map((name) => requireFileTable(snapshot, name).rowCount)
  return counts.reduce((sum, count) => sum + count, rowCount)
}

function knowledgeBaseOf({ job }: JobWork, id: number, deps: InsertDeps): KnowledgeBase {
  const { projectName, knowledgeBase } = job
  const kb = requireKnowledgeBase(deps.snapshot(), projectName, knowledgeBase ?? '')
  if (kb.id !== id) throw notFound('knowledge_base', kb.name)
  return kb
}

interface RunOptions {
  readonly work: JobWork
  readonly kb: KnowledgeBase
  readonly checkpoint: Checkpoint
  /** Rows of all sources; null: unknown. */
  readonly total: number | null
}

class InsertRun {
  readonly #options: RunOptions
  readonly #deps: InsertDeps
  #leftOut: LeftOutItems

  constructor(options: RunOptions, deps: InsertDeps) {
    this.#options = options
    this.#deps = deps
    const { errors, errorCount } = options.work.job
    this.#leftOut = { errors, errorCount }
  }

  async run(request: InsertRequest, signal: AbortSignal): Promise<void> {
    const { checkpoint, kb } = this.#options
    const { sources, leftOutPages } = insertSourcesOf(request, this.#deps, signal)
    let { before } = checkpoint
    const isSkipping = request.onBadDocument === 'skip'
    for (const [index, source] of sources.entries()) {
      if (index < checkpoint.sourceIndex) continue
      const done = index === checkpoint.sourceIndex ? checkpoint.rows : 0
      before = await this.#runSource({ source, index, done, before, isSkipping }, signal)
      if (source.source === 'urls') await keepLeftOutPages(kb, leftOutPages, this.#deps)
    }
  }

  async #runSource(
    {
      source,
      index,
      done,
      before,
      isSkipping,
    }: {
      readonly source: InsertSource
      readonly index: number
      readonly done: number
      readonly before: Counts
      readonly isSkipping: boolean
    },
    signal: AbortSignal,
  ): Promise<Counts> {
    const { work, kb, total } = this.#options
    const { progress } = work.job
    const goesOn = done > 0 && isInOrder(source)
    const counts: StoredCounts = {
      storedDocuments: goesOn ? progress.documents : before.documents,
      chunks: goesOn ? progress.chunks : before.chunks,
      skippedRows: 0,
      readRows: before.rows + (goesOn ? done : 0),
    }
    const markOf = (stored: StoredCounts, next: Partial<Checkpoint> = {}) => ({
      jobId: work.job.id,
      // What is stored stays stored while a source is read again.
      progress: {
        rows: Math.max(stored.readRows, progress.rows),
        documents: Math.max(stored.storedDocuments, progress.documents),
        chunks: Math.max(stored.chunks, progress.chunks),
        total,
      },
      checkpoint: { sourceIndex: index, rows: stored.readRows - before.rows, before, ...next },
      leftOut: this.#leftOut,
    })
    const rows = goesOn ? rowsAfter(source, done, work) : rowsFrom(source, work)
    await storeRows({ ...source, rows, isUnbounded: true, kb, counts }, this.#deps, signal, {
      skipsFailed: isSkipping,
      batchChunks: BATCH_CHUNKS,
      patienceMs: PATIENCE_MS,
      markOf,
      onLeftOut: (error) => {
        this.#leftOut = withLeftOut(this.#leftOut, error)
      },
    })
    const after = {
      rows: counts.readRows,
      documents: counts.storedDocuments,
      chunks: counts.chunks,
    }
    await work.mark(markOf(counts, { sourceIndex: index + 1, rows: 0, before: after }))
    return after
  }
}

/** Its rows come in the same order whenever it is read. */
function isInOrder({ source }: InsertSource): boolean {
  return source === 'rows' || source === 'files'
}

function rowsFrom(source: InsertSource, work: JobWork) {
  return source.source === 'rows' ? itemsOf(work, 0) : source.rows
}

function rowsAfter(source: InsertSource, done: number, work: JobWork): AsyncIterable<Row> {
  return source.source === 'rows' ? itemsOf(work, done) : without(source.rows, done)
}

/** What the schema of the PUT let in. */
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
