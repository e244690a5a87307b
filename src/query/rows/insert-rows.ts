import {
  type CellValue,
  ownMetadata,
  type Row,
  shownValue,
  TypedValue,
} from '../../core/domain/document.ts'
import { KNOWLEDGE_BASE_COLUMNS } from '../../core/domain/knowledge-base.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'
import { DAY_MS } from '../../core/time.ts'
import type { JobInsert } from '../../ingest/pipeline/job-insert.ts'
import { storeRows } from '../../ingest/pipeline/store-rows.ts'
import type { StoringOptions } from '../../ingest/pipeline/storing-stages.ts'
import {
  type ColumnMapping,
  columnMappingOf,
  findColumn,
  LAYOUT_COLUMN,
} from '../../ingest/sources/document-of-row.ts'
import type { StoredCounts } from '../../ingest/sources/insert-request.ts'
import type { RowStatement } from '../../sql/dialect/parse-rows.ts'
import { FieldReader, type Fields } from '../definitions/fields.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { runSelect } from '../select/run-select.ts'
import type { KnowledgeBaseRequest } from '../select/statement-request.ts'

type Insert = Extract<RowStatement, { kind: 'insert' }>

/** A SELECT is read while its earlier rows are embedded, which may take hours. */
const READING_MS = DAY_MS

const BATCH_MAX = 100_000

/**
 * As a PUT does, in several transactions if `isBatched`. @throws AppError `insert_failed`; errors
 * of SELECT, embedder and store
 */
export async function insertRows(
  request: KnowledgeBaseRequest<Insert> & { readonly isBatched?: boolean },
  deps: QueryDeps,
  signal: AbortSignal,
  tracked: JobInsert,
): Promise<StoredCounts & { readonly leftOut: readonly string[] }> {
  const options = storingOptions(request.statement.options)
  const isBatched = request.isBatched === true || options.batchChunks !== undefined
  let leftOut: readonly string[] = []
  await deps.inserts.during(request.kb, tracked, () => {
    return tracked.store({ index: 0, isInOrder: false }, async ({ counts, storing }) => {
      const target = { counts, options: { ...storing, ...options }, isBatched }
      leftOut = await storeSelected(request, target, deps, signal)
    })
  })
  return { ...tracked.counts, leftOut }
}

/**
 * Stores the rows of a SELECT or of VALUES. `isBatched` stores both kinds in several transactions.
 * @returns the columns that `metadata_columns` leaves out
 */
async function storeSelected(
  { statement, kb, db, params }: KnowledgeBaseRequest<Insert>,
  given: {
    readonly counts: StoredCounts
    readonly options: StoringOptions
    readonly isBatched: boolean
  },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { counts, options, isBatched } = given
  // Fails before reading anything if the model cannot be called.
  deps.embedders.embedder(kb.embeddingModel)
  refuseRepeated(statement.columns ?? [])
  const isValues = /^\s*\(*\s*values\b/i.test(statement.source)
  const select = { sql: statement.source, database: db, params }
  const stream = await runSelect(select, { ...deps, readingMs: READING_MS }, signal)
  const columns = await insertedColumns(statement, stream, isValues)
  const mapping = columnMappingOf(kb)
  const rows = rowsToInsert(valueBatches(stream, isValues), columns, mapping)
  // VALUES are stored in one transaction unless the statement says otherwise.
  const isUnbounded = !isValues || isBatched
  await storeRows({ kb, source: 'INSERT', rows, isUnbounded, counts }, deps, signal, options)
  return mapping.metadataColumns === null ? [] : columnsLeftOut(columns, mapping)
}

function columnsLeftOut(columns: readonly string[], mapping: ColumnMapping): readonly string[] {
  const own = isOfKnowledgeBase(columns) ? KNOWLEDGE_BASE_COLUMNS : []
  const known = [...knownColumns(mapping), ...own, 'metadata', LAYOUT_COLUMN]
  return columns.filter((name) => findColumn(known, name) === undefined)
}

function isOfKnowledgeBase(columns: readonly string[]): boolean {
  return KNOWLEDGE_BASE_COLUMNS.every((name) => columns.includes(name))
}

function knownColumns(mapping: ColumnMapping): readonly string[] {
  return [...mapping.contentColumns, ...(mapping.metadataColumns ?? []), ...mapping.idColumns]
}

/** Returns the columns of the values: those named in the statement, or the source's own. */
async function insertedColumns(
  statement: Insert,
  stream: RowStream,
  isValues: boolean,
): Promise<readonly string[]> {
  const own = stream.columns.map((column) => column.name)
  const { columns } = statement
  if (columns === null && !isValues) return own
  if (columns?.length === own.length) return columns
  // Only the columns are needed, so end the read.
  await stream.batches[Symbol.asyncIterator]().return?.()
  if (columns === null) {
    const how = 'INSERT INTO name (id, content) VALUES (…)'
    throw new AppError('insert_failed', `VALUES need the names of their columns: ${how}`)
  }
  const counts = `${columns.length} columns, and its rows have ${own.length} values`
  throw new AppError('insert_failed', `INSERT names ${counts}`)
}

/** @throws AppError `insert_failed` for a column that appears twice */
function refuseRepeated(columns: readonly string[]): void {
  const seen = new Set<string>()
  for (const name of columns) {
    if (seen.has(nameKey(name))) {
      throw new AppError('insert_failed', `INSERT names the column ${name} twice`)
    }
    seen.add(nameKey(name))
  }
}

const INSERT_OPTIONS = new Set(['batch_size', 'error', 'kb_skip_existing', 'background'])

/**
 * MindsDB options that Eider does not have, each with its replacement. Null and false are accepted.
 */
const OPTIONS_REPLACED: Readonly<Record<string, string>> = {
  track_column:
    "read only new rows with LAST in a job, or with a source of the kind 'query', which has track_column",
  threads: 'batches are embedded side by side without it, so leave it out',
  kb_no_upsert:
    'a row with a stored id always replaces that document, so leave it out, or keep the document with kb_skip_existing',
}

/** @throws AppError `unknown_field`, `insert_failed` */
export function storingOptions(sent: Fields): StoringOptions {
  const isAsked = ([name, value]: [string, unknown]) =>
    !(name in OPTIONS_REPLACED && value === false)
  const asked = Object.fromEntries(Object.entries(sent).filter(isAsked))
  const read = new FieldReader(asked, 'insert_failed')
  read.allowOnly(INSERT_OPTIONS, (name) => {
    const what = `Option '${name}' is not allowed in INSERT`
    const how = Object.hasOwn(OPTIONS_REPLACED, name)
      ? OPTIONS_REPLACED[name]
      : `there are ${[...INSERT_OPTIONS].join(', ')}`
    return `${what}; ${how}`
  })
  read.truth('background')
  const error = read.text('error') ?? 'raise'
  if (error !== 'raise' && error !== 'skip') {
    const message = `Option "error" must be 'raise' or 'skip'; it is '${error}'`
    throw new AppError('insert_failed', message)
  }
  const batchChunks = read.integer('batch_size', { min: 1, max: BATCH_MAX })
  return {
    skipsStored: read.truth('kb_skip_existing') === true,
    skipsFailed: error === 'skip',
    ...(batchChunks === undefined ? {} : { batchChunks }),
  }
}

type Batches = AsyncIterable<readonly (readonly CellValue[])[]>

/** Typed, except for VALUES: numbers as in JSON, so `9.5` is not a DECIMAL(2,1). */
function valueBatches({ batches, typedBatches = batches }: RowStream, isValues: boolean): Batches {
  return isValues ? withPlainNumbers(typedBatches) : typedBatches
}

async function* withPlainNumbers(batches: Batches): Batches & AsyncGenerator {
  for await (const batch of batches) yield batch.map((values) => values.map(plainNumber))
}

function plainNumber(value: CellValue): CellValue {
  return value instanceof TypedValue && typeof value.shown === 'number' ? value.shown : value
}

/**
 * Yields the values of a SELECT as rows to insert. An object in a column `metadata` supplies
 * further fields, unless the knowledge base has a column of that name. Rows of `SELECT *` from a
 * knowledge base are read as its chunks.
 * @param columns the names of the values
 */
async function* rowsToInsert(
  batches: Batches,
  columns: readonly string[],
  mapping: ColumnMapping,
): AsyncGenerator<Row, void, void> {
  const hasChunks = isOfKnowledgeBase(columns)
  const isOwn = findColumn(knownColumns(mapping), 'metadata') !== undefined
  const flattened = isOwn ? undefined : findColumn(columns, 'metadata')
  // Reversed, so that the first of several columns with the same name counts, as in a join of two
  // tables with an `id`.
  const columnIndexes = new Map(columns.map((name, index) => [name, index] as const).toReversed())
  for await (const batch of batches) {
    for (const values of batch) {
      const entries = [...columnIndexes].map(
        ([name, index]) => [name, values[index] ?? null] as const,
      )
      const row: Row = Object.fromEntries(entries.toReversed())
      const document = hasChunks ? documentOfChunk(row, mapping) : row
      yield flattened === undefined ? document : withFields(document, flattened)
    }
  }
}

/** A document's only chunk keeps its id; others get the chunk id, to not replace each other. */
function documentOfChunk(row: Row, { contentColumns }: ColumnMapping): Row {
  const { chunk_id, chunk_content, relevance: _, distance: __, ...rest } = row
  const metadata = cellObject(row.metadata ?? null)
  const column = String(metadata?.content_column ?? '')
  const [only = '', ...others] = contentColumns
  const isSameColumn = nameKey(column) === nameKey(only) || column === 'content'
  const isWhole = typeof chunk_id === 'string' && /:1of1:\d+to\d+$/.test(chunk_id)
  const keepsId = isWhole && isSameColumn && others.length === 0
  const target = findColumn(contentColumns, column) ?? only
  return {
    ...Object.fromEntries(contentColumns.map((name) => [name, null])),
    [target]: chunk_content ?? null,
    ...rest,
    ...(keepsId ? {} : { id: chunk_id ?? null }),
  }
}

/** If a column has the same name as a field, the column wins. */
function withFields(row: Row, metadataColumn: string): Row {
  const { [metadataColumn]: metadata = null, ...rest } = row
  if (metadata === null) return rest
  const fields = cellObject(metadata)
  return fields === null ? row : { ...ownMetadata(fields), ...rest }
}

function cellObject(cell: CellValue): Row | null {
  const value = shownValue(cell)
  const object = typeof value === 'string' && value.startsWith('{') ? parsedJson(value) : value
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return null
  // JSON values are valid in a row.
  return object as Row
}
