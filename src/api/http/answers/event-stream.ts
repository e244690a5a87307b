import type { CompletionEvent } from '../../../core/domain/agents/completion-event.ts'
import type { RequestScope } from '../request/running-requests.ts'
import { streamedResponse } from './streamed-response.ts'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

/**
 * Events of a completion as `data: {json}` chunks (docs/contract.md 3). The first event is awaited before the response
 * begins: what fails until then is thrown and becomes a status.
 */
export async function eventStream(
  events: AsyncGenerator<CompletionEvent, void>,
  scope: RequestScope,
): Promise<Response> {
  const first = await events.next()
  const keepAlive = { text: ': keep-alive\n\n' }
  return streamedResponse(chunksOf(first, events), { scope, headers: HEADERS, keepAlive })
}

async function* chunksOf(
  first: IteratorResult<CompletionEvent, void>,
  rest: AsyncGenerator<CompletionEvent, void>,
): AsyncGenerator<string> {
  try {
    if (!first.done) yield chunkOf(first.value)
    for await (const event of rest) yield chunkOf(event)
  } finally {
    // A client may leave before the second event is asked for.
    await rest.return()
  }
}

function chunkOf(event: CompletionEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
