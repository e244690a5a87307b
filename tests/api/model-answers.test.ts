import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { scriptedServer } from '../models/fixtures/scripted-server.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'

/** A machine in the internal network that gives this response to every request. */
const SECRET = 'topsecret-7f3a'
const ANSWERS: Readonly<Record<string, () => Response>> = {
  'a page': () =>
    new Response(`<html>${SECRET}</html>`, { headers: { 'content-type': 'text/html' } }),
  'a text that is not found': () => new Response(SECRET, { status: 404 }),
  'a page that refuses': () => new Response(`<pre>${SECRET}</pre>`, { status: 418 }),
  'metadata of a cloud': () => Response.json({ AccessKeyId: SECRET, Token: SECRET }),
  'metadata with a refusal': () => Response.json({ key: SECRET, detail: SECRET }, { status: 403 }),
  'a list': () => Response.json([SECRET]),
  'JSON that is cut off': () => new Response(`{"token": "${SECRET}`),
  'a redirect': () => new Response(SECRET, { status: 302, headers: { location: `/${SECRET}` } }),
  'a redirect elsewhere': () => {
    const headers = { location: `http://127.0.0.1:9/${SECRET}` }
    return new Response(SECRET, { status: 307, headers })
  },
}

let app: TestApp
let answer: () => Response = () => new Response('')
const server = scriptedServer(() => answer())

beforeAll(async () => {
  app = await createTestApp({ embedders: 'real' })
})

afterAll(async () => {
  await app.close()
  await server[Symbol.asyncDispose]()
})

const model = () => ({ provider: 'openai', model_name: 'm', api_key: 'k', base_url: server.url })
const at = '/api/projects/mindsdb'

describe('of an answer outside the protocol only the status is shown', () => {
  let count = 0
  for (const [name, response] of Object.entries(ANSWERS)) {
    test(name, async () => {
      count += 1
      answer = response
      const kb = `kb${count}`
      const preprocessing = { type: 'contextual', contextual_config: { llm_config: model() } }
      const made = [
        { name: `e${count}`, embedding_model: model() },
        { name: kb, reranking_model: model() },
        { name: `c${count}`, preprocessing },
      ]
      const rows = { knowledge_base: { rows: [{ id: 1, content: 'a duck' }] } }
      const answers: unknown[] = []
      for (const knowledge_base of made) {
        answers.push(await app.send('POST', `${at}/knowledge_bases`, { knowledge_base }))
        answers.push(await app.send('PUT', `${at}/knowledge_bases/${knowledge_base.name}`, rows))
      }
      const search = { query: 'duck', reranking: true }
      answers.push(await app.send('POST', `${at}/knowledge_bases/${kb}/search`, search))
      await app.send('POST', `${at}/agents`, { agent: { name: `a${count}`, model: model() } })
      const messages = [{ question: 'q', answer: '' }]
      answers.push(await app.send('POST', `${at}/agents/a${count}/completions`, { messages }))
      expect(server.seen.length).toBeGreaterThan(0)
      expect(JSON.stringify(answers)).not.toContain(SECRET)
      for (const { path } of server.seen) expect(path).not.toContain(SECRET)
    })
  }
})
