/** The door for clients of the Model Context Protocol, as the HTTP server sees it. */
import type { Principal } from '../access/principal.ts'

/** Who makes one request of the protocol. */
export interface McpCaller {
  readonly principal: Principal
  /** The client's network address. */
  readonly address: string
  /** Aborted when the client goes away or the server stops. */
  readonly signal: AbortSignal
  /** Scheme, host and port by which the client found the server: links in answers begin with it. */
  readonly origin: string
}

export interface McpDoor {
  /**
   * Answers one request; its body may be a stream of server-sent events. Never rejects for what a client sent.
   * @param body the parsed JSON of a POST
   */
  handle(request: Request, body: unknown, caller: McpCaller): Promise<Response>
  /** Ends the streams on which nothing is answered: the server stops. */
  endIdleStreams(): void
  close(): Promise<void>
}
