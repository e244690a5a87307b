import { FieldReader, type Fields } from '../../catalog/fields.ts'
import { nameKey } from '../../domain/identifier.ts'
import type { RowStream } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import { columnMappingOf } from '../../ingest/document-of-row.ts'
import { failedInsert } from '../../ingest/failed-insert.ts'
import { type StoringOptions, storeRows } from '../../ingest/store-rows.ts'
import type { RowStatement } from '../../sql/dialect/parse-rows.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runSelect } from '../select/run-select.ts'
import type { RowRequest } from './row-request.ts'
import { rowsToInsert } from './rows-to-insert.ts'

type Insert = Extract<RowStatement, { kind: 'insert' }>

/** The rows of a SELECT are read while others are embedded, which may take long. */
const READING_MS = 24 * 3_600_000

const BATCH_MAX = 100_000

/**
 * Stores the rows of a SELECT or of VALUES as documents, as a PUT does. @returns the number of documents
 * @throws AppError `insert_failed` and those of the SELECT, the embedder and the store
 */
export async function insertRows(
  { statement, kb, db, params }: RowRequest<Insert>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<number> {
  const options = storingOptions(statement.options)
  // A model that cannot be called is refused before anything is read.
  deps.embedders.embedder(kb.embeddingModel)
  refuseRepeated(statement.columns ?? [])
  const isValues = /^\s*\(*\s*values\b/i.test(statement.source)
  const select = { sql: statement.source, database: db, params }
  const stream = await runSelect(select, { ...deps, readingMs: READING_MS }, signal)
  const columns = await columnsOf(statement, stream, isValues)
  const counts = { storedRows: 0, skippedRows: 0, chunks: 0, readRows: 0 }
  const rule = columnMappingOf(kb)
  const rows = rowsToInsert(stream.batches, columns, rule)
  // VALUES are one transaction, unless the statement says otherwise.
  const isUnbounded = !isValues || options.batchChunks !== undefined
  const source = { kb, rule, rows, isUnbounded, counts, options }
  try {
    await storeRows(source, deps, signal)
  } catch (error) {
    const after = counts.storedRows
    throw failedInsert(error, { source: 'INSERT', before: 0, after, signal })
  }
  return counts.storedRows
}

/** The names under which the values count: those of the statement, or the source's own. */
async function columnsOf(
  statement: Insert,
  stream: RowStream,
  isValues: boolean,
): Promise<readonly string[]> {
  const own = stream.columns.map((column) => column.name)
  const { columns } = statement
  if (columns === null && !isValues) return own
  if (columns?.length === own.length) return columns
  // Its rows are not going to be read.
  await stream.batches[Symbol.asyncIterator]().return?.()
  if (columns === null) {
    const how = 'INSERT INTO name (id, content) VALUES (…)'
    throw new AppError('insert_failed', `VALUES need the names of their columns: ${how}`)
  }
  const counts = `${columns.length} columns, and its rows have ${own.length} values`
  throw new AppError('insert_failed', `INSERT names ${counts}`)
}

/** @throws AppError `insert_failed` */
function refuseRepeated(columns: readonly string[]): void {
  const seen = new Set<string>()
  for (const name of columns) {
    if (seen.has(nameKey(name))) {
      throw new AppError('insert_failed', `INSERT names the column ${name} twice`)
    }
    seen.add(nameKey(name))
  }
}

const OPTIONS = new Set([
  'batch_size',
  'track_column',
  'threads',
  'error',
  'kb_no_upsert',
  'kb_skip_existing',
])

/** @throws AppError `unknown_field`, `insert_failed` */
function storingOptions(sent: Fields): StoringOptions {
  const read = new FieldReader(sent, 'insert_failed')
  read.allowOnly(OPTIONS, (name) => `Option '${name}' is not allowed in INSERT`)
  read.text('track_column')
  read.truth('kb_no_upsert')
  if (typeof sent.threads === 'number') read.integer('threads', { min: 1, max: 1000 })
  else read.truth('threads')
  const error = read.text('error') ?? 'raise'
  if (error !== 'raise' && error !== 'skip') {
    throw new AppError(
      'insert_failed',
      `Option "error" must be 'raise' or 'skip'; it is '${error}'`,
    )
  }
  const batchChunks = read.integer('batch_size', { min: 1, max: BATCH_MAX })
  return {
    skipsStored: read.truth('kb_skip_existing') === true,
    skipsFailed: error === 'skip',
    ...(batchChunks === undefined ? {} : { batchChunks }),
  }
}
