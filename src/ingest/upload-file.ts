import type { Row } from '../domain/document.ts'
import type { DocumentReading } from '../domain/ports/reading-ports.ts'
import type { NewFile } from '../domain/ports/store-ports.ts'
import {
  checkedFileName,
  type DocumentFormat,
  fileKey,
  isDocumentFormat,
  type UploadedFile,
} from '../domain/uploaded-file.ts'
import { AppError } from '../errors.ts'
import { fileFormat } from '../reading/file-format.ts'
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
  const format = fileFormat(originalName, bytes)
  const file: NewFile = { name: checked, originalName, format, sizeBytes: bytes.byteLength }
  if (!isDocumentFormat(format)) return deps.files.importTable(file, bytes, signal)
  const row = await documentRowOf({ name: checked, bytes, format }, deps.reader, signal)
  return deps.files.importRows(file, [row])
}

async function documentRowOf(
  file: { readonly name: string; readonly bytes: Uint8Array; readonly format: DocumentFormat },
  reader: DocumentReading,
  signal: AbortSignal,
): Promise<Row> {
  const { name, bytes, format } = file
  const read = await reader.read({ bytes, format, charset: null, url: null }, signal)
  const { content, title } = read
  if (content.trim() === '') {
    const hint = format === 'pdf' ? '; a PDF of scanned pages needs text recognition first' : ''
    throw new AppError('file_unreadable', `The file holds no text${hint}`)
  }
  return { id: name, content, title, format, [LAYOUT_COLUMN]: layoutValue(read) }
}
