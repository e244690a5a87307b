/**
 * An OpenAI-compatible server on loopback that embeds at once: what a test measures is Eider's.
 * @param permitted a call with so many texts is answered when this resolves
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
