import type { CompletionEvent, FailureType } from '../domain/completion-event.ts'
import { type ErrorCode, toAppError } from '../errors.ts'
import type { RequestScope } from './request-scope.ts'
import { streamedResponse } from './streamed-response.ts'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
}

interface EventStreamInit {
  readonly scope: RequestScope
  /** `delta` events are sent only to a client that asked for them. */
  readonly deltas: boolean
  readonly onFailure: (error: unknown) => void
}

/**
 * Events of a completion as `data: {json}` chunks (api.md, Events). The first event is awaited
 * before the answer begins: what fails until then is thrown and becomes a status. After it,
 * whatever happens, `end` is sent once, last.
 */
export async function eventStream(
  events: AsyncIterable<CompletionEvent>,
  init: EventStreamInit,
): Promise<Response> {
  const iterator = events[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done === true) throw new Error('an agent gave no event at all')
  return streamedResponse(chunksOf(first.value, iterator, init), {
    scope: init.scope,
    headers: HEADERS,
    keepAlive: { text: ': keep-alive\n\n' },
  })
}

async function* chunksOf(
  first: CompletionEvent,
  rest: AsyncIterator<CompletionEvent>,
  init: EventStreamInit,
): AsyncGenerator<string> {
  const traceId = 'trace_id' in first ? first.trace_id : ''
  try {
    let event = first
    while (!isEnd(event)) {
      if (init.deltas || !isDelta(event)) yield chunkOf(event)
      const next = await rest.next()
      if (next.done === true) break
      event = next.value
    }
  } catch (error) {
    init.onFailure(error)
    yield chunkOf(failure(error, traceId))
  } finally {
    await rest.return?.()
  }
  yield chunkOf({ type: 'end' })
}

function chunkOf(event: CompletionEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

function isEnd(event: CompletionEvent): boolean {
  return 'type' in event && event.type === 'end'
}

function isDelta(event: CompletionEvent): boolean {
  return 'type' in event && event.type === 'delta'
}

function failure(error: unknown, traceId: string): CompletionEvent {
  const { code, message } = toAppError(error)
  return { type: 'error', content: message, error_type: failureType(code), trace_id: traceId }
}

const FAILURE_TYPES: Partial<Record<ErrorCode, FailureType>> = {
  timeout: 'timeout',
  step_limit: 'timeout',
  provider_failed: 'connection',
  provider_refused: 'authentication',
  agent_not_found: 'not_found',
  knowledge_base_not_found: 'not_found',
  too_busy: 'rate_limit',
}

function failureType(code: ErrorCode): FailureType {
  return FAILURE_TYPES[code] ?? 'general'
}
