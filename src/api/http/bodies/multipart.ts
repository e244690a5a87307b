/**
 * Reads the parts of a `multipart/form-data` body (RFC 7578) as they arrive, with at most one piece
 * in memory.
 */
import { AppError } from '../../../core/errors.ts'

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
export async function text(
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
