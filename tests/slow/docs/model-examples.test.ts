/** The setups in docs/agents/models.md, each with a scripted server instead of the real one. */
import { expect, test } from 'bun:test'
import { COMPATIBLE_PROVIDERS, compatibleServer } from '../../../src/core/domain/model-ref.ts'
import { createTestApp } from '../../support/test-app.ts'
import { blocksOf, curlCallOf, pageText } from './page-examples.ts'

const page = await pageText('docs/agents/models.md')
const setups = blocksOf(page, 'sql')

interface Seen {
  readonly path: string
  readonly key: string | null
  readonly model: string
}

/** A server for both protocols that answers "Nothing is new." */
function modelServer() {
  const seen: Seen[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { headers } = request
      const key = headers.get('authorization') ?? headers.get('x-api-key') ?? headers.get('api-key')
      const path = new URL(request.url).pathname
      // The body of a request names its model in both protocols.
      const { model } = (await request.json()) as { model: string }
      seen.push({ path, key, model })
      const events = path.endsWith('/messages') ? anthropicEvents(model) : openaiEvents(model)
      return new Response(events, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return { seen, url: `http://127.0.0.1:${server.port}`, close: () => void server.stop(true) }
}

function openaiEvents(model: string): string {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const chunk = (delta: object, finish_reason: string | null) => {
    const choices = [{ index: 0, delta, finish_reason }]
    const body = { id: 'c', object: 'chat.completion.chunk', created: 1, model, choices, usage }
    return `data: ${JSON.stringify(body)}\n\n`
  }
  const said = chunk({ role: 'assistant', content: 'Nothing is new.' }, null)
  return `${said}${chunk({}, 'stop')}data: [DONE]\n\n`
}

function anthropicEvents(model: string): string {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: 'm', type: 'message', role: 'assistant', content: [], model, usage }
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'Nothing is new.' },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

test('docs/agents/models.md: each set-up is made without a call, probed and asked', async () => {
  const server = modelServer()
  const environment = Object.fromEntries(
    [...page.matchAll(/\b([A-Z]+_API_KEY)\b/g)].map(([, name = '']) => [name, 'a-key-of-the-test']),
  )
  const app = await createTestApp({ environment })
  await app.send('POST', '/api/projects/mindsdb/knowledge_bases', {
    knowledge_base: { name: 'teas' },
  })
  const probe = curlCallOf(blocksOf(page, 'sh')[0] ?? '')
  const agent = probe.path.replace('/probe', '')
  expect(setups.length).toBeGreaterThanOrEqual(12)
  for (const statement of setups) {
    const made = await app.send('POST', '/api/sql/query', { query: statement })
    expect((made.body as { error_message?: string }).error_message).toBeUndefined()
    expect(server.seen).toEqual([])
    const { model } = (await app.send('GET', agent)).body as { model: Record<string, string> }
    const path = model.base_url === undefined ? '/v1' : new URL(model.base_url).pathname
    const here = { ...model, base_url: `${server.url}${path}`, api_key: 'a-key-of-the-test' }
    await app.send('PUT', agent, { agent: { model: here } })
    const { body } = await app.send(probe.method, probe.path)
    expect(body).toMatchObject({ ok: true, status: 200, streaming: true, tools: true })
    const counted = { input_tokens: 1, output_tokens: 1, cached_tokens: 0 }
    expect(body).toMatchObject({ usage: counted })
    for (const name of ['url', 'error_type', 'cause', 'next_step', 'took_ms']) {
      expect(body).toHaveProperty(name)
    }
    const messages = [{ role: 'user', content: 'What is new?' }]
    const answer = await app.send('POST', `${agent}/completions`, { messages })
    expect(answer.text).toContain('Nothing is new.')
    const isAnthropic = model.provider === 'anthropic'
    for (const call of server.seen.splice(0)) {
      expect(call.path).toEndWith(isAnthropic ? '/v1/messages' : '/v1/chat/completions')
      expect(call.key).toEndWith('a-key-of-the-test')
      expect(call.model).toBe(model.model_name ?? '')
    }
    await app.send('DELETE', agent)
  }
  server.close()
  await app.close()
})

test('docs/agents/models.md: the table names the usual addresses', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  for (const provider of COMPATIBLE_PROVIDERS) {
    const row = rows.find((line) => line.includes(`\`${provider}\``))
    const server = compatibleServer(provider)
    if (row === undefined || server?.isPublic !== false) continue
    expect(row).toContain(`\`${server.address}\``)
  }
})
