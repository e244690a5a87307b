import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  ANSWER,
  PERSONALITIES,
  personalityServer,
  SQL,
} from '../../models/fixtures/personalities.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const AT = '/api/projects/mindsdb'
const KEY = 'k-personal-1'

let t: TestApp
beforeAll(async () => {
  t = await createTestApp()
  await t.send('POST', `${AT}/knowledge_bases`, { knowledge_base: { name: 'birds' } })
  const rows = [{ id: 'eider', content: 'The eider is a large sea duck. Its down fills quilts.' }]
  await t.send('PUT', `${AT}/knowledge_bases/birds`, { knowledge_base: { rows } })
})
afterAll(() => t.close())

const eventsOf = (text: string) => {
  const chunks = text.split('\n\n').filter((chunk) => chunk.startsWith('data: '))
  return chunks.map((chunk) => JSON.parse(chunk.slice(6)) as Record<string, unknown>)
}

let count = 0
for (const [name, personality] of Object.entries(PERSONALITIES)) {
  test(name, async () => {
    await using server = personalityServer(personality)
    count += 1
    const base_url = `${server.url}${personality.path.replace(/\/(chat\/completions|v1\/messages)$/, '')}`
    const model = {
      provider: personality.provider,
      model_name: 'm',
      api_key: KEY,
      base_url,
      max_tokens: 500,
    }
    const agent = { name: `a${count}`, model, data: { knowledge_bases: ['mindsdb.birds'] } }
    expect(await t.send('POST', `${AT}/agents`, { agent })).toMatchObject({ status: 201 })
    const messages = [{ role: 'user', content: 'What is an eider?' }]
    const ask = () => t.send('POST', `${AT}/agents/a${count}/completions/stream`, { messages })
    const events = eventsOf((await ask()).text)
    expect(events).toMatchObject([
      { type: 'start' },
      { actions: [{ tool: 'kb_query_tool', tool_input: SQL }] },
      { steps: [{ observation: expect.stringContaining('large sea duck') }] },
      { output: ANSWER },
      { type: 'end' },
    ])
    for (const { path } of server.seen) expect(path).toBe(personality.path)
    // Eider does not ask again for what the server has refused once.
    const asked = server.seen.length
    expect(eventsOf((await ask()).text)).toMatchObject(Array.from({ length: 5 }, () => ({})))
    expect(server.seen.length - asked).toBe(2)
    const warnings = JSON.stringify(events.at(3)?.warnings)
    const lacksTools = server.seen.at(-1)?.body.tools === undefined
    expect(warnings.includes('is used without native tool calls')).toBe(lacksTools)
  })
}
