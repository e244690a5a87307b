import type { Principal } from '../access/principal.ts'
import type { McpServer } from '../agents/agent.ts'

/**
 * Tools of MCP servers, for agents. Implemented in `mcp/`. Throws only the reason of an aborted
 * signal; failures of an external server are returned as results.
 */

/** As described by the server, so untrusted. */
export interface ForeignTool {
  readonly name: string
  readonly description: string
  /** null if missing or too large. */
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

/** `isError` is set if the tool itself reported a failure. */
export interface ForeignResult {
  readonly kind: 'result'
  readonly text: string
  readonly isError: boolean
}

export interface ForeignCall {
  /**
   * Identifies the caller: state that its calls leave on the server is visible only to this
   * session.
   */
  readonly session: string
  readonly server: McpServer
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
}

export interface ForeignTools {
  /** The server's tools, cached for at most a few minutes. */
  list(server: McpServer, signal: AbortSignal): Promise<ForeignListing | ForeignFailure>
  call(call: ForeignCall, signal: AbortSignal): Promise<ForeignResult | ForeignFailure>
  /** Closes a session's connections and stops its running calls. */
  end(session: string): void
}

/** The caller of one MCP request. */
export interface McpCaller {
  readonly principal: Principal
  /** The client's network address. */
  readonly address: string
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal
  /** Scheme, host and port that the client used to reach the server, for links in answers. */
  readonly origin: string
}

export interface McpDoor {
  /**
   * Answers one request; the response body may be a stream of server-sent events. Never rejects
   * because of invalid input.
   * @param body the parsed JSON of a POST
   */
  handle(request: Request, body: unknown, caller: McpCaller): Promise<Response>
}
