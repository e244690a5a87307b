/** Turns the content of a file or page into rows, each with the id of its document. */
import type { Row } from '../../core/domain/document.ts'
import type { TableRows } from '../../core/domain/ports/job-ports.ts'
import type {
  DocumentReading,
  ReadDocument,
  ReadFile,
  ReadTable,
} from '../../core/domain/ports/reading-ports.ts'
import { isDocumentFormat } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import {
  type ColumnMapping,
  documentRow,
  findColumn,
  ID_COLUMN,
  LAYOUT_COLUMN,
  layoutValue,
  rowText,
  textOf,
} from '../sources/document-of-row.ts'

interface ItemReading {
  readonly reader: DocumentReading
  readonly tables: TableRows
  readonly mapping: ColumnMapping
  /** Called for parts of the item that cannot be read. */
  readonly leaveOut: (item: string, message: string) => void
}

/** One for a document; `path:message`, `path:id` for a table's rows, `path/member` in a ZIP. */
export async function* rowsOfItem(
  { id, columns = {} }: { readonly id: string; readonly columns?: Row },
  read: ReadFile,
  reading: ItemReading,
  signal: AbortSignal,
): AsyncGenerator<Row, void, void> {
  if (read.archive !== null) {
    for (const member of read.archive.members) {
      const name = `${id}/${member.name}`
      if (member.failure !== null) reading.leaveOut(name, member.failure)
      else yield* rowsOfMember({ id: name, columns, path: member.path }, reading, signal)
    }
  } else if (isDocumentFormat(read.format)) {
    for await (const document of read.documents) {
      yield rowOfDocument({ id, columns, format: read.format }, document, reading.mapping)
    }
  } else {
    for (const table of read.tables) yield* rowsOfTable(id, table, reading, signal)
  }
}

async function* rowsOfMember(
  { id, columns, path }: { readonly id: string; readonly columns: Row; readonly path: string },
  reading: ItemReading,
  signal: AbortSignal,
): AsyncGenerator<Row, void, void> {
  const name = id.slice(id.lastIndexOf('/') + 1)
  const source = { path, name, contentType: null, url: null, options: {} }
  const rows: Row[] = []
  try {
    // Each file of an archive fits in memory, but all of them together may not.
    await reading.reader.readFile(
      source,
      async (read) => {
        if (read.archive !== null) reading.leaveOut(id, 'A ZIP within a ZIP is not unpacked')
        else
          for await (const row of rowsOfItem({ id, columns }, read, reading, signal)) rows.push(row)
      },
      signal,
    )
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'file_unreadable') throw error
    reading.leaveOut(id, error.message)
  }
  yield* rows
}

/** The columns of every document's row. The document's own columns are added to these. */
const ITEM_COLUMNS = ['title', 'format', LAYOUT_COLUMN, 'links']

function rowOfDocument(
  item: { readonly id: string; readonly columns: Row; readonly format: string },
  document: ReadDocument,
  mapping: ColumnMapping,
): Row {
  const { content, title, links } = document
  const own = Object.entries(document.columns).map(([name, value]) => {
    return [ITEM_COLUMNS.includes(name.toLowerCase()) ? `${name}_1` : name, value] as const
  })
  const asksForLinks = findColumn(mapping.metadataColumns ?? [], 'links') !== undefined
  const columns = {
    ...Object.fromEntries(own),
    ...item.columns,
    title,
    format: item.format,
    [LAYOUT_COLUMN]: layoutValue(document),
    ...(asksForLinks ? { links: [...links] } : {}),
  }
  const id = document.id === null ? item.id : `${item.id}:${document.id}`
  return documentRow({ id, content, columns }, mapping)
}

async function* rowsOfTable(
  item: string,
  table: ReadTable,
  { tables, mapping }: ItemReading,
  signal: AbortSignal,
): AsyncGenerator<Row, void, void> {
  const prefix = table.name === null ? item : `${item}:${table.name}`
  const columns = table.columns.map(({ name }) => name)
  const idColumn = mapping.idColumns.map((name) => findColumn(columns, name)).find(Boolean)
  const hasContent = mapping.contentColumns.some((name) => findColumn(columns, name))
  const [ownIdColumn = ID_COLUMN] = mapping.idColumns
  let index = 0
  for await (const row of tables.rowsOfTable(table, signal)) {
    index += 1
    const named = idColumn === undefined ? '' : textOf(row[idColumn] ?? null)
    const id = `${prefix}:${named || index}`
    if (hasContent) {
      const others = Object.entries(row).filter(([name]) => name !== idColumn)
      yield { [ownIdColumn]: id, ...Object.fromEntries(others) }
    } else {
      const content = rowText(row)
      yield documentRow({ id, content, columns: row }, mapping)
    }
  }
}
