/**
 * An OpenAI-compatible server on loopback that embeds at once, so that a test measures only Eider.
 * @param permitted resolves when a call with this many texts may be answered
 */
export function stubEmbeddings(
  embeddingOf: (text: string) => readonly number[],
  permitted: (texts: number) => Promise<void> = async () => {},
) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { input } = (await request.json()) as { input: string | readonly string[] }
      const texts = Array.isArray(input) ? input : [input]
      await permitted(texts.length)
      const data = texts.map((text, index) => {
        return { object: 'embedding', index, embedding: embeddingOf(text) }
      })
      const usage = { prompt_tokens: 1, total_tokens: 1 }
      return Response.json({ object: 'list', model: 'stub', data, usage })
    },
  })
}

/** A server that stops responding during an insert, so that the test can kill Eider there. */
export function silencedEmbeddings() {
  let texts = 0
  let textsMax = Number.POSITIVE_INFINITY
  let silenced = Promise.withResolvers<void>()
  const provider = stubEmbeddings(
    (text) => [text.length % 7, 1, 2],
    async (count) => {
      texts += count
      if (texts <= textsMax) return
      silenced.resolve()
      await new Promise(() => {})
    },
  )
  return {
    baseUrl: `http://127.0.0.1:${provider.port}/v1`,
    /** From now on, embeds this many texts and no more. */
    silenceAfter(max: number): void {
      texts = 0
      textsMax = max
      silenced = Promise.withResolvers()
    },
    silenced: () => silenced.promise,
    stop: () => provider.stop(true),
  }
}
