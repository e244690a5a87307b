/**
 * Serves content that is the same for everyone. It is built and compressed once, and not sent again
 * to a client that has it.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import type { UploadedFile } from '../../../core/domain/uploaded-file.ts'
import { AppError } from '../../../core/errors.ts'
import type { RouteContext } from '../request/route-context.ts'

export interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly contentType: string
  /** In quotes, as HTTP requires. */
  readonly etag: string
}

/** @param gzipped if unset, the content is compressed here */
export async function staticFile(
  content: string | Uint8Array<ArrayBuffer>,
  contentType: string,
  gzipped?: Uint8Array<ArrayBuffer>,
): Promise<StaticFile> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return {
    ...{ bytes, contentType, etag: `"${hash}"` },
    gzipped: gzipped ?? (await compressed(bytes)),
  }
}

async function compressed(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { gzip } = await import('node:zlib')
  return new Uint8Array(await promisify(gzip)(bytes, { level: 9 }))
}

/** @returns a function that calls `make` on the first call, and again if that failed */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}

/** @param more headers in addition to those of every static file */
export function staticAnswer(
  { headers: sent }: Request,
  { bytes, gzipped, contentType, etag }: StaticFile,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    // Browsers revalidate every time and get 304 if unchanged, so an update shows right away.
    'cache-control': 'no-cache',
    ...more,
    'content-type': contentType,
    // The same for both encodings, because the content is the same.
    etag: `W/${etag}`,
    vary: 'accept-encoding',
  }
  if (isHeld(sent.get('if-none-match') ?? '', etag)) {
    return new Response(null, { status: 304, headers })
  }
  if (!takesGzip(sent.get('accept-encoding') ?? '')) return new Response(bytes, { headers })
  return new Response(gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
}

function isHeld(held: string, etag: string): boolean {
  return held.split(',').some((one) => {
    const value = one.trim()
    return value === '*' || value.replace(/^W\//, '') === etag
  })
}

/** Accepts `gzip` and `br, *`, but not `gzip;q=0`. */
function takesGzip(accepted: string): boolean {
  const weights = new Map<string, number>()
  for (const one of accepted.toLowerCase().split(',')) {
    const [coding = '', ...params] = one.split(';').map((part) => part.trim())
    const weight = params.find((param) => param.startsWith('q='))?.slice(2) ?? '1'
    weights.set(coding, Number(weight))
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}

/** A download: foreign content must not run under this origin. Bun streams the file. */
export async function fileContentResponse(
  context: RouteContext,
  request: Request,
  file: UploadedFile,
): Promise<Response> {
  const { path, sizeBytes } = await context.deps.fileBytes.contentOf(file)
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': disposition(file),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    etag: `"${file.contentKey}"`,
  }
  const range = rangeOf(request, sizeBytes, headers.etag)
  if (range === null) return new Response(Bun.file(path), { headers })
  if (range === 'none') {
    const message = `The file has ${sizeBytes} bytes; Range asks for none of them`
    throw new AppError('range_not_satisfiable', message)
  }
  const { start, end } = range
  return new Response(Bun.file(path).slice(start, end), {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${start}-${end - 1}/${sizeBytes}` },
  })
}

interface Range {
  readonly start: number
  /** The index after the last byte of the range. */
  readonly end: number
}

/** The requested range. Several ranges, or an invalid one, get the whole file (RFC 9110, 14.2). */
function rangeOf({ headers }: Request, sizeBytes: number, etag: string): Range | 'none' | null {
  const condition = headers.get('if-range')
  if (condition !== null && condition !== etag) return null
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.get('range')?.trim() ?? '')
  const [, first = '', last = ''] = found ?? []
  if (found === null || (first === '' && last === '')) return null
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null
  return start < end ? { start, end } : 'none'
}

/** `attachment; filename="R_sum_.pdf"; filename*=UTF-8''R%C3%A9sum%C3%A9.pdf` (RFC 6266). */
function disposition({ name, originalName }: UploadedFile): string {
  const [saved = name] = [originalName, name].filter((one) => one !== '')
  const [last = name] = saved.split(/[/\\]/).slice(-1)
  const plain = last.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(last.toWellFormed()).replaceAll(/['()*!]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  })
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
