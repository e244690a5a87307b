import type { Row } from '../domain/document.ts'
import { crawledRows } from './crawl/crawled-rows.ts'
import { columnMappingOf } from './document-of-row.ts'
import { failedInsert } from './failed-insert.ts'
import type { InsertDeps, InsertReport, InsertRequest } from './insert-request.ts'
import { rowsOfFiles } from './sources/file-rows.ts'
import { rowsOfQuery } from './sources/query-rows.ts'
import { type StoredCounts, storeRows } from './store-rows.ts'

export type SourceName = 'rows' | 'files' | 'urls' | 'query'

interface Source {
  readonly name: SourceName
  readonly rows: AsyncIterable<Row> | readonly Row[]
  /** Stored piece by piece, because nobody knows how much it is. */
  readonly isUnbounded: boolean
}

/**
 * Inserts every source in one transaction of its own, a large `query` in several. A source that fails leaves nothing
 * of itself, and the message says what of the others is stored.
 * @throws AppError `insert_failed`, `invalid_select`, `crawl_failed`, `address_refused`, those of the embedder and store
 */
export async function insert(
  request: InsertRequest,
  deps: InsertDeps,
  signal: AbortSignal,
): Promise<InsertReport> {
  const { kb } = request
  const rule = columnMappingOf(kb)
  // A model that cannot be called is refused before anything is read.
  deps.embedders.embedder(kb.embeddingModel)
  const counts: StoredCounts = { storedRows: 0, skippedRows: 0, chunks: 0, readRows: 0 }
  for (const source of sourcesOf(request, deps, signal)) {
    const before = counts.storedRows
    try {
      await storeRows({ ...source, kb, rule, counts }, deps, signal)
    } catch (error) {
      throw failedInsert(error, { source: source.name, before, after: counts.storedRows, signal })
    }
  }
  const { storedRows, skippedRows, chunks } = counts
  return { storedRows, skippedRows, chunks }
}

function sourcesOf(
  request: InsertRequest,
  deps: InsertDeps,
  signal: AbortSignal,
): readonly Source[] {
  const { kb, rows, files, urls, crawl, query } = request
  const bounded = (name: SourceName, source: Source['rows']): Source => {
    return { name, rows: source, isUnbounded: false }
  }
  return [
    ...(rows === undefined ? [] : [bounded('rows', rows)]),
    ...(files === undefined ? [] : [bounded('files', rowsOfFiles({ kb, files }, deps, signal))]),
    ...(urls === undefined
      ? []
      : [bounded('urls', crawledRows({ kb, urls, crawl }, deps, signal))]),
    ...(query === undefined
      ? []
      : [
          {
            name: 'query' as const,
            rows: rowsOfQuery({ kb, query }, deps, signal),
            isUnbounded: true,
          },
        ]),
  ]
}
