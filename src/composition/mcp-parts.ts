import type { ForeignTools } from '../domain/ports/foreign-tool-ports.ts'
import type { McpServers } from '../mcp/client/mcp-servers.ts'
import type { Guard } from '../network/pinned-fetch.ts'

/** Tools of MCP servers. What speaks with them is loaded when an agent names one. */
export function foreignToolsOf(guard: Guard, nowMs: () => number): ForeignTools {
  let servers: Promise<McpServers> | undefined
  const loaded = () => {
    servers ??= import('../mcp/client/mcp-servers.ts').then(
      (module) => new module.McpServers(guard, nowMs),
    )
    return servers
  }
  return {
    list: async (server, signal) => (await loaded()).list(server, signal),
    call: async (call, signal) => (await loaded()).call(call, signal),
    end: (session) => void servers?.then((known) => known.end(session)),
  }
}
