// Uses a server with the official TypeScript client of MCP: EIDER_URL, and EIDER_API_KEY if it has a login.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const { EIDER_URL, EIDER_API_KEY } = process.env
const headers = EIDER_API_KEY ? { authorization: `Bearer ${EIDER_API_KEY}` } : {}
const transport = new StreamableHTTPClientTransport(new URL(`${EIDER_URL}/mcp`), {
  requestInit: { headers },
})
const client = new Client({ name: 'a program', version: '1' })
await client.connect(transport)

const { tools } = await client.listTools()
const searched = await client.callTool({ name: 'search', arguments: { query: 'hot green tea' } })
const [first] = searched.structuredContent.results
const fetched = await client.callTool({ name: 'fetch', arguments: { id: first.id } })
const queried = await client.callTool({
  name: 'query',
  arguments: {
    sql: 'SELECT n, n * n AS squared FROM range(:count) AS t(n) ORDER BY n',
    params: { count: 500 },
    limit: 3,
  },
})
const listed = await client.callTool({ name: 'list_data', arguments: {} })
const progress = []
const asked = await client.callTool(
  { name: 'ask_agent', arguments: { agent: 'helper', question: 'How hot is green tea steeped?' } },
  undefined,
  { onprogress: ({ message }) => progress.push(message) },
)
const added = await client.callTool({
  name: 'add_documents',
  arguments: {
    knowledge_base: 'mindsdb.docs',
    documents: [
      { id: 'mate', content: 'Mate is drunk from a gourd.', metadata: { title: 'Mate' } },
    ],
  },
})
const failed = await client.callTool({ name: 'query', arguments: { sql: 'DROP TABLE x' } })
const { resources } = await client.listResources()
const read = await client.readResource({ uri: first.id })
const { prompts } = await client.listPrompts()
const prompt = await client.getPrompt({
  name: 'answer_with_citations',
  arguments: { question: 'Why?' },
})
const cancelled = await client
  .callTool(
    {
      name: 'query',
      arguments: { sql: 'SELECT count(*) FROM range(10000000000) a, range(100) b' },
    },
    undefined,
    { signal: AbortSignal.timeout(300) },
  )
  .catch((error) => `cancelled: ${error.name}`)
const session = transport.sessionId
await transport.terminateSession()
await client.close()

process.stdout.write(
  JSON.stringify({
    server: client.getServerVersion()?.name,
    session,
    tools: tools.map(({ name }) => name),
    found: first.title,
    text: fetched.structuredContent.text,
    rows: queried.structuredContent.rows,
    note: queried.structuredContent.note,
    listed: listed.structuredContent.items.map(({ kind, name }) => `${kind} ${name}`),
    answer: asked.structuredContent.answer,
    cited: asked.structuredContent.citations.map(({ document_id }) => document_id),
    progress,
    added: added.structuredContent,
    failed: failed.isError === true && failed.content[0].text,
    resources: resources.map(({ uri }) => uri),
    read: read.contents[0].text,
    prompts: prompts.map(({ name }) => name),
    prompt: prompt.messages.length,
    cancelled,
  }),
)
