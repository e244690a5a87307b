/**
 * Tools that others offer, as agents use them. `mcp/` implements it. Nothing here throws but the reason of an aborted signal:
 * what a server of somebody else does wrong is told, not thrown.
 */
import type { McpServer } from '../agents/mcp-server.ts'

/** As the server describes it: data of somebody else. */
export interface ForeignTool {
  readonly name: string
  readonly description: string
  /** null: there is none, or it is too large. */
  readonly schema: Readonly<Record<string, unknown>> | null
}

/** `message` says what is wrong and what to do, without secrets. */
export interface ForeignFailure {
  readonly kind: 'failed'
  readonly message: string
}

export interface ForeignListing {
  readonly kind: 'listed'
  readonly tools: readonly ForeignTool[]
}

/** `isError`: the tool itself says that it failed. */
export interface ForeignResult {
  readonly kind: 'result'
  readonly text: string
  readonly isError: boolean
}

export interface ForeignCall {
  /** What calls of one session leave on the server is seen by no other. */
  readonly session: string
  readonly server: McpServer
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
}

export interface ForeignTools {
  /** The tools of a server, as they were some minutes ago at most. */
  list(server: McpServer, signal: AbortSignal): Promise<ForeignListing | ForeignFailure>
  call(call: ForeignCall, signal: AbortSignal): Promise<ForeignResult | ForeignFailure>
  /** Leaves the servers of a session, and ends what still runs for it. */
  end(session: string): void
}
