/** A server with a knowledge base about teas and an agent for it, for clients of OpenAI's API. */
import type { Listener } from '../../src/api/http/listen.ts'
import { createTestApp } from '../support/test-app.ts'
import { type WritingModel, writingModel } from './writing-model.ts'

export interface TeaServer {
  /** The environment variables that such clients read. */
  readonly environment: Readonly<Record<string, string>>
  readonly model: WritingModel
  close(): Promise<void>
}

const ROWS = [
  {
    id: 'rooibos',
    content:
      'Rooibos comes from South Africa and has no caffeine at all, so children drink it too.',
  },
  {
    id: 'assam',
    content: 'Assam is a black tea from the north east of India, strong and malty in the cup.',
  },
]

export async function teaServer(): Promise<TeaServer> {
  const app = await createTestApp()
  const model = writingModel("SELECT * FROM mindsdb.teas WHERE content = 'rooibos' LIMIT 1")
  const made = async (path: string, body: object, method = 'POST') => {
    const { status, text } = await app.send(method, `/api/projects/mindsdb/${path}`, body)
    if (status >= 300) throw new Error(text)
  }
  await made('knowledge_bases', { knowledge_base: { name: 'teas' } })
  await made('knowledge_bases/teas', { knowledge_base: { rows: ROWS } }, 'PUT')
  await made('agents', {
    agent: {
      name: 'sommelier',
      data: { knowledge_bases: ['mindsdb.teas'] },
      model: { provider: 'openai', model_name: 'm', base_url: model.url, api_key: 'k' },
    },
  })
  const listener: Listener = app.app.listen({ hostname: '127.0.0.1', port: 0 })
  const { origin } = listener.url
  return {
    environment: {
      OPENAI_BASE_URL: `${origin}/v1`,
      OPENAI_API_KEY: 'sk-any',
      EIDER_ORIGIN: origin,
    },
    model,
    async close() {
      await listener.stop(0)
      await app.close()
      model.close()
    },
  }
}
