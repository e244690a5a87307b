// The command line of the MCP inspector: over HTTP to a server without a login (EIDER_OPEN_URL: it sends no headers), and over
// `eider mcp` (EIDER_COMMAND, a JSON list).
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const { EIDER_COMMAND, EIDER_OPEN_URL, EIDER_URL, EIDER_API_KEY } = process.env
const inspector = fileURLToPath(import.meta.resolve('../node_modules/.bin/mcp-inspector'))

async function inspected(...args) {
  const { stdout } = await promisify(execFile)(inspector, ['--cli', ...args])
  return JSON.parse(stdout)
}

const environment = ['-e', `EIDER_URL=${EIDER_URL}`, '-e', `EIDER_API_KEY=${EIDER_API_KEY}`]
const search = ['--method', 'tools/call', '--tool-name', 'search', '--tool-arg', 'query=green tea']
const http = [`${EIDER_OPEN_URL}/mcp`, '--transport', 'http']
const [listed, called] = await Promise.all([
  inspected(...http, '--method', 'tools/list'),
  inspected(...environment, ...JSON.parse(EIDER_COMMAND ?? '[]'), ...search),
])
process.stdout.write(
  JSON.stringify({
    tools: listed.tools.map(({ name }) => name),
    found: called.structuredContent.results[0].title,
  }),
)
