import { type Guard, isTrustedHost, pinnedFetch } from '../../core/runtime/address-policy.ts'

/** The size limit for one answer: a list of tools or a result. */
const ANSWER_BYTES_MAX = 1_048_576
const FAILURE_BYTES_MAX = 16_384
/** The line limit for a stream; an event has two or more lines. */
const STREAM_LINES_MAX = 2_000
/** The request limit for one connection, so that a server cannot make Eider send without end. */
const REQUESTS_MAX = 500

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * Connects only to checked addresses, bounds answers, and answers every request, even with an
 * error.
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
    // Only requests have an answer to read.
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

/** The body was replaced, so its length has changed. */
function withoutLength(headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) kept.delete(name)
  return kept
}

/** The id of a request; null for a notification or an answer. */
function requestId(body: unknown): number | null {
  if (typeof body !== 'string') return null
  const message: unknown = JSON.parse(body)
  const { id, method } = message as { readonly id?: unknown; readonly method?: unknown }
  return typeof id === 'number' && typeof method === 'string' ? id : null
}

/** @throws Error if the text is too long */
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

/** The answer to this request. A batch of messages, from an older protocol, is rejected. */
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

/** The events, then an error for the request, which a client that has its answer ignores. */
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

export const CUT_OFF = -32_099
