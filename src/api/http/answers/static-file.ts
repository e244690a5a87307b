/** Bytes that are the same for everyone: made once, compressed once, and not sent to a client that has them already. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

export interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly contentType: string
  /** Quoted, as HTTP has it. */
  readonly etag: string
}

/** @param gzipped unset: it is compressed here */
export async function staticFile(
  content: string | Uint8Array<ArrayBuffer>,
  contentType: string,
  gzipped?: Uint8Array<ArrayBuffer>,
): Promise<StaticFile> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return {
    ...{ bytes, contentType, etag: `"${hash}"` },
    gzipped: gzipped ?? new Uint8Array(await promisify(gzip)(bytes, { level: 9 })),
  }
}

/** @returns a function that calls `make` at its first call, and again after a failure */
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

/** @param more headers beside those that every static file has */
export function staticAnswer(
  { headers: sent }: Request,
  { bytes, gzipped, contentType, etag }: StaticFile,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    // Asked for each time, and answered with 304 while it is the same: an update shows right away.
    'cache-control': 'no-cache',
    ...more,
    'content-type': contentType,
    // The same for both encodings: what they hold is the same.
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

/** `gzip`, `br, *`, and not `gzip;q=0`. */
function takesGzip(accepted: string): boolean {
  const weights = new Map<string, number>()
  for (const one of accepted.toLowerCase().split(',')) {
    const [coding = '', ...params] = one.split(';').map((part) => part.trim())
    const weight = params.find((param) => param.startsWith('q='))?.slice(2) ?? '1'
    weights.set(coding, Number(weight))
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}
