import { SLICE_MS, TimeSlice } from '../../../core/runtime/serial-queue.ts'
import type { RequestScope } from '../request/running-requests.ts'

/** Sent because proxies, and the server itself, close silent connections. */
const KEEP_ALIVE_MS = 15_000

/**
 * Streams pieces of text or bytes as a response body. A piece is requested only once the client has
 * read the previous ones. If the client disconnects, the request's signal is aborted and the
 * iterator's `return` is called. If the iterator throws, the connection is cut, so a format that
 * can express failures must write them itself.
 * @param init.keepAlive sent every `everyMs` while the client has read everything else
 */
export function streamedResponse(
  pieces: AsyncIterator<string | Uint8Array>,
  init: {
    readonly headers: Readonly<Record<string, string>>
    readonly status?: number
    readonly scope: RequestScope
    readonly keepAlive?: { readonly text: string; readonly everyMs?: number }
  },
): Response {
  const { scope, keepAlive } = init
  const encoder = new TextEncoder()
  let timer: ReturnType<typeof setInterval> | undefined
  const end = () => {
    clearInterval(timer)
    scope.end()
  }
  scope.startStreaming()
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (keepAlive === undefined) return
      const comment = encoder.encode(keepAlive.text)
      timer = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(comment)
      }, keepAlive.everyMs ?? KEEP_ALIVE_MS)
    },
    async pull(controller) {
      try {
        const next = await pieces.next()
        if (next.done !== true) {
          const { value } = next
          controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
          return
        }
        controller.close()
      } catch (error) {
        controller.error(error)
      }
      end()
    },
    async cancel(reason) {
      scope.abort(reason)
      end()
      await pieces.return?.()
    },
  })
  return new Response(body, init)
}

/** Lists up to this length are written in one step. */
const SHORT_LIST = 50
const WRITTEN_CHARS = 65_536

/** A JSON value; one with a long list item by item, because other requests wait meanwhile. */
export function jsonAnswer(value: unknown, status: number, scope: RequestScope): Response {
  const fields = Array.isArray(value) ? [value] : Object.values(value ?? {})
  const isLong = fields.some((field) => Array.isArray(field) && field.length > SHORT_LIST)
  if (!isLong) return Response.json(value, { status })
  const headers = { 'content-type': 'application/json;charset=utf-8' }
  return streamedResponse(jsonPieces(value, scope.signal), { headers, status, scope })
}

async function* jsonPieces(value: unknown, signal: AbortSignal): AsyncGenerator<string, void> {
  const slice = new TimeSlice(SLICE_MS)
  let text = ''
  for (const part of jsonParts(value)) {
    text += part
    if (text.length < WRITTEN_CHARS) continue
    yield text
    text = ''
    await slice.yieldIfSpent(signal)
  }
  yield text
}

/** Every item of a list, also of a list that is a field, on its own. */
function* jsonParts(value: unknown): Generator<string> {
  const isList = Array.isArray(value)
  const fields = Object.entries(value ?? {}).filter(([, field]) => isList || field !== undefined)
  yield isList ? '[' : '{'
  for (const [index, [name, field]] of fields.entries()) {
    yield `${index === 0 ? '' : ','}${isList ? '' : `${JSON.stringify(name)}:`}`
    if (!isList && Array.isArray(field)) yield* jsonParts(field)
    else yield JSON.stringify(field) ?? 'null'
  }
  yield isList ? ']' : '}'
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

/** `data: {json}` chunks (docs/contract.md 3). @throws before the first event */
export function eventStream(
  events: AsyncIterable<unknown>,
  scope: RequestScope,
): Promise<Response> {
  return chunkStream(chunksOf(events), scope)
}

/** Like `eventStream`, for chunks that are already text. */
export async function chunkStream(
  chunks: AsyncGenerator<string, void>,
  scope: RequestScope,
): Promise<Response> {
  const first = await chunks.next()
  const pieces = beginningWith(first.done === true ? [] : [first.value], chunks)
  const keepAlive = { text: ': keep-alive\n\n' }
  return streamedResponse(pieces, { scope, headers: HEADERS, keepAlive })
}

async function* chunksOf(events: AsyncIterable<unknown>): AsyncGenerator<string, void> {
  for await (const event of events) yield `data: ${JSON.stringify(event)}\n\n`
}

/** @param first the pieces that were already read from `rest` */
export async function* beginningWith<T>(
  first: readonly T[],
  rest: AsyncGenerator<T>,
): AsyncGenerator<T, void> {
  try {
    yield* first
    yield* rest
  } finally {
    // The client may disconnect before the rest is read.
    await rest.return(undefined)
  }
}
