// The official TypeScript client of MCP over the standard input and output of `eider mcp`: EIDER_COMMAND, a JSON list.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const { EIDER_COMMAND = '[]', EIDER_URL = '', EIDER_API_KEY = '', PATH = '' } = process.env
const [command, ...args] = JSON.parse(EIDER_COMMAND)
const env = { PATH, EIDER_URL, EIDER_API_KEY }
const transport = new StdioClientTransport({ command, args, env, stderr: 'inherit' })
const client = new Client({ name: 'a program', version: '1' })
await client.connect(transport)
const { tools } = await client.listTools()
const found = await client.callTool({ name: 'search', arguments: { query: 'hot green tea' } })
const progress = []
const asked = await client.callTool(
  { name: 'ask_agent', arguments: { agent: 'helper', question: 'How hot is green tea steeped?' } },
  undefined,
  { onprogress: ({ message }) => progress.push(message) },
)
await client.close()
process.stdout.write(
  JSON.stringify({
    tools: tools.map(({ name }) => name),
    found: found.structuredContent.results[0].title,
    answer: asked.structuredContent.answer,
    progress: progress.length,
  }),
)
