/** The examples of docs/agents.md and docs/agents/measuring.md, in their order, over what the README stores. */
import { expect, test } from 'bun:test'
import { chatServer } from '../../agents/chat-server.ts'
import { builtinEmbedders } from '../../support/builtin-embedders.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { allBlocks, blocksOf, commandsOf, curlCallOf, pageText } from './page-examples.ts'

async function appOfReadme(): Promise<TestApp> {
  const app = await createTestApp({ embedders: builtinEmbedders() })
  for (const command of commandsOf(await pageText('README.md'))) {
    const { method, path, body } = curlCallOf(command)
    await app.send(method, path, body)
  }
  return app
}

async function sent(app: TestApp, query: string) {
  const { body } = await app.send('POST', '/api/sql/query', { query })
  expect((body as { error_message?: string }).error_message).toBeUndefined()
  return body as { column_names: readonly string[]; data: readonly (readonly unknown[])[] }
}

const SELECT = `SELECT id, chunk_id, chunk_content, price FROM teas WHERE content = 'no caffeine' LIMIT 1`

test('docs/agents.md: its examples do what it says, in their order', async () => {
  const server = chatServer(
    { kind: 'text', pieces: ['OK'] },
    { kind: 'text', pieces: ['{"name": "Rooibos", ', '"price": 5}'] },
    { kind: 'call', name: 'kb_query_tool', input: { sql: SELECT } },
    { kind: 'text', pieces: ['Rooibos [3:content:1of1:0to67]'] },
    { kind: 'text', pieces: ['I do not know'] },
  )
  const app = await appOfReadme()
  const address = server.url
  const answers: string[] = []
  for (const { language, text } of allBlocks(await pageText('docs/agents.md'))) {
    if (language === 'sql') {
      // Replaces the default address of Ollama with a field.
      const here = text.replace('"ollama",', `"ollama", "base_url": "${address}",`)
      answers.push(JSON.stringify((await sent(app, here)).data))
      continue
    }
    const conversation = /"conversation_id":"([^"]+)"/.exec(answers.at(-1) ?? '')?.[1] ?? ''
    const { method, path, body } = curlCallOf(text.replace('CONVERSATION_ID', conversation))
    const { status, text: answer } = await app.send(method, path, body)
    // No question is running that could be cancelled.
    expect(status).toBe(path.endsWith('/TRACE_ID') ? 404 : 200)
    answers.push(answer)
  }
  const [, quoted, , probed, , streamed, asked, followed, begun, goneOn, , json, runs] = answers
  expect(quoted).toContain('without caffeine')
  expect(JSON.parse(probed ?? '')).toMatchObject({ ok: true, streaming: true, tools: true })
  expect(streamed).toContain('"type":"delta"')
  expect(asked).toContain('India')
  expect(followed).toContain('South Africa')
  expect(begun).toContain('conversation_id')
  expect(goneOn).toContain('South Africa')
  expect(JSON.parse(JSON.parse(json ?? '').message.content)).toEqual({ name: 'Rooibos', price: 5 })
  expect(JSON.parse(runs ?? '')).toEqual([])
  const messages = [{ role: 'user', content: 'Which tea has no caffeine?' }]
  const rows = await app.send('POST', '/api/projects/mindsdb/agents/tea_rows/completions', {
    messages,
  })
  expect(rows.body).toMatchObject({
    message: { result: { sql: SELECT }, citations: [{ document_id: '3' }] },
  })
  await app.send('POST', '/api/projects/mindsdb/agents/tea_support/completions', { messages })
  expect(JSON.stringify(server.requests.at(-1))).toContain('euros for 100 g')
  server.close()
  await app.close()
})

test('docs/agents/measuring.md: its statements measure an agent', async () => {
  const app = await appOfReadme()
  const answers: Awaited<ReturnType<typeof sent>>[] = []
  for (const query of blocksOf(await pageText('docs/agents/measuring.md'), 'sql')) {
    answers.push(await sent(app, query))
  }
  const column = (index: number, name: string) => {
    const { column_names: names, data } = answers[index] ?? { column_names: [], data: [] }
    return data.map((row) => row[names.indexOf(name)])
  }
  // Created, asked, summarized and compared.
  expect(answers.length).toBe(4)
  expect(column(1, 'correct')).toEqual([true, true, true])
  expect(column(2, 'accuracy')).toEqual([1])
  expect(column(3, 'setting')).toEqual(['base', 'compare'])
  expect(column(3, 'losses')).toEqual([null, 2])
  await app.close()
})
