/** The examples of docs/agents.md about models, against a scripted server in the place of Ollama. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { COMPATIBLE_PROVIDERS, compatibleServer } from '../../../src/domain/model-ref.ts'
import { chatServer } from '../../agents/chat-server.ts'
import { createTestApp } from '../../support/test-app.ts'

const page = await Bun.file(join(import.meta.dir, '../../../docs/agents.md')).text()
const [, models = ''] = page.split('\n## Models\n')
const [section = ''] = models.split('\n## ')
const block = (language: string) => {
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(section)?.[1] ?? ''
}

test('docs/agents.md: an agent of a model server is made, tried and asked', async () => {
  const server = chatServer(
    { kind: 'text', pieces: ['OK'] },
    { kind: 'text', pieces: ['Nothing is new.'] },
  )
  const t = await createTestApp()
  const query = block('sql').replace('http://127.0.0.1:11434', server.url.replace('/v1', ''))
  const { body } = await t.send('POST', '/api/sql/query', { query })
  expect((body as { error_message?: string }).error_message).toBeUndefined()
  const path = /localhost:47334(\S+)/.exec(block('sh'))?.[1] ?? ''
  const probe = await t.send('POST', path)
  expect(probe.body).toMatchObject({ ok: true, status: 200, tools: true, streaming: true })
  const named = [...section.matchAll(/`(\w+)`(?=[,:]| and | \()/g)].map(([, name]) => name)
  for (const name of named.filter((one) => /^(ok|url|status|cause)$/.test(one ?? ''))) {
    expect(probe.body).toHaveProperty(name ?? '')
  }
  const messages = [{ role: 'user', content: 'What is new?' }]
  const answer = await t.send('POST', path.replace('probe', 'completions'), { messages })
  expect(answer.text).toContain('Nothing is new.')
  expect(server.requests[0]).toMatchObject({ model: 'qwen3:8b' })
  server.close()
  await t.close()
})

test('docs/agents.md: the table names the usual addresses', () => {
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  for (const provider of COMPATIBLE_PROVIDERS) {
    const row = rows.find((line) => line.includes(`\`${provider}\``))
    const server = compatibleServer(provider)
    if (row === undefined || server?.isPublic !== false) continue
    expect(row).toContain(`\`${server.address}\``)
  }
})
