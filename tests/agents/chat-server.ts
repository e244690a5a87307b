/**
 * A server for the streaming protocol of OpenAI's chat completions that plays its turns in order.
 */
export type Said =
  | { readonly kind: 'text'; readonly pieces: readonly string[] }
  | { readonly kind: 'call'; readonly name: string; readonly input: object }
  | { readonly kind: 'status'; readonly status: number }
  /** The answer begins, and continues after an event in the test. */
  | {
      readonly kind: 'held'
      readonly pieces: readonly string[]
      readonly until: Promise<void>
      readonly rest: readonly string[]
    }
  /** The answer begins, perhaps with some text, and never continues. */
  | { readonly kind: 'stall'; readonly pieces?: readonly string[] }

export interface ChatServer {
  readonly url: string
  readonly requests: readonly Readonly<Record<string, unknown>>[]
  /** Resolves when the first client has disconnected. */
  readonly hasLeft: Promise<void>
  /** Resolves when the first answer that never continues has begun. */
  readonly hasStalled: Promise<void>
  close(): void
}

export function chatServer(...turns: readonly Said[]): ChatServer {
  const requests: Readonly<Record<string, unknown>>[] = []
  const left = Promise.withResolvers<void>()
  const stalled = Promise.withResolvers<void>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const said = turns[requests.length]
      // The body of a chat request is an object.
      requests.push((await request.json()) as Record<string, unknown>)
      request.signal.addEventListener('abort', () => left.resolve(), { once: true })
      if (said === undefined) return new Response('no turn left', { status: 500 })
      if (said.kind === 'status') {
        return Response.json({ error: { message: 'refused' } }, { status: said.status })
      }
      if (said.kind === 'stall') stalled.resolve()
      return new Response(streamOf(said, left.resolve), {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    requests,
    hasLeft: left.promise,
    hasStalled: stalled.promise,
    close: () => void server.stop(true),
  }
}

function streamOf(said: Exclude<Said, { kind: 'status' }>, onCancel: () => void): ReadableStream {
  const chunk = (delta: object, finish: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const body = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices }
    return new TextEncoder().encode(`data: ${JSON.stringify(body)}\n\n`)
  }
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(chunk({ role: 'assistant', content: '' }))
      if (said.kind === 'held') {
        for (const content of said.pieces) controller.enqueue(chunk({ content }))
        await said.until
      }
      if (said.kind === 'stall') {
        for (const content of said.pieces ?? []) controller.enqueue(chunk({ content }))
        return
      }
      for (const delta of deltasOf(said)) controller.enqueue(chunk(delta))
      controller.enqueue(chunk({}, said.kind === 'call' ? 'tool_calls' : 'stop'))
      controller.enqueue(new TextEncoder().encode('data: [DONE]\n\n'))
      controller.close()
    },
    cancel: onCancel,
  })
}

/** The arguments of a call arrive in pieces, as from the real API. */
function deltasOf(said: Exclude<Said, { kind: 'status' } | { kind: 'stall' }>): readonly object[] {
  if (said.kind === 'text') return said.pieces.map((content) => ({ content }))
  if (said.kind === 'held') return said.rest.map((content) => ({ content }))
  const text = JSON.stringify(said.input)
  const middle = Math.floor(text.length / 2)
  const opened = { index: 0, id: 'call_1', type: 'function' }
  return [
    { tool_calls: [{ ...opened, function: { name: said.name, arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: text.slice(0, middle) } }] },
    { tool_calls: [{ index: 0, function: { arguments: text.slice(middle) } }] },
  ]
}
