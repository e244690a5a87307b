/** The thread of `stub-provider.ts`, which posts its port once it listens. */
import { seededRandom } from './sample-texts.ts'
import { STUB_DIMENSIONS } from './stub-provider.ts'

interface EmbeddingsRequest {
  readonly input: string | readonly string[]
  readonly model: string
  readonly encoding_format?: 'float' | 'base64'
}

interface ChatRequest {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
  readonly tools?: readonly { readonly function: ToolFunction }[]
}

interface ToolFunction {
  readonly name: string
  readonly parameters?: { readonly properties?: Readonly<Record<string, unknown>> }
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  routes: {
    '/v1/embeddings': { POST: async (request) => Response.json(embeddings(await request.json())) },
    '/v1/chat/completions': { POST: async (request) => chat(await request.json()) },
  },
  fetch: () => Response.json({ error: { message: 'No such path' } }, { status: 404 }),
})
postMessage(server.port)

function embeddings({ input, model, encoding_format }: EmbeddingsRequest): unknown {
  const texts = typeof input === 'string' ? [input] : input
  const data = texts.map((text, index) => {
    const vector = unitVector(text)
    const embedding =
      encoding_format === 'base64'
        ? Buffer.from(vector.buffer).toString('base64')
        : Array.from(vector)
    return { object: 'embedding', index, embedding }
  })
  return { object: 'list', data, model, usage: { prompt_tokens: 0, total_tokens: 0 } }
}

function unitVector(text: string): Float32Array<ArrayBuffer> {
  const random = seededRandom(Number(Bun.hash.crc32(text)))
  const vector = Float32Array.from({ length: STUB_DIMENSIONS }, () => random() - 0.5)
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

async function chat(request: ChatRequest): Promise<Response> {
  const latencyMs = Number(/^stub-chat-(\d+)$/.exec(request.model)?.[1] ?? 0)
  if (latencyMs > 0) await Bun.sleep(latencyMs)
  const message = replyTo(request)
  const finish_reason = 'tool_calls' in message ? 'tool_calls' : 'stop'
  const base = { id: 'stub', created: 0, model: request.model }
  if (!request.stream) {
    const choices = [{ index: 0, message, finish_reason }]
    return Response.json({ ...base, object: 'chat.completion', choices })
  }
  const chunks = [
    { index: 0, delta: message, finish_reason: null },
    { index: 0, delta: {}, finish_reason },
  ].map((choice) => ({ ...base, object: 'chat.completion.chunk', choices: [choice] }))
  const lines = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]']
  const body = lines.map((line) => `data: ${line}\n\n`).join('')
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** The question is a SQL statement, which is passed to the tool. Then the model is done. */
function replyTo({ messages, tools }: ChatRequest) {
  const question = messages.findLast((message) => message.role === 'user')?.content
  const tool = tools?.find((one) => one.function.name === 'kb_query_tool')?.function
  const isAnswered = messages.some((message) => message.role === 'tool')
  if (tool === undefined || isAnswered) return { role: 'assistant', content: 'Done' }
  const argument = Object.keys(tool.parameters?.properties ?? {})[0] ?? 'query'
  const call = { name: tool.name, arguments: JSON.stringify({ [argument]: String(question) }) }
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }],
  }
}
