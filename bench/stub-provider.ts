/**
 * An OpenAI-compatible server without a model, on loopback and in its own thread, so that a request's time is spent
 * in the server. `/v1/embeddings` returns unit vectors by text; `/v1/chat/completions` calls `kb_query_tool` once,
 * then answers.
 */
export interface StubProvider {
  /** The `base_url` of a model, with `/v1`. */
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

/** The model of an agent that uses the stub. @param latencyMs the delay before its answers */
export function stubChatModel(stub: StubProvider, latencyMs = 0): Record<string, unknown> {
  const model_name = `stub-chat-${latencyMs}`
  return { provider: 'openai', model_name, api_key: 'stub', base_url: stub.baseUrl }
}
