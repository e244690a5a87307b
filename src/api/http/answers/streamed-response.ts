import type { RequestScope } from '../request/running-requests.ts'

/** Proxies and the server itself close a connection on which nothing is sent. */
const KEEP_ALIVE_MS = 15_000

/**
 * Pieces of text or bytes as the body of an answer, each sent as it comes and read only when the
 * client has read what came before. A client that goes away aborts the request's signal and
 * returns from the iterator; an iterator that throws cuts the connection, so text that can say
 * more than that must say it itself.
 * @param init.keepAlive sent each `everyMs` while the client has read everything else
 */
export function streamedResponse(
  pieces: AsyncIterator<string | Uint8Array>,
  init: {
    readonly headers: Readonly<Record<string, string>>
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
  return new Response(body, { headers: init.headers })
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

/** Each event as a chunk `data: {json}` (docs/contract.md 3). @throws what fails before the first event, which has a status */
export function eventStream(
  events: AsyncIterable<unknown>,
  scope: RequestScope,
): Promise<Response> {
  return chunkStream(chunksOf(events), scope)
}

/** The same for chunks that are already text. */
export async function chunkStream(
  chunks: AsyncGenerator<string, void>,
  scope: RequestScope,
): Promise<Response> {
  const first = await chunks.next()
  const keepAlive = { text: ': keep-alive\n\n' }
  return streamedResponse(beginningWith(first, chunks), { scope, headers: HEADERS, keepAlive })
}

async function* chunksOf(events: AsyncIterable<unknown>): AsyncGenerator<string, void> {
  for await (const event of events) yield `data: ${JSON.stringify(event)}\n\n`
}

async function* beginningWith(
  first: IteratorResult<string, void>,
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  try {
    if (first.done !== true) yield first.value
    yield* rest
  } finally {
    // A client may leave before the second event is read.
    await rest.return()
  }
}
