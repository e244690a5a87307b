import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpError } from '@modelcontextprotocol/sdk/types.js'
import type { McpServer } from '../../core/domain/agents/agent.ts'
import type { ForeignFailure } from '../../core/domain/ports/foreign-tool-ports.ts'
import { AppError } from '../../core/errors.ts'
import { CUT_OFF } from './bounded-fetch.ts'

const FAILURE_CHARS_MAX = 300

/** What went wrong with a server, and what to do about it. */
export function mcpFailure(
  error: unknown,
  server: McpServer,
  hide: (text: string) => string,
): ForeignFailure {
  const message = `The MCP server ${server.name} (${new URL(server.url).origin}) ${failureReason(error)}`
  return { kind: 'failed', message: hide(singleLine(message)) }
}

function failureReason(error: unknown): string {
  if (error instanceof AppError && error.code === 'address_refused') {
    return `may not be connected to: ${error.message}`
  }
  if (error instanceof AppError) return error.message
  if (error instanceof StreamableHTTPError) return statusReason(error)
  if (error instanceof McpError) {
    const said = error.message.replace(/^MCP error -?\d+: /, '')
    if (error.code === CUT_OFF) return `gave no answer: ${said}`
    return `answers with an error (${error.code}): ${said.slice(0, FAILURE_CHARS_MAX)}`
  }
  const code = error instanceof Error ? codeOf(error) : undefined
  if (code !== undefined)
    return `cannot be reached (${code}): see whether it runs and "url" is right`
  const said = error instanceof Error ? error.message : ''
  const detail = said.startsWith('its ') ? said : 'its answer is not what the protocol says'
  return `does not speak the Model Context Protocol as expected: ${detail}`
}

function statusReason({ code, message }: StreamableHTTPError): string {
  const target = /Redirect to (\S{1,500}) not followed|try (\S{1,500}) instead/.exec(message)
  if (target !== null) {
    return `sends elsewhere, which is not followed: ${target[1] ?? target[2]}. If that is right, name it as "url"`
  }
  switch (code) {
    case 401:
    case 403:
      return `refuses the login (${code}): put its key into "headers" of the server, such as {"Authorization": "Bearer …"}`
    case 404:
      return 'has nothing at this address (404): check "url", which often ends with /mcp'
    case 405:
    case -1:
      return 'speaks no streamable HTTP at this address: check "url", which often ends with /mcp'
    case 429:
      return 'has no room for more requests now (429): wait'
    default:
      return `answers with HTTP ${code}`
  }
}

function codeOf(error: Error): string | undefined {
  const code = 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

function singleLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
}
