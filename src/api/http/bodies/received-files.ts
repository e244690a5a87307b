/** Writes the files of a request's body to disk as they arrive. */

import { type TSchema, t } from 'elysia'
import { OCR_WISHES } from '../../../core/domain/ports/reading-ports.ts'
import type { IncomingFile, IncomingFolder } from '../../../core/domain/ports/store-ports.ts'
import { FORMAT_NAMES } from '../../../core/domain/uploaded-file.ts'
import { AppError } from '../../../core/errors.ts'
import { isObject } from '../../../core/json.ts'
import type { UploadField } from '../../../ingest/sources/upload-options.ts'
import type { RouteContext } from '../request/route-context.ts'
import { isJsonType, limitedBody } from './body.ts'
import { parseJson } from './json-text.ts'

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
  const name = 'the limit of uploads; EIDER_FILE_BYTES_MAX sets it'
  const body = limitedBody(request, { bytesMax: context.deps.settings.fileBytesMax, name })
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
  if (!isObject(value) || !('source_type' in value) || value.source_type === 'file') return null
  return new Map(Object.entries(value).map(([name, one]) => [name, String(one)]))
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

// Reads the parts of a `multipart/form-data` body (RFC 7578) as they arrive, with at most one piece
// in memory.

interface FormPart {
  readonly name: string
  /** The file name given by the sender; null if the part is a plain field. */
  readonly fileName: string | null
  readonly contentType: string | null
  /** Skipped if not read. */
  readonly content: AsyncIterable<Uint8Array>
}

const PARTS_MAX = 2000
const HEADER_BYTES_MAX = 16 * 1024
const PADDING_BYTES_MAX = 256

const LINE_END = Buffer.from('\r\n')
const HEADERS_END = Buffer.from('\r\n\r\n')

/** Read each part before requesting the next. @throws AppError `invalid_request` */
export async function* formParts(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
): AsyncGenerator<FormPart, void> {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`)
  const reader = new PieceReader(body)
  // Text before the first part is ignored.
  await drained(reader.before(delimiter))
  for (let count = 1; !(await isLast(reader)); count += 1) {
    if (count > PARTS_MAX) throw invalid(`it has more than ${PARTS_MAX} parts`)
    const headers = await text(reader.before(HEADERS_END), HEADER_BYTES_MAX, 'the head of a part')
    let isRead = false
    const content = async function* () {
      yield* reader.before(delimiter)
      isRead = true
    }
    yield { ...headOf(headers), content: content() }
    if (!isRead) await drained(reader.before(delimiter))
  }
  await drained(reader.rest())
}

/** After a delimiter. True at the end of the form; otherwise consumes the line. */
async function isLast(reader: PieceReader): Promise<boolean> {
  const next = await reader.peek(2)
  if (next === '--') return true
  if (next === '\r\n') return false
  const padding = await text(reader.before(LINE_END), PADDING_BYTES_MAX, 'a line of the form')
  if (padding.trim() !== '') throw invalid('its boundary is followed by something else')
  reader.unread(LINE_END)
  return false
}

/** Reads a body up to a delimiter, regardless of how the body is split into pieces. */
class PieceReader {
  readonly #source: AsyncIterator<Uint8Array>
  /** Starts with a line end, because the first delimiter may come without one. */
  #pending: Buffer<ArrayBufferLike> = LINE_END

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#source = body[Symbol.asyncIterator]()
  }

  /** Consumes the delimiter. @throws AppError `invalid_request` if it is missing */
  async *before(mark: Buffer): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const at = this.#pending.indexOf(mark)
      // The last bytes may be the start of the delimiter.
      const end = at === -1 ? Math.max(0, this.#pending.length - mark.length + 1) : at
      const piece = this.#pending.subarray(0, end)
      this.#pending = this.#pending.subarray(at === -1 ? end : at + mark.length)
      if (piece.length > 0) yield piece
      if (at !== -1) return
      if (!(await this.#more())) throw invalid('it ends too early')
    }
  }

  async *rest(): AsyncGenerator<Uint8Array, void> {
    this.#pending = Buffer.alloc(0)
    while (await this.#more()) this.#pending = Buffer.alloc(0)
    yield this.#pending
  }

  async peek(count: number): Promise<string> {
    while (this.#pending.length < count) {
      if (!(await this.#more())) throw invalid('it ends too early')
    }
    return this.#pending.toString('latin1', 0, count)
  }

  unread(bytes: Buffer): void {
    this.#pending = Buffer.concat([bytes, this.#pending])
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next()
    if (done === true) return false
    const piece = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    this.#pending = this.#pending.length === 0 ? piece : Buffer.concat([this.#pending, piece])
    return true
  }
}

async function drained(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of pieces) {
  }
}

/** @throws AppError `invalid_request` if the text is too long */
async function text(
  pieces: AsyncIterable<Uint8Array>,
  bytesMax: number,
  what: string,
): Promise<string> {
  const parts: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of pieces) {
    sizeBytes += piece.length
    if (sizeBytes > bytesMax) throw invalid(`${what} has more than ${bytesMax} bytes`)
    parts.push(piece.slice())
  }
  return Buffer.concat(parts).toString('utf8')
}

function boundaryOf(contentType: string): string {
  const found = /;\s*boundary\s*=\s*(?:"([^"\r\n]{1,200})"|([^\s;,"]{1,200}))/i.exec(contentType)
  const boundary = found?.[1] ?? found?.[2]
  if (boundary === undefined) throw invalid('its Content-Type names no boundary')
  return boundary
}

function headOf(headers: string): Omit<FormPart, 'content'> {
  const fields = new Map<string, string>()
  for (const line of headers.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0)
      fields.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  const disposition = fields.get('content-disposition') ?? ''
  const name = parameterOf(disposition, 'name')
  if (name === null) throw invalid('a part has no name')
  const fileName =
    extendedParameterOf(disposition, 'filename') ?? parameterOf(disposition, 'filename')
  return { name, fileName, contentType: fields.get('content-type') ?? null }
}

/** Browsers encode `"` and line ends as `%22`, `%0D` and `%0A`; other clients write `\"`. */
function parameterOf(disposition: string, name: string): string | null {
  const pattern = new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:\\\\.|[^"\\\\])*)"|([^\\s;"]+))`, 'i')
  const found = pattern.exec(disposition)
  if (found === null) return null
  const value = found[1]?.replaceAll(/\\(["\\])/g, '$1') ?? found[2] ?? ''
  return value.replaceAll(/%22/g, '"').replaceAll(/%0[AD]/gi, ' ')
}

/** Decodes `filename*=UTF-8''R%C3%A9sum%C3%A9.pdf` (RFC 5987). */
function extendedParameterOf(disposition: string, name: string): string | null {
  const found = new RegExp(`;\\s*${name}\\*\\s*=\\s*utf-8'[\\w-]*'([^\\s;"]+)`, 'i').exec(
    disposition,
  )
  try {
    return found?.[1] === undefined ? null : decodeURIComponent(found[1])
  } catch {
    return null
  }
}

function invalid(why: string): AppError {
  return new AppError('invalid_request', `The body is not valid multipart/form-data: ${why}`)
}
