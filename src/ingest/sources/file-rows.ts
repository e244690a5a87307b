import { requireFileTable } from '../../core/domain/access/catalog-snapshot.ts'
import type { Row } from '../../core/domain/document.ts'
import {
  type FileTable,
  isDocumentFormat,
  type UploadedFile,
} from '../../core/domain/uploaded-file.ts'
import {
  type ColumnMapping,
  columnMappingOf,
  documentRow,
  findColumn,
  type MappedColumns,
  textOf,
} from './document-of-row.ts'
import type { InsertDeps } from './insert-request.ts'

type FilesDeps = Pick<InsertDeps, 'snapshot' | 'files'>

/**
 * The rows of uploaded files, one after the other; all names are looked up before the first row.
 * @throws AppError `file_not_found`
 */
export async function* rowsOfFiles(
  { kb, files }: { readonly kb: MappedColumns; readonly files: readonly string[] },
  deps: FilesDeps,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  const snapshot = deps.snapshot()
  const found = files.map((name) => requireFileTable(snapshot, name))
  const rule = columnMappingOf(kb)
  for (const table of found) yield* rowsOfFile(table, rule, deps.files.rows(table, signal))
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

export interface RowsTable extends Pick<FileTable, 'name' | 'columns'> {
  /** What every document of it says beside its columns; null: nothing. */
  readonly known: Row | null
}

/** A table with one of the content columns is taken as it is; of any other, each row becomes a text. */
export async function* rowsOfTable(
  { name: tableName, columns, known }: RowsTable,
  rule: ColumnMapping,
  rows: AsyncIterable<Row>,
): AsyncGenerator<Row> {
  const hasContent = rule.contentColumns.some((name) => findColumn(columns, name))
  let rowIndex = 0
  for await (const row of rows) {
    rowIndex += 1
    const own = hasContent ? row : textOfRow(row, `${tableName}:${rowIndex}`, rule)
    yield known === null ? own : { ...own, ...known }
  }
}

const LINKS_COLUMN = 'links'

function documentFileRow(file: UploadedFile, row: Row, rule: ColumnMapping): Row {
  const { id, content, links = null, ...known } = row
  // The addresses that it links to are metadata for who asks for them: there may be thousands.
  const asksForLinks = findColumn(rule.metadataColumns ?? [], LINKS_COLUMN) !== undefined
  const columns = asksForLinks ? { ...known, [LINKS_COLUMN]: links } : known
  return documentRow(
    { id: textOf(id ?? null) || file.name, content: textOf(content ?? null), columns },
    rule,
  )
}

/** `{tea: 'green', price: 9}` → `tea: green, price: 9`. */
function textOfRow(row: Row, ownId: string, rule: ColumnMapping): Row {
  const idColumn = rule.idColumns.map((name) => findColumn(Object.keys(row), name)).find(Boolean)
  const content = Object.entries(row)
    .filter(([, value]) => textOf(value) !== '')
    .map(([name, value]) => `${name}: ${textOf(value)}`)
    .join(', ')
  const named = idColumn === undefined ? '' : textOf(row[idColumn] ?? null)
  return documentRow({ id: named || ownId, content, columns: row }, rule)
}
