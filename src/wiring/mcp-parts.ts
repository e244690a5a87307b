import type { McpServers } from '../agents/mcp/mcp-servers.ts'
import type { ServerDeps } from '../api/http/request/route-context.ts'
import type { McpUses } from '../api/mcp/mcp-uses.ts'
import type { StoredDocuments } from '../core/domain/ports/document-ports.ts'
import type { ForeignTools } from '../core/domain/ports/foreign-tool-ports.ts'
import type { McpDoor } from '../core/domain/ports/mcp-ports.ts'
import type { RunningWork } from '../core/domain/ports/running-ports.ts'
import { setStatement } from '../core/runtime/cancellation.ts'
import type { Guard } from '../core/runtime/pinned-fetch.ts'
import { requestOf } from './access-parts.ts'

/** Tools of MCP servers. What speaks with them is loaded when an agent names one. */
export function foreignToolsOf(guard: Guard, nowMs: () => number): ForeignTools {
  let servers: Promise<McpServers> | undefined
  const loaded = () => {
    servers ??= import('../agents/mcp/mcp-servers.ts').then(
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

type Served = Pick<
  ServerDeps,
  'catalog' | 'search' | 'documents' | 'query' | 'agents' | 'insert' | 'logError'
>

/** Clients of the Model Context Protocol. What answers them is loaded with the first request of one. */
export function mcpDoorOf(
  served: Served,
  {
    documents,
    running,
    version,
  }: {
    readonly documents: Pick<StoredDocuments, 'count' | 'chunkCount'>
    readonly running: RunningWork
    readonly version: string
  },
): McpDoor {
  const uses: McpUses = {
    version,
    snapshot: () => served.catalog.catalog.snapshot(),
    search: served.search,
    readDocument: (kb, id, signal) => served.documents.read(kb, id, signal),
    listDocuments: (kb, order, signal) => served.documents.list(kb, order, signal),
    async sizeOf(kb) {
      const [count, chunks] = await Promise.all([documents.count(kb), documents.chunkCount(kb)])
      return { documents: count, chunks }
    },
    async query(order, principal, signal) {
      running.refuseSuspect(order.sql)
      const entry = running.begin('a tool of MCP')
      entry.statement(order.sql)
      setStatement(signal, order.sql)
      try {
        return await served.query(order, principal, signal)
      } finally {
        entry.end()
      }
    },
    ask: (question, signal) => served.agents.ask(question, signal),
    insert: async (kb, rows, signal) => {
      const crawl = { allowedDomains: [], patterns: [] }
      return (await served.insert({ kb, rows, crawl }, signal)).job
    },
    logError: (error, signal) => {
      served.logError({ requestId: requestOf(signal)?.id ?? 'mcp', error })
    },
  }
  let loaded: Promise<McpDoor> | undefined
  const door = () => {
    loaded ??= import('../api/mcp/mcp-requests.ts').then(
      (module) => new module.McpRequests(uses, () => performance.now()),
    )
    return loaded
  }
  return {
    handle: async (request, body, caller) => (await door()).handle(request, body, caller),
    endIdleStreams: () => void loaded?.then((known) => known.endIdleStreams()),
    close: async () => (await loaded)?.close(),
  }
}
