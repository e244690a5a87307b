/**
 * An OpenAI-compatible server without a model, on loopback and in a thread of its own: what is left of a request's time
 * is the server's. `/v1/embeddings` answers unit vectors that depend on the text only; `/v1/chat/completions` calls
 * `kb_query_tool` once and then answers.
 */
export interface StubProvider {
  /** With `/v1`, as `base_url` of a model. */
  readonly baseUrl: string
  stop(): void
}

export const STUB_DIMENSIONS = 384
const START_MS_MAX = 10_000

export async function startStubProvider(): Promise<StubProvider> {
  const worker = new Worker(new URL('./stub-provider-worker.ts', import.meta.url).href)
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const timer = setTimeout(() => reject(new Error('The stub provider did not start')), START_MS_MAX)
  worker.addEventListener('message', (event: MessageEvent<number>) => resolve(event.data))
  worker.addEventListener('error', (event) => reject(new Error(event.message)))
  try {
    return { baseUrl: `http://127.0.0.1:${await promise}/v1`, stop: () => worker.terminate() }
  } catch (error) {
    worker.terminate()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** The model of a knowledge base that embeds with the stub. */
export function stubEmbeddingModel(stub: StubProvider): Record<string, unknown> {
  return {
    provider: 'openai',
    model_name: 'stub-embedding',
    api_key: 'stub',
    base_url: stub.baseUrl,
  }
}

/** The model of an agent that asks the stub. @param latencyMs until each of its answers begins */
export function stubChatModel(stub: StubProvider, latencyMs = 0): Record<string, unknown> {
  const model_name = `stub-chat-${latencyMs}`
  return { provider: 'openai', model_name, api_key: 'stub', base_url: stub.baseUrl }
}
