import { type Guard, isTrustedHost, pinnedFetch } from '../../core/runtime/address-policy.ts'

/** For one answer: a list of tools or a result. */
const ANSWER_BYTES_MAX = 1_048_576
const FAILURE_BYTES_MAX = 16_384
/** Each event of a stream has at least two; other messages of a server are read and ignored. */
const STREAM_LINES_MAX = 2_000
/** For one connection, which limits what a server can make Eider send. */
const REQUESTS_MAX = 500

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * `fetch` for the client of one server: to checked addresses only, answers bounded while they are read. A request is
 * answered within its own exchange, so that every failure becomes its answer and no caller waits for one that cannot come.
 * Separate streams are not opened: unsolicited messages are of no use.
 */
export function boundedFetch(guard: Guard): Fetch {
  let requestCount = 0
  return async (address, init = {}) => {
    requestCount += 1
    if (init.method === 'GET') return new Response(null, { status: 405 })
    if (requestCount > REQUESTS_MAX) throw new Error(`more than ${REQUESTS_MAX} requests`)
    const response = await sent(new URL(address), { ...init, redirect: 'manual' }, guard)
    const { ok, body, status, statusText, headers } = response
    if (body === null) return response
    const answer = { status, statusText, headers: withoutLength(headers) }
    if (!ok) return new Response(await boundedText(body, FAILURE_BYTES_MAX).catch(() => ''), answer)
    const id = requestId(init.body)
    // Only requests have an answer that is read.
    if (id === null) return response
    if (!/^\s*text\/event-stream/i.test(headers.get('content-type') ?? '')) {
      return new Response(ownAnswer(await boundedText(body, ANSWER_BYTES_MAX), id), answer)
    }
    return new Response(eventsOf(body, id), answer)
  }
}

function sent(url: URL, init: RequestInit, guard: Guard): Promise<Response> {
  if (isTrustedHost(url.hostname, guard.policy)) return guard.network.fetch(url.href, init)
  return pinnedFetch(url, init, guard, init.signal ?? new AbortController().signal)
}

/** Its body has become another one. */
function withoutLength(headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) kept.delete(name)
  return kept
}

/** The id of a request sent by this server; null: it is a notification, or an answer. */
function requestId(body: unknown): number | null {
  if (typeof body !== 'string') return null
  const message: unknown = JSON.parse(body)
  const { id, method } = message as { readonly id?: unknown; readonly method?: unknown }
  return typeof id === 'number' && typeof method === 'string' ? id : null
}

/** @throws Error for a text that is longer */
async function boundedText(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let byteCount = 0
  for await (const bytes of body) {
    byteCount += bytes.byteLength
    if (byteCount > bytesMax) throw new Error(tooLong(bytesMax))
    pieces.push(bytes)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** One answer to this request. A batch of many, as an older protocol had, would be taken apart at once. */
function ownAnswer(text: string, id: number): string {
  const start = text.trimStart()[0]
  const message: unknown = start === '{' ? JSON.parse(text) : null
  if (message !== null && (message as { readonly id?: unknown }).id === id) return text
  throw new Error('its answer is not one to this request')
}

function tooLong(bytesMax: number): string {
  return `its answer is longer than ${bytesMax} bytes`
}

const NEW_LINE = 0x0a

/** The events, and in the end, however it comes, an answer to the request: after the real one it means nothing. */
function eventsOf(body: ReadableStream<Uint8Array>, id: number): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let byteCount = 0
  let lineCount = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const finish = (message: string) => {
        const failure = { jsonrpc: '2.0', id, error: { code: CUT_OFF, message } }
        controller.enqueue(new TextEncoder().encode(`\n\ndata: ${JSON.stringify(failure)}\n\n`))
        controller.close()
      }
      try {
        const { done, value } = await reader.read()
        if (done) return finish('its stream ended without an answer')
        byteCount += value.byteLength
        for (const byte of value) lineCount += byte === NEW_LINE ? 1 : 0
        if (byteCount <= ANSWER_BYTES_MAX && lineCount <= STREAM_LINES_MAX) {
          return controller.enqueue(value)
        }
        finish(
          lineCount > STREAM_LINES_MAX
            ? 'its stream has too many events'
            : tooLong(ANSWER_BYTES_MAX),
        )
        await reader.cancel()
      } catch {
        finish('its stream broke off')
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** The code of an answer that is ours. */
export const CUT_OFF = -32_099
