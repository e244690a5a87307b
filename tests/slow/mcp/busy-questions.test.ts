/** Many simultaneous calls of one client. */
import { expect, test } from 'bun:test'
import { chatServer, type Said } from '../../agents/chat-server.ts'
import { createTestApp } from '../../support/test-app.ts'

test('what is quick does not wait for questions to agents', async () => {
  const app = await createTestApp()
  const model = chatServer(...Array.from({ length: 20 }, (): Said => ({ kind: 'stall' })))
  const named = { provider: 'openai', model_name: 'm', base_url: model.url }
  const agent = { name: 'slow', model: named, data: { tables: [] } }
  const made = await app.send('POST', '/api/projects/mindsdb/agents', { agent })
  expect(made.status).toBe(201)
  const leaving = new AbortController()
  const call = (name: string, args: object) => {
    return app.app.handle(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({
          ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
          params: { name, arguments: args },
        }),
        signal: leaving.signal,
      }),
    )
  }
  const question = { agent: 'slow', question: 'How hot?' }
  const asked = await Promise.all(Array.from({ length: 20 }, () => call('ask_agent', question)))
  await model.hasStalled
  // If it waited for the questions, the test would time out.
  const listed = await call('list_data', {})
  expect(await listed.text()).toContain('"structuredContent"')
  leaving.abort()
  await Promise.allSettled(asked.map((answer) => answer.text()))
  model.close()
  await app.close()
}, 180_000)
