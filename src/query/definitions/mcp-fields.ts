/** Reads and shows `data.mcp` of an agent: MCP servers whose tools it may call. */

import { MCP_MASK as MASK, type McpServer, shownUrl } from '../../core/domain/agents/agent.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { AppError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { FieldReader, type Fields, INVALID_AGENT, invalidAgent } from './fields.ts'

const SERVERS_MAX = 8
const TOOLS_MAX = 100
const TOOL_CHARS_MAX = 128
const HEADERS_MAX = 20
const HEADER_CHARS_MAX = 8_192
const URL_CHARS_MAX = 2_000

/** @param stored masked secrets are taken from these only if the address is the same */
export function mcpServersOf(
  sent: readonly unknown[],
  stored: readonly McpServer[],
): readonly McpServer[] {
  if (sent.length > SERVERS_MAX) {
    throw invalidAgent(`"mcp" in "data" has at most ${SERVERS_MAX} servers`)
  }
  const servers = sent.map((fields) => {
    if (isObject(fields)) return mcpServerOf(fields, stored)
    throw invalidAgent('"mcp" in "data" is a list of objects: {"name", "url", "headers", "tools"}')
  })
  const names = servers.map(({ name }) => nameKey(name))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return servers
  throw invalidAgent(`Two servers in "mcp" have the name ${twice}`)
}

function mcpServerOf(fields: Fields, stored: readonly McpServer[]): McpServer {
  const read = new FieldReader(fields, INVALID_AGENT)
  read.allowOnly(new Set(['name', 'url', 'headers', 'tools']), (name) => {
    return `Unknown field "${name.slice(0, 60)}" in "mcp"; expected "name", "url", "headers" and "tools"`
  })
  const name = read.text('name') ?? ''
  if (!/^[a-z][a-z0-9_-]{0,23}$/i.test(name) || name.includes('__')) {
    const form = 'a letter, then letters, digits, - and single _, 24 characters at most'
    throw invalidAgent(`"name" of a server in "mcp" must be ${form}`)
  }
  const known = stored.find((one) => nameKey(one.name) === nameKey(name))
  const url = urlOf(read.text('url') ?? '', name, known)
  const isSameOrigin = known !== undefined && new URL(known.url).origin === new URL(url).origin
  const headers = headersOf(read.object('headers') ?? {}, name, isSameOrigin ? known : undefined)
  const tools = read.textList('tools') ?? []
  const isWellMade = tools.every((tool) => tool.trim() !== '' && tool.length <= TOOL_CHARS_MAX)
  if (isWellMade && tools.length <= TOOLS_MAX) return { name, url, headers, tools }
  const form = `at most ${TOOLS_MAX} names of tools, where * and ? are wildcards`
  throw invalidAgent(`"tools" of the MCP server ${name} must be ${form}`)
}

/** @param known the stored server whose secrets may be kept */
function urlOf(sent: string, name: string, known: McpServer | undefined): string {
  if (known !== undefined && sent.trim() === shownUrl(known)) return known.url
  const url = sent.length > URL_CHARS_MAX ? null : URL.parse(sent.trim())
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const form = `an http or https address of at most ${URL_CHARS_MAX} characters`
    throw invalidAgent(`"url" of the MCP server ${name} must be ${form}`)
  }
  if (url.username !== '' || url.password !== '') {
    const how = 'send them as a header, {"headers": {"Authorization": "Basic …"}}'
    throw invalidAgent(
      `"url" of the MCP server ${name} must not hold a user name or a password: ${how}`,
    )
  }
  if (url.href.includes(MASK)) throw hidden('url', name)
  url.hash = ''
  return url.href
}

/** Headers that belong to the protocol, or that would redirect a request. */
const RESERVED =
  /^(host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept|mcp-.*|last-event-id|proxy-.*)$/i

function headersOf(sent: Fields, name: string, known: McpServer | undefined): McpServer['headers'] {
  const entries = Object.entries(sent).filter(([, value]) => value !== null)
  const isWellMade = entries.every(([header, value]) => {
    const isName = /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(header) && !RESERVED.test(header)
    return isName && typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
  })
  const chars = entries.reduce(
    (sum, [header, value]) => sum + header.length + String(value).length,
    0,
  )
  if (!isWellMade || entries.length > HEADERS_MAX || chars > HEADER_CHARS_MAX) {
    const form = 'names and texts of one line, and none that belongs to the protocol'
    throw invalidAgent(`"headers" of the MCP server ${name} must be ${form}`)
  }
  return Object.fromEntries(
    entries.map(([header, value]) => {
      if (value !== MASK) return [header, String(value)]
      const kept = Object.entries(known?.headers ?? {}).find(
        ([own]) => nameKey(own) === nameKey(header),
      )
      if (kept === undefined) throw hidden(`headers.${header}`, name)
      return [header, kept[1]]
    }),
  )
}

function hidden(field: string, name: string): AppError {
  const why = 'its server or address differs from the one it was given for'
  return invalidAgent(
    `"${field}" of the MCP server ${name} is ${MASK} and must be sent again: ${why}`,
  )
}

export function shownMcpServer(server: McpServer): Fields {
  const headers = Object.keys(server.headers).map((header) => [header, MASK] as const)
  return {
    name: server.name,
    url: shownUrl(server),
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    tools: server.tools,
  }
}
