/** Serves two embedding models on loopback that are fast and deterministic. */
const DIMENSIONS = 8

/** @param port 0 for a free one; later nights need the same, which the knowledge bases store */
export function startStub(port: number) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    fetch: async (request) => {
      // Only the server under test sends requests.
      const { input, model } = (await request.json()) as {
        readonly input: string | readonly string[]
        readonly model: string
      }
      const texts = typeof input === 'string' ? [input] : input
      const data = texts.map((text, index) => {
        return { object: 'embedding', index, embedding: vectorOf(`${model} ${text}`) }
      })
      const usage = { prompt_tokens: 1, total_tokens: 1 }
      return Response.json({ object: 'list', model, data, usage })
    },
  })
  const base_url = `http://127.0.0.1:${server.port}/v1`
  const models = ['stub-a', 'stub-b'].map((model_name) => {
    return { provider: 'openai', model_name, base_url, api_key: 'none' }
  })
  return { port: server.port ?? 0, models, stop: () => server.stop(true) }
}

/** Returns a different vector for each text, with numbers from -1 to 1. */
function vectorOf(text: string): readonly number[] {
  return Array.from({ length: DIMENSIONS }, (_, dimension) => {
    return Number(Bun.hash(text, dimension) & 0xffffn) / 0x8000 - 1
  })
}
