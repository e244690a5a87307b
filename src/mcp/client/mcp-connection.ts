import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { McpServer } from '../../domain/agents/mcp-server.ts'
import type { Guard } from '../../network/pinned-fetch.ts'
import { settlesWithin } from '../../runtime/cancellation.ts'
import { boundedFetch } from './bounded-fetch.ts'

/** How long a server is told that a session is over. */
const GOODBYE_MS = 1_000

/** As long as a timer can: calls are ended by their signal. */
const UNTIL_ABORTED_MS = 2 ** 31 - 1

type Members = Readonly<Record<string, unknown>>

/** A connection to one server, with a session of its own where the server has such. */
export class McpConnection {
  readonly #client: Client
  readonly #transport: StreamableHTTPClientTransport

  private constructor(client: Client, transport: StreamableHTTPClientTransport) {
    this.#client = client
    this.#transport = transport
  }

  static async open(server: McpServer, guard: Guard, signal: AbortSignal): Promise<McpConnection> {
    // No capability: requests of the server (sampling, elicitation, roots) are answered with "Method not found".
    const client = new Client({ name: 'eider', version: '1' }, { capabilities: {} })
    const transport = new StreamableHTTPClientTransport(new URL(server.url), {
      fetch: boundedFetch(guard),
      requestInit: { headers: { ...server.headers } },
      reconnectionOptions: {
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 1_000,
        reconnectionDelayGrowFactor: 1,
        maxRetries: 0,
      },
    })
    const connection = new McpConnection(client, transport)
    try {
      await client.connect(transport, { signal, timeout: UNTIL_ABORTED_MS })
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** The result is looked at by nobody: servers lie, and a schema of theirs is not run. */
  request(
    method: 'tools/list' | 'tools/call',
    params: Members,
    signal: AbortSignal,
  ): Promise<Members> {
    return this.#client.request({ method, params }, ResultSchema, {
      signal,
      timeout: UNTIL_ABORTED_MS,
    })
  }

  /** Ends what still runs. Never fails. */
  async close(): Promise<void> {
    await settlesWithin(this.#transport.terminateSession(), GOODBYE_MS)
    await this.#client.close().catch(() => undefined)
  }
}
