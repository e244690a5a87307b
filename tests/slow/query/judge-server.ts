/** A server that speaks OpenAI's chat completions and says what a test tells it to. */
export interface JudgeServer {
  /** With `/v1`. */
  readonly url: string
  /** The user's message of each request, in the order in which they came. */
  readonly prompts: readonly string[]
  /** How many were answered at the same time, at most. */
  readonly atOnceMax: () => number
  /** Settles when a client has gone away before its answer. */
  readonly hasLeft: Promise<void>
  close(): void
}

/** A reply, a status that refuses, or null for none at all. */
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
        // The body of a chat request has messages, the user's last.
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
