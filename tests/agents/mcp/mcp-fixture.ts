/**
 * An MCP server made with the official SDK, and one that sends whichever bytes a test wants, both
 * over streamable HTTP.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'

export interface ForeignServer {
  readonly url: string
  /** The requests with their headers and JSON-RPC methods. */
  readonly requests: readonly SeenRequest[]
  close(): void
}

export interface SeenRequest {
  readonly http: string
  readonly method: string | null
  readonly headers: Headers
  readonly url: string
}

export interface OfficialOptions {
  readonly tools: (server: McpServer) => void
  readonly hasSessions?: boolean
  readonly isJson?: boolean
}

/** Returns the answers of the SDK's server. */
export function officialServer({ tools, hasSessions, isJson }: OfficialOptions): ForeignServer {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const opened = async () => {
    const server = new McpServer({ name: 'test', version: '1' })
    tools(server)
    const transport = new WebStandardStreamableHTTPServerTransport({
      ...(isJson === undefined ? {} : { enableJsonResponse: isJson }),
      ...(hasSessions
        ? {
            sessionIdGenerator: () => crypto.randomUUID(),
            onsessioninitialized: (id: string) => void sessions.set(id, transport),
            onsessionclosed: (id: string) => void sessions.delete(id),
          }
        : {}),
    })
    await server.connect(transport)
    return transport
  }
  return servedBy(async (request) => {
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '')
    return (known ?? (await opened())).handleRequest(request)
  })
}

export type Answering = (request: Request, message: Message) => Response | Promise<Response>

export interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** A server that starts correctly and then responds as the test says. */
export function handMadeServer(answering: Answering, listed: readonly object[]): ForeignServer {
  return servedBy(async (request) => {
    const message = (await request
      .clone()
      .json()
      .catch(() => ({}))) as Message
    if (message.method === 'initialize') {
      const serverInfo = { name: 'hand', version: '1' }
      const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }
      return Response.json({ jsonrpc: '2.0', id: message.id, result })
    }
    if (message.method === undefined || message.id === undefined) {
      return new Response(null, { status: 202 })
    }
    if (message.method === 'tools/list') {
      return Response.json({ jsonrpc: '2.0', id: message.id, result: { tools: listed } })
    }
    return answering(request, message)
  })
}

export function servedBy(
  answer: (request: Request) => Promise<Response> | Response,
): ForeignServer {
  const requests: SeenRequest[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const message = (await request
        .clone()
        .json()
        .catch(() => ({}))) as Message
      const { headers, url } = request
      requests.push({ http: request.method, method: message.method ?? null, headers, url })
      return answer(request)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    requests,
    close: () => void server.stop(true),
  }
}

export function textResult(message: Message, text: string): Response {
  const result = { content: [{ type: 'text', text }] }
  return Response.json({ jsonrpc: '2.0', id: message.id, result })
}

/** The minimal description of a tool. */
export const ECHO = { name: 'echo', description: 'Says it', inputSchema: { type: 'object' } }
