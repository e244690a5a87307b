import type { Row } from '../../core/domain/document.ts'
import type {
  DocumentReading,
  ReadArchive,
  ReadDocument,
  ReadFile,
  ReadingOptions,
} from '../../core/domain/ports/reading-ports.ts'
import type { IncomingFile, IncomingFolder, NewFile } from '../../core/domain/ports/store-ports.ts'
import {
  checkedFileName,
  checkedMemberName,
  fileKey,
  isDocumentFormat,
  type UploadedFile,
} from '../../core/domain/uploaded-file.ts'
import { AppError, type ErrorCode, toAppError } from '../../core/errors.ts'
import { Robots } from '../crawl/robots.ts'
import { LAYOUT_COLUMN, layoutValue } from '../sources/document-of-row.ts'
import {
  type DownloadedFile,
  type FileFetcher,
  fileNameOf,
  lastPart,
  type PageFetcher,
} from '../sources/guarded-fetch.ts'
import type { InsertDeps } from '../sources/insert-request.ts'
import { type UploadOptions, uploadOptions } from '../sources/upload-options.ts'

interface SentFile {
  readonly path: string
  readonly sizeBytes: number
  readonly sentName: string | null
  readonly contentType: string | null
}

export interface UploadRequest {
  /** The name for a single file; null: each keeps the name it was sent with. */
  readonly name: string | null
  readonly files: readonly SentFile[]
  /** Options for all files. */
  readonly fields: ReadonlyMap<string, string>
  /** The web address to fetch a file from. */
  readonly url?: string
  readonly folder: IncomingFolder
  readonly bytesMax: number
}

export interface UploadOutcome {
  readonly files: readonly UploadedFile[]
  readonly failed: readonly FailedFile[]
  /** For a ZIP file, the number of entries that are not user files. */
  readonly skipped: number
  /** Whether several files were sent, or could have been. */
  readonly isList: boolean
}

export interface FailedFile {
  readonly name: string
  readonly code: ErrorCode
  readonly detail: string
}

/** If one of several cannot be read, the rest are stored. @throws AppError if none could */
export async function uploadFiles(
  request: UploadRequest,
  deps: UploadDeps,
  signal: AbortSignal,
): Promise<UploadOutcome> {
  const options = uploadOptions(request.fields)
  const { url } = options
  const fetched = url === null ? request : await withFetched(request, url, deps, signal)
  const uploads = uploadsOf(fetched, { ...options, url: fetched.url ?? null })
  const outcome: Outcome = { files: [], failed: [], skipped: 0, isList: uploads.length > 1 }
  const names = new Set<string>()
  for (const upload of uploads) {
    const work = () => uploadFile(upload, (archive) => storeMembers(upload, archive), deps, signal)
    if (outcome.isList) await collect(upload, work)
    else await add(await work())
  }
  if (outcome.files.length === 0) throw allFailed(outcome.failed)
  return outcome

  /** Stores the members of a ZIP file. If one fails, the others are still stored. */
  async function storeMembers(upload: FileUpload, archive: ReadArchive): Promise<null> {
    outcome.isList = true
    outcome.skipped += archive.skipped
    refuseLarge(archive, request.bytesMax)
    for (const member of archive.members) {
      const { name, path, sizeBytes, failure } = member
      const own = { originalName: name, documentId: null, contentType: null }
      const one = { ...upload, ...own, name, path, sizeBytes }
      await collect(one, () => {
        if (failure !== null) throw new AppError('file_unreadable', failure)
        return uploadFile({ ...one, isMember: true }, noArchive, deps, signal)
      })
    }
    return null
  }

  async function collect(
    upload: Pick<FileUpload, 'name'>,
    work: () => Promise<UploadedFile | null>,
  ): Promise<void> {
    try {
      // Otherwise, with `replace`, one would take the place of another.
      if (names.has(fileKey(upload.name))) {
        throw new AppError('file_exists', `Another file of the upload is also named ${upload.name}`)
      }
      add(await work())
    } catch (error) {
      outcome.failed.push(failureOf(upload, error, signal))
    }
  }

  function add(file: UploadedFile | null): void {
    if (file === null) return
    outcome.files.push(file)
    names.add(fileKey(file.name))
  }
}

interface Outcome extends UploadOutcome {
  readonly files: UploadedFile[]
  readonly failed: FailedFile[]
  skipped: number
  isList: boolean
}

async function noArchive(): Promise<null> {
  throw new AppError('file_unreadable', 'A ZIP within a ZIP is not unpacked; send it by itself')
}

function refuseLarge({ members }: ReadArchive, bytesMax: number): void {
  const sizeBytes = members.reduce((sum, member) => sum + member.sizeBytes, 0)
  if (sizeBytes <= bytesMax) return
  const message = `The ZIP holds more than ${bytesMax} bytes, the limit of uploads; EIDER_FILE_BYTES_MAX sets it`
  throw new AppError('body_too_large', message)
}

async function withFetched(
  request: UploadRequest,
  address: string,
  deps: UploadDeps,
  signal: AbortSignal,
): Promise<UploadRequest & { readonly url: string }> {
  const robots = new Robots(deps.downloads)
  const use = async ({ url, contentType, contentDisposition, content }: DownloadedFile) => {
    const { path, sizeBytes } = await request.folder.write(limited(content, request.bytesMax, url))
    const sentName = fileNameOf({ url, contentDisposition }) || 'page.html'
    return { ...request, url, files: [{ path, sizeBytes, contentType, sentName }] }
  }
  const beforeRequest = (url: URL) => robots.permit(url, signal)
  return deps.downloads.download(address, use, { signal, beforeRequest })
}

async function* limited(
  pieces: AsyncIterable<Uint8Array>,
  bytesMax: number,
  url: string,
): AsyncGenerator<Uint8Array, void> {
  let sizeBytes = 0
  for await (const piece of pieces) {
    sizeBytes += piece.byteLength
    if (sizeBytes > bytesMax) {
      const limit = `has more than ${bytesMax} bytes, the limit of uploads`
      throw new AppError('body_too_large', `${url} ${limit}; EIDER_FILE_BYTES_MAX sets it`)
    }
    yield piece
  }
}

function uploadsOf(
  { name, files }: UploadRequest,
  { reading, replace, originalName, documentId, url }: UploadOptions,
): readonly FileUpload[] {
  if (files.length === 0) {
    throw new AppError('missing_parameter', 'Must provide the part "file" in the form')
  }
  if (name !== null && files.length > 1) {
    const message = `One file has the name ${name}, found ${files.length}; POST /api/files takes several, each under its own name`
    throw new AppError('invalid_request', message)
  }
  return files.map(({ path, sizeBytes, sentName, contentType }) => {
    const own = files.length === 1 ? originalName : null
    const given = own ?? sentName ?? name
    if (given === null) {
      throw new AppError('missing_parameter', 'A file needs a name: PUT /api/files/{name}')
    }
    return {
      path,
      sizeBytes,
      contentType,
      name: name ?? lastPart(given),
      originalName: given,
      documentId: files.length === 1 ? documentId : null,
      url,
      isMember: false,
      options: reading,
      replaces: replace,
    }
  })
}

/** The failure if it concerns a single file. @throws any failure of the server or the request */
function failureOf(
  { name }: Pick<FileUpload, 'name'>,
  error: unknown,
  signal: AbortSignal,
): FailedFile {
  signal.throwIfAborted()
  const { code, message } = toAppError(error)
  if (!OF_ONE_FILE.has(code)) throw error
  return { name, code, detail: message }
}

const OF_ONE_FILE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'file_unreadable',
  'file_exists',
  'ocr_unconfirmed',
  'invalid_name',
  'out_of_memory',
])

const NAMED_FAILURES_MAX = 5

function allFailed(failed: readonly FailedFile[]): AppError {
  if (failed.length === 0) return new AppError('file_unreadable', 'The ZIP holds no files')
  const some = failed.slice(0, NAMED_FAILURES_MAX).map(({ name, detail }) => `${name}: ${detail}`)
  const more = failed.length > some.length ? '; …' : ''
  const [first] = failed
  const message = `None of the ${failed.length} files could be stored: ${some.join('; ')}${more}`
  // The client can replace an existing file with the option `replace`.
  const isTaken = failed.some(({ code }) => code === 'file_exists')
  return new AppError(isTaken ? 'file_exists' : (first?.code ?? 'file_unreadable'), message)
}

interface FileUpload extends IncomingFile {
  /** The name of the file in SQL: `files.<name>`. */
  readonly name: string
  /** The client's own name for the file. */
  readonly originalName: string
  /** The id of its document, if it differs from the name. */
  readonly documentId: string | null
  readonly contentType: string | null
  readonly url: string | null
  readonly options: ReadingOptions
  /** Whether to replace a file of that name when the new one is stored. */
  readonly replaces: boolean
  /** Whether it is a member of a ZIP file, whose name may contain folders. */
  readonly isMember: boolean
}

export interface UploadDeps extends Pick<InsertDeps, 'snapshot' | 'files'> {
  readonly reader: Pick<DocumentReading, 'readFile'>
  readonly downloads: PageFetcher & FileFetcher
}

/**
 * Stores an uploaded file: a table with its rows; a document as a row `{id, content, title, format,
 * layout}` plus its own columns; a mailbox with one row per message.
 * @param storeMembers handles a ZIP of other files
 * @throws AppError `invalid_name`, `file_exists`, `file_unreadable`
 */
async function uploadFile<T>(
  upload: FileUpload,
  storeMembers: (archive: ReadArchive) => Promise<T>,
  deps: UploadDeps,
  signal: AbortSignal,
): Promise<UploadedFile | T> {
  const name = freeName(upload, deps)
  const { path, originalName, contentType, url, options, sizeBytes } = upload
  if (sizeBytes === 0) throw new AppError('file_unreadable', 'The file is empty')
  // Besides the file itself, the result of reading it and its table need space.
  deps.files.checkSpace(2 * sizeBytes)
  return deps.reader.readFile(
    { path, name: originalName, contentType, url, options },
    (read): Promise<UploadedFile | T> => {
      if (read.archive !== null) return storeMembers(read.archive)
      return storeRead({ ...upload, name }, read, deps, signal)
    },
    signal,
  )
}

/** Checks the name before reading anything. @throws AppError `invalid_name`, `file_exists` */
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

/** @throws AppError `file_unreadable` for a file without rows or text, `file_exists` */
function storeRead(
  upload: FileUpload,
  read: ReadFile,
  { files }: Pick<UploadDeps, 'files'>,
  signal: AbortSignal,
): Promise<UploadedFile> {
  const { name, originalName, contentType, url: sourceUrl, path, sizeBytes, replaces } = upload
  const { format, recognized, warnings, tables } = read
  const found = { name, originalName, contentType, sourceUrl, format, recognized, warnings }
  const file: NewFile = { ...found, content: { path, sizeBytes }, replaces }
  if (!isDocumentFormat(format)) return files.importTables(file, tables, signal)
  return files.importRows(file, documentRows(upload.documentId ?? name, read), signal)
}

/** @param id for a single document @throws AppError `file_unreadable` without any text */
async function* documentRows(id: string, { format, documents }: ReadFile): AsyncGenerator<Row> {
  let hasText = false
  let emptyRows: Row[] = []
  for await (const document of documents) {
    const row = documentRow(id, format, document)
    hasText ||= document.content.trim() !== ''
    // Hold back rows until one has text, because the file may turn out to be empty.
    if (!hasText) emptyRows.push(row)
    else {
      yield* emptyRows
      emptyRows = []
      yield row
    }
  }
  if (hasText) return
  const hint = format === 'pdf' ? '; to read scans, set an OCR model (EIDER_OCR_MODEL)' : ''
  throw new AppError('file_unreadable', `The file holds no text${hint}`)
}

/** The columns of every document's row. The document's own columns are added to these. */
const UPLOAD_COLUMNS = ['id', 'content', 'title', 'format', LAYOUT_COLUMN, 'links']

function documentRow(fileId: string, format: string, document: ReadDocument): Row {
  const { id, content, title, columns, links } = document
  const others = Object.entries(columns).map(([column, value]) => {
    const isTaken = UPLOAD_COLUMNS.includes(column.toLowerCase())
    return [isTaken ? `${column}_1` : column, value] as const
  })
  return {
    id: id === null ? fileId : `${fileId}:${id}`,
    content,
    title,
    format,
    [LAYOUT_COLUMN]: layoutValue(document),
    ...Object.fromEntries(others),
    ...(links.length === 0 ? {} : { links: [...links] }),
  }
}
