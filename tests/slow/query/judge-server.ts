/** A server for OpenAI's chat completions whose responses a test defines. */
export interface JudgeServer {
  /** The URL with `/v1`. */
  readonly url: string
  /** The user's message in each request, in the order of arrival. */
  readonly prompts: readonly string[]
  /** The largest number of requests that were answered at the same time. */
  readonly atOnceMax: () => number
  /** Resolves when a client has disconnected before its answer. */
  readonly hasLeft: Promise<void>
  close(): void
}

/** A reply, a status that refuses, or null for no answer. */
export type Reply = string | number | null

export function judgeServer(
  replyTo: (prompt: string, turn: number) => Reply | Promise<Reply>,
): JudgeServer {
  const prompts: string[] = []
  const left = Promise.withResolvers<void>()
  let open = 0
  let atOnce = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      open += 1
      atOnce = Math.max(atOnce, open)
      try {
        // The body of a chat request has messages, the last of which is the user's.
        const body = (await request.json()) as { messages: { content: string }[] }
        const prompt = body.messages.at(-1)?.content ?? ''
        prompts.push(prompt)
        const reply = await replyTo(prompt, prompts.length)
        if (typeof reply === 'string') return Response.json(completion(reply))
        if (reply !== null) return Response.json({ error: { message: 'no' } }, { status: reply })
        await new Promise<void>((resolve) => {
          request.signal.addEventListener('abort', () => resolve(), { once: true })
        })
        left.resolve()
        return new Response(null, { status: 500 })
      } finally {
        open -= 1
      }
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    prompts,
    atOnceMax: () => atOnce,
    hasLeft: left.promise,
    close: () => void server.stop(true),
  }
}

function completion(content: string) {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  return { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices }
}
