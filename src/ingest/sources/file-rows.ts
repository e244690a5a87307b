import {
  type CatalogSnapshot,
  requireFileTable,
} from '../../core/domain/access/catalog-snapshot.ts'
import type { Rights } from '../../core/domain/access/principal.ts'
import { type CellValue, type Row, shownValue } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import {
  type FileTable,
  isDocumentFormat,
  tablesOfFile,
  type UploadedFile,
} from '../../core/domain/uploaded-file.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import {
  type ColumnMapping,
  columnMappingOf,
  documentRow,
  findColumn,
  type MappedColumns,
  rowText,
  textOf,
} from './document-of-row.ts'
import type { InsertDeps } from './insert-request.ts'

type FilesDeps = Pick<InsertDeps, 'snapshot' | 'files'>

/** All sheets of a workbook, or the one that is named. @throws AppError `file_not_found` */
export function sheetsNamed(snapshot: CatalogSnapshot, name: string): readonly FileTable[] {
  const table = requireFileTable(snapshot, name)
  return table.index === 0 ? tablesOfFile(table.file) : [table]
}

/** Looks up all names before the first row. @throws AppError `file_not_found` */
export async function* rowsOfFiles(
  { kb, files }: { readonly kb: MappedColumns; readonly files: readonly string[] },
  deps: FilesDeps,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  const snapshot = deps.snapshot()
  const found = files.map((name) => sheetsNamed(snapshot, name))
  const rule = columnMappingOf(kb)
  for (const sheets of found) {
    for (const table of sheets) {
      // A single sheet keeps its ids.
      const index = sheets.length === 1 ? 0 : table.index
      yield* rowsOfFile({ ...table, index }, rule, deps.files.rows(table, signal))
    }
  }
}

async function* rowsOfFile(
  table: FileTable,
  rule: ColumnMapping,
  rows: AsyncIterable<Row>,
): AsyncGenerator<Row> {
  const { file } = table
  if (!isDocumentFormat(file.format))
    return yield* rowsOfTable({ ...table, known: null }, rule, rows)
  for await (const row of rows) yield documentFileRow(file, row, rule)
}

interface RowsTable extends Pick<FileTable, 'index' | 'name' | 'columns'> {
  readonly known: Row | null
}

/**
 * Rows with one of the content columns stay as they are; others become a text. Sheets may number
 * their rows alike, so ids of further sheets start with the sheet.
 */
export async function* rowsOfTable(
  { index, name, columns, known }: RowsTable,
  rule: ColumnMapping,
  rows: AsyncIterable<Row>,
): AsyncGenerator<Row> {
  const columnOf = (names: readonly string[]) => {
    return names.map((one) => findColumn(columns, one)).find(Boolean)
  }
  const hasContent = columnOf(rule.contentColumns) !== undefined
  const idColumn = columnOf(rule.idColumns)
  let rowIndex = 0
  for await (const row of rows) {
    rowIndex += 1
    const id = idColumn === undefined ? '' : textOf(row[idColumn] ?? null)
    const isUnique = index === 0 && id !== ''
    const ownId = isUnique ? id : `${name}:${id || rowIndex}`
    const isKept = isUnique || idColumn === undefined || id === ''
    const withId = isKept ? row : { ...row, [idColumn]: ownId }
    const own = hasContent
      ? withId
      : documentRow({ id: ownId, content: rowText(row), columns: row }, rule)
    yield known === null ? own : { ...own, ...known }
  }
}

const LINKS_COLUMN = 'links'

function documentFileRow(file: UploadedFile, row: Row, rule: ColumnMapping): Row {
  const { id, content, links = null, ...known } = row
  // Links become metadata only on request, because there may be thousands.
  const asksForLinks = findColumn(rule.metadataColumns ?? [], LINKS_COLUMN) !== undefined
  const columns = asksForLinks ? { ...known, [LINKS_COLUMN]: links } : known
  return documentRow(
    { id: textOf(id ?? null) || file.name, content: textOf(content ?? null), columns },
    rule,
  )
}

/** Failures caused neither by a SELECT nor by its rows. */
export const SERVER_FAILURES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'timeout',
  'cancelled',
  'too_busy',
  'shutting_down',
  'out_of_memory',
  'storage_full',
  'data_damaged',
  'statement_too_large',
  'forbidden',
  'source_failed',
  'address_refused',
  'internal',
])

/** Yields the rows of one SELECT. @throws AppError `invalid_select` */
export async function* rowsOfQuery(
  given: {
    readonly kb: KnowledgeBase
    readonly query: string
    /** The source's table, if the query is ours. */
    readonly table?: string
    readonly rights?: Rights | null | undefined
  },
  deps: Pick<InsertDeps, 'select'>,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  const { kb, query, table, rights = null } = given
  try {
    const stream = await deps.select(query, { projectName: kb.projectName, rights }, signal)
    yield* readAhead(rowsOfStream(stream), INGEST_LIMITS.queryReadAheadChars)
  } catch (error) {
    if (!(error instanceof AppError) || error === signal.reason) throw error
    if (SERVER_FAILURES.has(error.code)) throw error
    const what =
      table === undefined
        ? 'Executing "query" failed. Needs to be a valid SELECT statement that returns data'
        : `Reading the table ${table} failed`
    throw new AppError('invalid_select', `${what}: ${error.message}`, { cause: error })
  }
}

async function* rowsOfStream({ columns, ...rows }: RowStream): AsyncGenerator<Row> {
  for await (const batch of rows.typedBatches ?? rows.batches) {
    for (const values of batch) yield fileRow(columns, values)
  }
}

/** Of columns with the same name, the first counts, as in a join with two `id`. */
function fileRow(columns: RowStream['columns'], values: readonly CellValue[]): Row {
  const byName = new Map<string, CellValue>()
  for (const [index, { name }] of columns.entries()) {
    if (!byName.has(name)) byName.set(name, values[index] ?? null)
  }
  return Object.fromEntries(byName)
}

/** Reads ahead, so that most queries free their connection before embedding starts. */
async function* readAhead(rows: AsyncGenerator<Row>, charsMax: number): AsyncGenerator<Row> {
  const known: Row[] = []
  let chars = 0
  for await (const row of rows) {
    known.push(row)
    if (chars <= charsMax) chars += rowChars(row)
    if (chars > charsMax) yield* known.splice(0)
  }
  yield* known
}

/**
 * The approximate size of a row. Column names are shared between rows; each value takes some space.
 */
function rowChars(row: Row): number {
  const chars = Object.values(row).map((cell) => {
    const value = shownValue(cell)
    return typeof value === 'string' ? value.length : 0
  })
  return chars.reduce((sum, length) => sum + length + VALUE_CHARS, 0)
}

const VALUE_CHARS = 16
