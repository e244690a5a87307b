import type { RequestScope } from '../request/running-requests.ts'
import { streamedResponse } from './streamed-response.ts'

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
