import type { Principal } from '../access/principal.ts'
import type { McpServer } from '../agents/agent.ts'

/**
 * Tools of MCP servers, as agents use them. `mcp/` implements it. Only the reason of an aborted signal is thrown: faults of
 * an external server are returned as results.
 */

/** As the server describes it: untrusted. */
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

/** `isError`: the tool itself reported a failure. */
export interface ForeignResult {
  readonly kind: 'result'
  readonly text: string
  readonly isError: boolean
}

export interface ForeignCall {
  /** State that calls leave on the server is visible to this session only. */
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

/** The door for clients of the Model Context Protocol, as the HTTP server sees it. */

/** Who makes one request of the protocol. */
export interface McpCaller {
  readonly principal: Principal
  /** The client's network address. */
  readonly address: string
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal
  /** Scheme, host and port that the client used for the server: links in answers start with it. */
  readonly origin: string
}

export interface McpDoor {
  /**
   * Answers one request; its body may be a stream of server-sent events. Never rejects for what a client sent.
   * @param body the parsed JSON of a POST
   */
  handle(request: Request, body: unknown, caller: McpCaller): Promise<Response>
  /** Ends the idle streams because the server is stopping. */
  endIdleStreams(): void
  close(): Promise<void>
}
