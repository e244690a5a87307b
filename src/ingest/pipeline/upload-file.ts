import type { Row } from '../../core/domain/document.ts'
import type {
  DocumentReading,
  ReadArchive,
  ReadDocument,
  ReadFile,
  ReadingOptions,
} from '../../core/domain/ports/reading-ports.ts'
import type { IncomingFile, NewFile } from '../../core/domain/ports/store-ports.ts'
import {
  checkedFileName,
  checkedMemberName,
  fileKey,
  isDocumentFormat,
  type UploadedFile,
} from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import type { FileFetcher, PageFetcher } from '../sources/guarded-fetch.ts'
import type { InsertDeps } from '../sources/insert-request.ts'
import { LAYOUT_COLUMN, layoutValue } from '../sources/row-layout.ts'

/** A file that came in and lies on the disk. */
export interface FileUpload extends IncomingFile {
  /** The name that the file gets in SQL: `files.<name>`. */
  readonly name: string
  /** The client's own name for it. */
  readonly originalName: string
  readonly contentType: string | null
  /** Where it was fetched. */
  readonly url: string | null
  readonly options: ReadingOptions
  /** A file of that name gives way once the new one is stored. */
  readonly replaces: boolean
  /** Of a ZIP: its name may have folders. */
  readonly isMember: boolean
}

export interface UploadDeps extends Pick<InsertDeps, 'snapshot' | 'files'> {
  readonly reader: Pick<DocumentReading, 'readFile'>
  readonly downloads: PageFetcher & FileFetcher
}

/**
 * Stores an uploaded file: tables as their rows, a document as a row `{id, content, title, format, layout}` and its own
 * columns, of a mailbox one row for each message.
 * @param storeMembers what to do with a ZIP of other files
 * @throws AppError `invalid_name`, `file_exists`, `file_unreadable`
 */
export async function uploadFile<T>(
  upload: FileUpload,
  storeMembers: (archive: ReadArchive) => Promise<T>,
  deps: UploadDeps,
  signal: AbortSignal,
): Promise<UploadedFile | T> {
  const name = freeName(upload, deps)
  return deps.reader.readFile(
    sourceOf(upload, deps),
    (read): Promise<UploadedFile | T> => {
      if (read.archive !== null) return storeMembers(read.archive)
      return storeRead({ ...upload, name }, read, deps, signal)
    },
    signal,
  )
}

/** @throws AppError `invalid_name`, `file_exists` before anything is read */
function freeName(
  { name, replaces, isMember }: FileUpload,
  deps: Pick<UploadDeps, 'snapshot'>,
): string {
  const checked = isMember ? checkedMemberName(name) : checkedFileName(name)
  const isTaken = deps.snapshot().files.some((file) => fileKey(file.name) === fileKey(checked))
  if (!isTaken || replaces) return checked
  const message = `File with name ${checked} already exists; ?replace=1 replaces it`
  throw new AppError('file_exists', message)
}

function sourceOf(upload: FileUpload, deps: Pick<UploadDeps, 'files'>) {
  const { path, originalName, contentType, url, options, sizeBytes } = upload
  if (sizeBytes === 0) throw new AppError('file_unreadable', 'The file is empty')
  // Beside the file itself, what it is read into and the table.
  deps.files.checkSpace(2 * sizeBytes)
  return { path, name: originalName, contentType, url, options }
}

/** @throws AppError `file_unreadable` for a file without rows or text, `file_exists` */
function storeRead(
  upload: FileUpload,
  read: ReadFile,
  { files }: Pick<UploadDeps, 'files'>,
  signal: AbortSignal,
): Promise<UploadedFile> {
  const { name, originalName, contentType, url: sourceUrl, path, sizeBytes, replaces } = upload
  const { format, recognized, warnings, tables } = read
  const file: NewFile = {
    ...{ name, originalName, contentType, sourceUrl, format, recognized, warnings },
    content: { path, sizeBytes },
    replaces,
  }
  if (!isDocumentFormat(format)) return files.importTables(file, tables, signal)
  return files.importRows(file, documentRows(name, read), signal)
}

/** @throws AppError `file_unreadable` where none has any text */
async function* documentRows(name: string, { format, documents }: ReadFile): AsyncGenerator<Row> {
  let hasText = false
  let emptyRows: Row[] = []
  for await (const document of documents) {
    const row = documentRow(name, format, document)
    hasText ||= document.content.trim() !== ''
    // Until there is text it may be a file of nothing.
    if (!hasText) emptyRows.push(row)
    else {
      yield* emptyRows
      emptyRows = []
      yield row
    }
  }
  if (hasText) return
  const hint = format === 'pdf' ? '; a PDF of scanned pages needs text recognition first' : ''
  throw new AppError('file_unreadable', `The file holds no text${hint}`)
}

/** What a document's row has in any case; its own columns stand beside it. */
const OWN_COLUMNS = ['id', 'content', 'title', 'format', LAYOUT_COLUMN, 'links']

function documentRow(name: string, format: string, document: ReadDocument): Row {
  const { id, content, title, columns, links } = document
  const others = Object.entries(columns).map(([column, value]) => {
    const isTaken = OWN_COLUMNS.includes(column.toLowerCase())
    return [isTaken ? `${column}_1` : column, value] as const
  })
  return {
    id: id === null ? name : `${name}:${id}`,
    content,
    title,
    format,
    [LAYOUT_COLUMN]: layoutValue(document),
    ...Object.fromEntries(others),
    ...(links.length === 0 ? {} : { links: [...links] }),
  }
}
