/** An OpenAI-compatible embeddings server on loopback that knows one set: a text starting with `row 17` is its row 17. */
import type { MadeVectors } from './vector-set.ts'

export interface StubVectors {
  /** The `embedding_model` of a knowledge base. */
  readonly model: Readonly<Record<string, unknown>>
  stop(): void
}

/** Other texts test the model when a knowledge base is created. They get the first row. */
export function startStubVectors({
  rows,
  rowCount,
}: Pick<MadeVectors, 'rows' | 'rowCount'>): StubVectors {
  const dimensions = rows.length / rowCount
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      // The caller is the server under test, which uses OpenAI's protocol.
      const body = (await request.json()) as { readonly input: string | readonly string[] }
      const texts = typeof body.input === 'string' ? [body.input] : body.input
      const data = texts.map((text, index) => {
        return { object: 'embedding', index, embedding: base64(rowOf(text)) }
      })
      const usage = { prompt_tokens: 0, total_tokens: 0 }
      return Response.json({ object: 'list', data, model: 'stub-vectors', usage })
    },
  })
  const rowOf = (text: string) => {
    const row = Number(/^row (\d+)\b/.exec(text)?.[1] ?? 0) % rowCount
    return rows.subarray(row * dimensions, (row + 1) * dimensions)
  }
  const base_url = `http://127.0.0.1:${server.port}/v1`
  const model = { provider: 'openai', model_name: 'stub-vectors', api_key: 'stub', base_url }
  return { model, stop: () => void server.stop(true) }
}

function base64(vector: Float32Array): string {
  const { buffer, byteOffset, byteLength } = vector
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}
