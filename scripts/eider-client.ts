/**
 * The HTTP API calls that the demo and the benchmarks need. A failed call throws an Error with the
 * answer.
 */
import type { Action, CompletionEvent, Step } from '../src/core/domain/agents/completion-event.ts'

export interface Table {
  readonly columnNames: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

export interface EiderClient {
  /** @param path the path after `/api`, with its slash; if `body` is undefined, none is sent */
  request(method: string, path: string, body?: unknown): Promise<unknown>
  /** @throws Error with the message of a statement that failed */
  sql(query: string): Promise<Table>
  /** Returns an answer's events as they arrive. @throws Error if it stops without `end` */
  ask(path: string, question: string): AsyncGenerator<AgentEvent>
}

/** One event of the stream, distinguished by the field that it has. */
export type AgentEvent =
  | { readonly kind: 'start'; readonly traceId: string }
  | { readonly kind: 'actions'; readonly actions: readonly Action[] }
  | { readonly kind: 'steps'; readonly steps: readonly Step[] }
  | { readonly kind: 'output'; readonly output: string; readonly citationCount: number }
  | { readonly kind: 'error'; readonly content: string }
  | { readonly kind: 'end' }

const REQUEST_MS_MAX = 300_000

export function eiderClient(baseUrl: string): EiderClient {
  const request = async (method: string, path: string, body?: unknown) => {
    const answer = await send(`${baseUrl}/api${path}`, method, body)
    const text = await answer.text()
    return text === '' ? undefined : JSON.parse(text)
  }
  return {
    request,
    sql: async (query) => tableOf(await request('POST', '/sql/query', { query })),
    ask: (path, question) => events(`${baseUrl}/api${path}/completions/stream`, question),
  }
}

async function send(url: string, method: string, body: unknown): Promise<Response> {
  const answer = await fetch(url, {
    method,
    signal: AbortSignal.timeout(REQUEST_MS_MAX),
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  if (answer.ok) return answer
  const { pathname } = new URL(url)
  throw new Error(`${method} ${pathname} answered ${answer.status}: ${await answer.text()}`)
}

function tableOf(answer: unknown): Table {
  // The contract defines this form, and the checks below detect a server that breaks it.
  const { type, column_names, data, error_message } = answer as Record<string, unknown>
  if (type === 'error') throw new Error(`SQL: ${error_message}`)
  if (type === 'ok') return { columnNames: [], rows: [] }
  if (!Array.isArray(column_names) || !Array.isArray(data)) throw new Error('SQL: no table came')
  return { columnNames: column_names.map(String), rows: data }
}

async function* events(url: string, question: string): AsyncGenerator<AgentEvent> {
  const answer = await send(url, 'POST', { messages: [{ question, answer: '' }] })
  if (answer.body === null) throw new Error('The stream has no body')
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of answer.body) {
    const chunks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
    rest = chunks.pop() ?? ''
    for (const chunk of chunks) {
      const event = eventOf(chunk)
      if (event === undefined) continue
      yield event
      if (event.kind === 'end') return
    }
  }
  throw new Error('The stream stopped without its end event')
}

/** Returns undefined for a keep-alive comment and for kinds that were not requested. */
function eventOf(chunk: string): AgentEvent | undefined {
  if (!chunk.startsWith('data: ')) return undefined
  // The wire format has only the kinds that the server's own types describe.
  const event = JSON.parse(chunk.slice('data: '.length)) as CompletionEvent
  if ('actions' in event) return { kind: 'actions', actions: event.actions }
  if ('steps' in event) return { kind: 'steps', steps: event.steps }
  if ('output' in event) {
    return { kind: 'output', output: event.output, citationCount: event.citations?.length ?? 0 }
  }
  if (event.type === 'start') return { kind: 'start', traceId: event.trace_id }
  if (event.type === 'error') return { kind: 'error', content: event.content }
  return event.type === 'end' ? { kind: 'end' } : undefined
}
