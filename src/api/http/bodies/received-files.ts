/** Writes the files of a request's body to disk as they arrive. */

import { type TSchema, t } from 'elysia'
import { OCR_WISHES } from '../../../core/domain/ports/reading-ports.ts'
import type { IncomingFile, IncomingFolder } from '../../../core/domain/ports/store-ports.ts'
import { FORMAT_NAMES } from '../../../core/domain/uploaded-file.ts'
import { AppError } from '../../../core/errors.ts'
import type { UploadField } from '../../../ingest/upload-options.ts'
import type { RouteContext } from '../request/route-context.ts'
import { isJsonType } from './body.ts'
import { parseJson } from './json-text.ts'
import { formParts, text } from './multipart.ts'

export interface ReceivedFile extends IncomingFile {
  /** The file name given by the sender; null if none was sent. */
  readonly sentName: string | null
  readonly contentType: string | null
}

interface ReceivedFiles {
  readonly files: readonly ReceivedFile[]
  /** Query parameters, overridden by the fields of the form or of the JSON body with a URL. */
  readonly fields: ReadonlyMap<string, string>
}

const FIELD_BYTES_MAX = 16 * 1024
/** JSON with a URL is never longer than this; longer JSON is itself a file. */
const ADDRESS_BYTES_MAX = 64 * 1024

/** Parts `file` of a form, or the body. @throws AppError `body_too_large`, `storage_full` */
export async function receivedFiles(
  context: RouteContext,
  request: Request,
  folder: IncomingFolder,
): Promise<ReceivedFiles> {
  const scope = context.scopeOf(request)
  const body = limitedBody(request, context.deps.settings.fileBytesMax)
  const fields = new Map(new URL(request.url).searchParams)
  const contentType = request.headers.get('content-type')
  const isForm = /^multipart\/form-data\b/i.test(contentType ?? '')
  const found = isForm
    ? await filesOfForm(body, contentType ?? '', folder)
    : await fileOfBody(body, request, folder)
  scope.bodyArrived()
  scope.signal.throwIfAborted()
  for (const [name, value] of found.fields) fields.set(name, value)
  if (isForm || !isJsonType(contentType ?? '')) return { files: found.files, fields }
  const asked = await addressAsked(found.files, scope.signal)
  return asked === null
    ? { files: found.files, fields }
    : { files: [], fields: new Map([...fields, ...asked]) }
}

async function filesOfForm(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
  folder: IncomingFolder,
): Promise<ReceivedFiles> {
  const files: ReceivedFile[] = []
  const fields = new Map<string, string>()
  for await (const part of formParts(body, contentType)) {
    const { name, fileName, content } = part
    if (fileName === null)
      fields.set(name, await text(content, FIELD_BYTES_MAX, `the field "${name}"`))
    else {
      const written = await folder.write(content)
      // Browsers send an empty part if no file was chosen.
      if (fileName === '' && written.sizeBytes === 0) continue
      files.push({ ...written, sentName: fileName || null, contentType: part.contentType })
    }
  }
  return { files, fields }
}

async function fileOfBody(
  body: AsyncIterable<Uint8Array>,
  request: Request,
  folder: IncomingFolder,
): Promise<ReceivedFiles> {
  const declared = Number(request.headers.get('content-length') ?? 0)
  const written = await folder.write(body, declared)
  const contentType = request.headers.get('content-type')
  return { files: [{ ...written, sentName: null, contentType }], fields: new Map() }
}

/** `{"source_type": "url", …}`. JSON without a source type, or with `file`, is itself the file. */
async function addressAsked(
  [file]: readonly ReceivedFile[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string> | null> {
  if (file === undefined || file.sizeBytes > ADDRESS_BYTES_MAX) return null
  const bytes = await Bun.file(file.path).bytes()
  if (!/^\s*\{[\s\S]*"source_type"\s*:/.test(new TextDecoder().decode(bytes))) return null
  const value = await parseJson(bytes, signal)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  if (!('source_type' in value) || value.source_type === 'file') return null
  return new Map(Object.entries(value).map(([name, one]) => [name, String(one)]))
}

/** Checked by Content-Length and while reading. @throws AppError `body_too_large`, `cancelled` */
async function* limitedBody(request: Request, bytesMax: number): AsyncGenerator<Uint8Array, void> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > bytesMax) throw tooLarge(bytesMax)
  let sizeBytes = 0
  try {
    for await (const piece of request.body ?? []) {
      sizeBytes += piece.byteLength
      if (sizeBytes > bytesMax) throw tooLarge(bytesMax)
      yield piece
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw leftEarly(error)
  }
  // When a client disconnects, Bun ends the stream as if it were complete.
  if (declared !== null && sizeBytes < Number(declared)) throw leftEarly(null)
}

function leftEarly(cause: unknown): AppError {
  const message = 'The connection was closed before the whole body had arrived'
  return new AppError('cancelled', message, cause === null ? {} : { cause })
}

function tooLarge(bytesMax: number): AppError {
  const limit = `The body has more than ${bytesMax} bytes, the limit of uploads`
  return new AppError('body_too_large', `${limit}; EIDER_FILE_BYTES_MAX sets it`)
}

/** The options for reading files, for the OpenAPI document; `uploadOptions` reads them. */

const READING = {
  format: t.String({
    description: `The format, if not the detected one: ${FORMAT_NAMES.join(', ')}`,
    examples: ['csv'],
  }),
  encoding: t.String({ description: 'Text encoding', examples: ['utf-8', 'windows-1252'] }),
  delimiter: t.String({
    description: 'CSV delimiter: one character, or tab, comma, semicolon, pipe, space',
    examples: [';'],
  }),
  header: t.Boolean({ description: 'Whether the first row has the column names' }),
  all_text: t.Boolean({ description: 'Read every column as text' }),
  sheet: t.String({ description: 'Name or number of a sheet', examples: ['Sales'] }),
  ocr: t.String({
    description: `Whether the OCR model reads pages and pictures without text: ${OCR_WISHES.join(', ')}. \`ask\` refuses a file that needs the model and states the cost`,
    examples: ['ask'],
  }),
}

const UPLOADING = {
  ...READING,
  replace: t.Boolean({
    description: 'Replaces a file of the same name if the new one is readable',
  }),
  original_file_name: t.String({ description: 'Your name for the file' }),
  document_id: t.String({ description: 'The document’s id; the file’s name by default' }),
  source_type: t.String({
    description: '`url`: the server downloads the file from `source`',
    examples: ['url'],
  }),
  source: t.String({ description: 'The URL to download from' }),
  name: t.String({ description: 'The name again, as existing clients send it' }),
} satisfies Readonly<Record<UploadField, TSchema>>

const BYTES = t.String({ format: 'binary' })
const FILES = t.Array(BYTES, { description: 'The files, each with its name', minItems: 1 })

export const UPLOAD_QUERY = {
  read: () => null,
  parameters: Object.fromEntries(
    Object.entries(UPLOADING).map(([name, schema]) => [name, { schema }]),
  ),
}
export const UPLOAD_FORM = t.Object(optionalField(UPLOADING))
export const UPLOADS_FORM = t.Object({ file: FILES, ...optionalField(UPLOADING) })
export const READING_FORM = t.Object({ file: FILES, ...optionalField(READING) })

function optionalField(fields: Readonly<Record<string, TSchema>>): Record<string, TSchema> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, t.Optional(schema)]),
  )
}
