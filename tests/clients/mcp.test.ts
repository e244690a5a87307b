/** The official clients of the Model Context Protocol, and the inspector's command line. */
import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { join } from 'node:path'
import type { Listener } from '../../src/api/http/listen.ts'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { clientResult, clientTest } from './client-programs.ts'

const LOGIN = { EIDER_USERNAME: 'ada', EIDER_PASSWORD: 'correct horse' }
const PROGRAM = join(import.meta.dir, '../../src/eider.ts')
const EIDER_COMMAND = JSON.stringify([process.execPath, PROGRAM, 'mcp'])
const TOOLS = ['search', 'fetch', 'query', 'list_data', 'ask_agent', 'add_documents']
const TEA = 'Green tea is steeped at 80 degrees for two minutes.'

let test: TestApp
let listener: Listener
let environment: Readonly<Record<string, string>>

beforeAll(async () => {
  test = await createTestApp({ environment: LOGIN, embedders: 'real' })
  listener = test.app.listen({ hostname: '127.0.0.1', port: 0 })
  const login = { username: LOGIN.EIDER_USERNAME, password: LOGIN.EIDER_PASSWORD }
  const { body } = await test.send('POST', '/api/login', login)
  const { token } = body as { token: string }
  const headers = { authorization: `Bearer ${token}` }
  environment = { EIDER_URL: listener.url.href.replace(/\/$/, ''), EIDER_API_KEY: token }
  const kb = { knowledge_base: { name: 'docs' } }
  await test.send('POST', '/api/projects/mindsdb/knowledge_bases', kb, headers)
  const rows = [
    { id: 'tea', title: 'Tea', content: TEA },
    { id: 'coffee', content: 'Coffee is brewed with water just below boiling.' },
  ]
  const filled = { knowledge_base: { rows } }
  await test.send('PUT', '/api/projects/mindsdb/knowledge_bases/docs', filled, headers)
  const agent = { agent: { name: 'helper', data: { knowledge_bases: ['mindsdb.docs'] } } }
  await test.send('POST', '/api/projects/mindsdb/agents', agent, headers)
})

afterAll(async () => {
  await listener.stop(0)
  await test.close()
})

describe('an MCP client', () => {
  clientTest('in TypeScript connects, lists, calls, reads and cancels', async () => {
    const seen = (await clientResult('mcp-typescript.mjs', environment)) as Readonly<
      Record<string, unknown>
    >
    expect(seen).toMatchObject({
      server: 'eider',
      tools: TOOLS,
      found: 'Tea',
      text: TEA,
      rows: [
        [0, 0],
        [1, 1],
        [2, 4],
      ],
      listed: ['knowledge_base mindsdb.docs', 'agent mindsdb.helper'],
      cited: ['tea'],
      added: { knowledge_base: 'mindsdb.docs', documents: 1, state: 'stored' },
      resources: ['eider://schemas/mindsdb/docs'],
      read: TEA,
      prompts: ['answer_with_citations', 'explore_data'],
      cancelled: 'cancelled: McpError',
    })
    expect(seen.session).toMatch(/^[0-9a-f-]{36}$/)
    expect(seen.answer).toContain('80 degrees')
    expect(seen.note).toContain('there are more')
    expect(seen.failed).toContain('sql_not_supported')
    expect(seen.progress).toContainEqual(expect.stringContaining('kb_query_tool'))
  })

  clientTest('over the standard input and output of `eider mcp`', async () => {
    const seen = await clientResult('mcp-stdio.mjs', { ...environment, EIDER_COMMAND })
    expect(seen).toMatchObject({ tools: TOOLS, found: 'Tea', progress: 3 })
  })

  clientTest('the inspector lists over HTTP and calls over `eider mcp`', async () => {
    const open = await createTestApp()
    const opened = open.app.listen({ hostname: '127.0.0.1', port: 0 })
    try {
      const EIDER_OPEN_URL = opened.url.href.replace(/\/$/, '')
      const sent = { ...environment, EIDER_COMMAND, EIDER_OPEN_URL }
      expect(await clientResult('mcp-inspector.mjs', sent)).toEqual({ tools: TOOLS, found: 'Tea' })
    } finally {
      await opened.stop(0)
      await open.close()
    }
  })

  clientTest('in Python connects, lists and calls', async () => {
    const seen = await clientResult('mcp_python.py', environment)
    expect(seen).toMatchObject({ server: 'eider', tools: TOOLS, found: 'Tea', text: TEA })
    expect(seen).toMatchObject({ answer: expect.stringContaining('80 degrees'), progress: 3 })
  })
})
