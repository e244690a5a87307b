import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import { AppError, connectionFailure, errorText } from '../../core/errors.ts'
import {
  type AddressPolicy,
  type Network,
  pinnedFetch,
  withoutDot,
} from '../../core/runtime/address-policy.ts'
import { sleep } from '../../core/runtime/cancellation.ts'
import { uriDecoded } from '../../core/short-text.ts'

interface GuardedFetchOptions {
  readonly policy: AddressPolicy
  readonly userAgent: string
  readonly network: Network
  readonly pageMs: number
}

/** Returns a fetcher that only connects to allowed addresses, and checks each redirect again. */
export function guardedFetch(options: GuardedFetchOptions): PageFetcher & FileFetcher {
  return {
    fetch: (url, each) => fetchPage(url, each, options),
    download: (url, use, each) => downloadFile(url, use, each, options),
  }
}

export interface FetchedPage {
  readonly url: string
  readonly status: number
  readonly contentType: string | null
  /**
   * The header `X-Robots-Tag`. It means the same as `<meta name="robots">`, for every content type.
   */
  readonly robotsTag?: string | null
  readonly bytes: Uint8Array
  /** How long the server asks to wait before the next request. */
  readonly retryAfterMs?: number | undefined
  /** `ETag` and `Last-Modified`. */
  readonly validators?: Validators
}

/** Sent with the next request, so that the server can tell whether its answer is unchanged. */
export interface Validators {
  readonly etag: string | null
  readonly lastModified: string | null
}

interface FetchOptions {
  readonly signal: AbortSignal
  readonly bytesMax: number
  /** Drops everything after `bytesMax`. Otherwise, too many bytes are an error. */
  readonly isCut?: boolean
  /** Called before each request, also for redirects. Throw an error to stop. */
  beforeRequest?(url: URL): Promise<void>
  /** Sent only to the address's own host, not after a redirect to another. */
  readonly headers?: Readonly<Record<string, string>>
  /** Validators of an earlier answer. If it is unchanged, the server answers 304 without a body. */
  readonly known?: Validators
}

export interface PageFetcher {
  /** @throws AppError `address_refused`, `crawl_failed` (no answer, too large, too slow) */
  fetch(url: string, options: FetchOptions): Promise<FetchedPage>
}

export interface DownloadedFile {
  readonly url: string
  /** False if the file is unchanged and has no content. Possible only if `known` was sent. */
  readonly isNew: boolean
  readonly validators: Validators
  readonly contentType: string | null
  readonly contentDisposition: string | null
  /** Must be read before `use` ends. */
  readonly content: AsyncIterable<Uint8Array>
}

/** Fetches files of any size, under the same rules as pages. */
export interface FileFetcher {
  /** @throws AppError `address_refused`, `crawl_failed`; any error of `use` */
  download<T>(
    url: string,
    use: (file: DownloadedFile) => Promise<T>,
    options: Omit<FetchOptions, 'bytesMax' | 'isCut'>,
  ): Promise<T>
}

function downloadFile<T>(
  start: string,
  use: (file: DownloadedFile) => Promise<T>,
  each: Omit<FetchOptions, 'bytesMax' | 'isCut'>,
  options: GuardedFetchOptions,
): Promise<T> {
  const take = async (response: Response, url: URL): Promise<T> => {
    const isNew = response.status !== 304 || each.known === undefined
    if (isNew && (response.status !== 200 || response.body === null)) {
      await response.body?.cancel()
      throw new AppError('crawl_failed', `GET ${url.href} answered ${response.status}`)
    }
    return use({
      url: url.href,
      isNew,
      validators: validatorsOf(response),
      contentType: response.headers.get('content-type'),
      contentDisposition: response.headers.get('content-disposition'),
      content: response.body ?? noContent(),
    })
  }
  const slow = { ...options, pageMs: INGEST_LIMITS.downloadMs }
  return followed(start, each, (url) => {
    return answerOf({ url, headers: headersTo(url, start, each) }, each.signal, slow, take)
  })
}

async function* noContent(): AsyncGenerator<Uint8Array> {}

/** Returns the caller's headers and Eider's own. Secret ones are sent only to their own host. */
function headersTo(
  url: URL,
  start: string,
  { headers, known }: Pick<FetchOptions, 'headers' | 'known'>,
): Readonly<Record<string, string>> {
  if (url.origin !== new URL(start).origin) return {}
  return {
    ...headers,
    ...(known?.etag ? { 'if-none-match': known.etag } : {}),
    ...(known?.lastModified ? { 'if-modified-since': known.lastModified } : {}),
  }
}

function validatorsOf({ headers }: Response): Validators {
  return { etag: headers.get('etag'), lastModified: headers.get('last-modified') }
}

function fetchPage(
  start: string,
  each: FetchOptions,
  options: GuardedFetchOptions,
): Promise<FetchedPage> {
  return followed(start, each, (url) => {
    return patientAnswer({ url, headers: headersTo(url, start, each) }, each, options)
  })
}

/** Follows redirects to the final answer. Each redirect is checked like a new address. */
async function followed<T>(
  start: string,
  each: Pick<FetchOptions, 'beforeRequest'>,
  ask: (url: URL) => Promise<T | URL>,
): Promise<T> {
  let url = crawlableUrl(start)
  for (let hop = 0; hop <= INGEST_LIMITS.redirectsMax; hop += 1) {
    await each.beforeRequest?.(url)
    const answer = await ask(url)
    if (!(answer instanceof URL)) return answer
    url = answer
  }
  const limit = `more than ${INGEST_LIMITS.redirectsMax} redirects`
  throw new AppError('crawl_failed', `GET ${start} failed: ${limit}`)
}

/** Tries again once or twice if the server says that it will answer soon. */
async function patientAnswer(
  asked: Asked,
  each: FetchOptions,
  options: GuardedFetchOptions,
): Promise<FetchedPage | URL> {
  for (let retry = 0; ; retry += 1) {
    const answer = await answerOf(asked, each.signal, options, (response, at, signal) => {
      return pageOf(response, at, { ...each, signal })
    })
    if (answer instanceof URL || (answer.status !== 429 && answer.status !== 503)) return answer
    const { retryAfterMs } = answer
    const isPatient = retry < INGEST_LIMITS.retriesMax
    if (!isPatient || retryAfterMs === undefined || retryAfterMs > INGEST_LIMITS.retryMsMax) {
      return answer
    }
    await sleep(retryAfterMs, each.signal)
  }
}

/** The header has seconds or a date. */
function retryAfterMsOf(response: Response): number | undefined {
  const header = response.headers.get('retry-after')?.trim() ?? ''
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}

interface Asked {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** Returns the result of `take`, or the redirect's target. */
async function answerOf<T>(
  request: Asked,
  asked: AbortSignal,
  options: GuardedFetchOptions,
  take: (response: Response, url: URL, signal: AbortSignal) => Promise<T>,
): Promise<T | URL> {
  const { url } = request
  const timeout = AbortSignal.timeout(options.pageMs)
  const signal = AbortSignal.any([asked, timeout])
  try {
    const response = await send(request, options, signal)
    const target = redirectOf(response, url)
    if (target === null) return await take(response, url, signal)
    await response.body?.cancel()
    return target
  } catch (error) {
    if (asked.aborted) throw asked.reason
    if (error instanceof AppError) throw error
    const said = connectionFailure(error) ?? errorText(error)
    const why = timeout.aborted ? `took longer than ${options.pageMs} ms` : `failed: ${said}`
    throw new AppError('crawl_failed', `GET ${url.href} ${why}`, { cause: error })
  }
}

function send(
  { url, headers: sent }: Asked,
  { policy, userAgent, network }: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<Response> {
  const headers = {
    ...sent,
    'user-agent': userAgent,
    accept: 'text/html, application/xhtml+xml, text/*;q=0.9, application/pdf;q=0.8, */*;q=0.1',
  }
  return pinnedFetch(url, { headers }, { policy, network }, signal)
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

function redirectOf(response: Response, url: URL): URL | null {
  const location = response.headers.get('location')
  if (!REDIRECTS.has(response.status) || location === null) return null
  return crawlableUrl(location, url.href)
}

/** Counts bytes after decompression, so that a small answer cannot become a huge one. */
async function pageOf(response: Response, url: URL, each: FetchOptions): Promise<FetchedPage> {
  const parts: Uint8Array[] = []
  let length = 0
  // However the loop ends, it cancels the stream and closes the connection.
  for await (const part of response.body ?? []) {
    each.signal.throwIfAborted()
    length += part.byteLength
    if (length > each.bytesMax && each.isCut === true) {
      parts.push(part.subarray(0, part.byteLength - (length - each.bytesMax)))
      break
    }
    if (length > each.bytesMax) {
      const limit = `the answer has more than ${each.bytesMax} bytes`
      throw new AppError('crawl_failed', `GET ${url.href} failed: ${limit}`)
    }
    parts.push(part)
  }
  return {
    url: url.href,
    status: response.status,
    contentType: response.headers.get('content-type'),
    robotsTag: response.headers.get('x-robots-tag'),
    bytes: Buffer.concat(parts),
    retryAfterMs: retryAfterMsOf(response),
    validators: validatorsOf(response),
  }
}

/** Http or https, no credentials or fragment. @throws AppError `address_refused` */
export function crawlableUrl(text: string, base?: string): URL {
  const shown = JSON.stringify(text.slice(0, 200))
  if (text.length > INGEST_LIMITS.urlCharsMax) {
    const limit = `has more than ${INGEST_LIMITS.urlCharsMax} characters`
    throw new AppError('address_refused', `The address ${shown} ${limit}`)
  }
  const url = URL.parse(text, base)
  if (url === null) {
    const how = 'start it with https:// or http://'
    throw new AppError('address_refused', `${shown} is not an address: ${how}`)
  }
  if (url.username !== '' || url.password !== '') {
    // Do not show the address, because it contains a password.
    throw new AppError('address_refused', `An address of ${url.hostname} holds a user or password`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AppError('address_refused', `The address ${shown} is neither http nor https`)
  }
  url.hash = ''
  url.hostname = withoutDot(url.hostname)
  return url
}

/**
 * The server's name for a file, or the last part of its address. Some servers send a whole path.
 */
export function fileNameOf({ url, contentDisposition }: NamedFile): string {
  const named = /;\s*filename="?([^";]+)/i.exec(contentDisposition ?? '')?.[1]
  const last = named ?? new URL(url).pathname.split('/').at(-1) ?? ''
  return lastPart(uriDecoded(last))
}

type NamedFile = Pick<DownloadedFile, 'url'> & Partial<Pick<DownloadedFile, 'contentDisposition'>>

export function lastPart(path: string): string {
  return path.split(/[/\\]/).at(-1)?.trim() ?? path
}
