import type { IncomingFolder } from '../domain/ports/store-ports.ts'
import type { UploadedFile } from '../domain/uploaded-file.ts'
import { AppError, type ErrorCode, toAppError } from '../errors.ts'
import { type FileUpload, type UploadDeps, uploadFile } from './upload-file.ts'
import { type UploadOptions, uploadOptions } from './upload-options.ts'

export interface SentFile {
  readonly path: string
  readonly sizeBytes: number
  /** The sender's name for it; null: none was sent. */
  readonly sentName: string | null
  readonly contentType: string | null
}

export interface UploadRequest {
  /** The name that the only file gets; null: each has the one that it was sent under. */
  readonly name: string | null
  readonly files: readonly SentFile[]
  /** What the sender says about them. */
  readonly fields: ReadonlyMap<string, string>
  /** For what is fetched or unpacked. */
  readonly folder: IncomingFolder
  readonly bytesMax: number
}

export interface UploadOutcome {
  readonly files: readonly UploadedFile[]
  readonly failed: readonly FailedFile[]
  /** Of a ZIP file, how many entries are not files for anybody to read. */
  readonly skipped: number
  /** True where several files were sent, or might have been. */
  readonly isList: boolean
}

export interface FailedFile {
  readonly name: string
  readonly code: ErrorCode
  readonly detail: string
}

/**
 * Stores what one request sends: one file under the name that it asks for, or several under their own names. Of several,
 * one that cannot be read does not stop the others.
 * @throws AppError where none could be stored
 */
export async function uploadFiles(
  request: UploadRequest,
  deps: UploadDeps,
  signal: AbortSignal,
): Promise<UploadOutcome> {
  const options = uploadOptions(request.fields)
  const uploads = uploadsOf(request, options)
  const [only, ...others] = uploads
  if (only !== undefined && others.length === 0) {
    const file = await uploadFile(only, deps, signal)
    return { files: [file], failed: [], skipped: 0, isList: false }
  }
  const files: UploadedFile[] = []
  const failed: FailedFile[] = []
  for (const upload of uploads) {
    try {
      files.push(await uploadFile(upload, deps, signal))
    } catch (error) {
      failed.push(failureOf(upload, error, signal))
    }
  }
  if (files.length === 0) throw allFailed(failed)
  return { files, failed, skipped: 0, isList: true }
}

function uploadsOf(
  { name, files }: UploadRequest,
  { reading, replace, originalName }: UploadOptions,
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
      url: null,
      options: reading,
      replaces: replace,
    }
  })
}

/** Some clients send the path of a file. */
function lastPart(path: string): string {
  return path.split(/[/\\]/).at(-1)?.trim() ?? path
}

/** Failures of the server or the request end it; those of one file are its own. @throws what is not */
function failureOf({ name }: FileUpload, error: unknown, signal: AbortSignal): FailedFile {
  signal.throwIfAborted()
  const { code, message } = toAppError(error)
  if (!OF_ONE_FILE.has(code)) throw error
  return { name, code, detail: message }
}

const OF_ONE_FILE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'file_unreadable',
  'file_exists',
  'invalid_name',
  'out_of_memory',
])

const NAMED_FAILURES_MAX = 5

function allFailed(failed: readonly FailedFile[]): AppError {
  const some = failed.slice(0, NAMED_FAILURES_MAX).map(({ name, detail }) => `${name}: ${detail}`)
  const more = failed.length > some.length ? '; …' : ''
  const [first] = failed
  const message = `None of the ${failed.length} files could be stored: ${some.join('; ')}${more}`
  return new AppError(first?.code ?? 'file_unreadable', message)
}
