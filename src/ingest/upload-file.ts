import type { Row } from '../domain/document.ts'
import type { ReadFile, ReadTable } from '../domain/ports/reading-ports.ts'
import type { NewFile } from '../domain/ports/store-ports.ts'
import {
  checkedFileName,
  fileKey,
  isDocumentFormat,
  type UploadedFile,
} from '../domain/uploaded-file.ts'
import { AppError } from '../errors.ts'
import type { InsertDeps } from './insert-request.ts'
import { LAYOUT_COLUMN, layoutValue } from './row-layout.ts'

export interface FileUpload {
  /** The name that the file gets in SQL: `files.<name>`. */
  readonly name: string
  /** The client's own name for it. */
  readonly originalName: string
  readonly bytes: Uint8Array
}

/**
 * Stores an uploaded file: a table as its rows, a document as one row `{id, content, title, format, layout}`.
 * @throws AppError `invalid_name`, `file_exists`, `file_unreadable`
 */
export async function uploadFile(
  { name, originalName, bytes }: FileUpload,
  deps: Pick<InsertDeps, 'snapshot' | 'files' | 'reader'>,
  signal: AbortSignal,
): Promise<UploadedFile> {
  const checked = checkedFileName(name)
  if (deps.snapshot().files.some((file) => fileKey(file.name) === fileKey(checked))) {
    throw new AppError('file_exists', `File with name ${checked} already exists`)
  }
  if (bytes.byteLength === 0) throw new AppError('file_unreadable', 'The file is empty')
  // Once as the file that is read, and once as a table.
  deps.files.checkSpace(2 * bytes.byteLength)
  const sent = { bytes, name: originalName, contentType: null, url: null, options: {} }
  return deps.reader.readFile(
    sent,
    async (read) => {
      const { format } = read
      const file: NewFile = { name: checked, originalName, format, sizeBytes: bytes.byteLength }
      if (!isDocumentFormat(format)) return deps.files.importTable(file, onlyTable(read), signal)
      const row = await documentRowOf(checked, read)
      return deps.files.importRows(file, [row])
    },
    signal,
  )
}

function onlyTable({ tables }: ReadFile): ReadTable {
  const [table, ...others] = tables
  if (table !== undefined && others.length === 0) return table
  throw new AppError('file_unreadable', `The file holds ${tables.length} tables; expected one`)
}

async function documentRowOf(name: string, { format, documents }: ReadFile): Promise<Row> {
  for await (const read of documents) {
    const { content, title } = read
    if (content.trim() === '') break
    return { id: name, content, title, format, [LAYOUT_COLUMN]: layoutValue(read) }
  }
  const hint = format === 'pdf' ? '; a PDF of scanned pages needs text recognition first' : ''
  throw new AppError('file_unreadable', `The file holds no text${hint}`)
}
