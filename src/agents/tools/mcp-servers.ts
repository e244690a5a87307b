import { isDeepStrictEqual } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { type McpServer, secretsOfMcpServer } from '../../core/domain/agents/agent.ts'
import type {
  ForeignCall,
  ForeignFailure,
  ForeignListing,
  ForeignResult,
  ForeignTool,
  ForeignTools,
} from '../../core/domain/ports/foreign-tool-ports.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import { isObject, type JsonObject, parsedJson } from '../../core/json.ts'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { settlesWithin, withDeadline } from '../../core/runtime/cancellation.ts'
import { Semaphore } from '../../core/runtime/semaphore.ts'
import { MINUTE_MS } from '../../core/time.ts'
import { boundedFetch, CUT_OFF } from './bounded-fetch.ts'

const LISTING_MS = 5_000
/** How long a list of tools, or a failure to answer in time, is cached. */
const LISTED_MS = 5 * MINUTE_MS
const LATE_MS = 10_000
const LISTINGS_MAX = 100
/** The page limit for a server's list of tools. */
const PAGES_MAX = 10
const TOOLS_MAX = 200
const LISTED_NAME_CHARS_MAX = 128
const DESCRIPTION_CHARS_MAX = 4_000
const SCHEMA_CHARS_MAX = 16_384
/** The length limit for a result. Agents show part of it. */
const RESULT_CHARS_MAX = 500_000
/** How many requests may be running at all servers together. */
const CALLS_MAX = 64
const SERVER_CALLS_MAX = 16
const CALLS_WAITING_MAX = 256

interface Listing {
  readonly untilMs: number
  readonly found: ForeignListing | ForeignFailure
}

export class McpServers implements ForeignTools {
  readonly #guard: Guard
  readonly #nowMs: () => number
  readonly #listings = new Map<string, Listing>()
  /** By session, then by server. */
  readonly #connections = new Map<string, Map<string, Promise<McpConnection>>>()
  readonly #places = new Semaphore({
    placesMax: CALLS_MAX,
    placesPerKeyMax: SERVER_CALLS_MAX,
    waitingMax: CALLS_WAITING_MAX,
    tooBusy: () => new AppError('too_busy', 'has too many calls waiting: try again'),
  })

  constructor(guard: Guard, nowMs: () => number) {
    this.#guard = guard
    this.#nowMs = nowMs
  }

  async list(server: McpServer, signal: AbortSignal): Promise<ForeignListing | ForeignFailure> {
    const key = serverKey(server)
    const known = this.#listings.get(key)
    if (known !== undefined && this.#nowMs() < known.untilMs) return known.found
    const hide = hideSecretsOf(server)
    try {
      const tools = await this.#inTime(signal, (ended) => this.#listed(server, ended))
      return this.#keep(
        key,
        { kind: 'listed', tools: tools.map((tool) => hidden(tool, hide)) },
        LISTED_MS,
      )
    } catch (error) {
      signal.throwIfAborted()
      const failure = mcpFailure(error, server, hide)
      return this.#keep(key, failure, hasCode(error, 'timeout') ? LATE_MS : 0)
    }
  }

  /** Caches the outcome, so that the next question does not wait for a slow server again. */
  #keep<T extends ForeignListing | ForeignFailure>(key: string, found: T, ms: number): T {
    this.#listings.delete(key)
    if (ms > 0) this.#listings.set(key, { untilMs: this.#nowMs() + ms, found })
    const [oldest] = this.#listings.keys()
    if (this.#listings.size > LISTINGS_MAX && oldest !== undefined) this.#listings.delete(oldest)
    return found
  }

  async #listed(server: McpServer, signal: AbortSignal): Promise<readonly ForeignTool[]> {
    const leave = await this.#places.enter(signal, originOf(server))
    try {
      const connection = await McpConnection.open(server, this.#guard, signal)
      try {
        return await toolsOf(connection, signal)
      } finally {
        // Does not wait for the session to end.
        void connection.close()
      }
    } finally {
      leave()
    }
  }

  async call(
    { session, server, tool, input }: ForeignCall,
    signal: AbortSignal,
  ): Promise<ForeignResult | ForeignFailure> {
    const hide = hideSecretsOf(server)
    try {
      const leave = await this.#places.enter(signal, originOf(server))
      try {
        const connection = await this.#connectionOf(session, server, signal)
        const result = await connection.request(
          'tools/call',
          { name: tool, arguments: input },
          signal,
        )
        const text = hide(resultText(result).slice(0, RESULT_CHARS_MAX))
        return { kind: 'result', text, isError: result.isError === true }
      } finally {
        leave()
      }
    } catch (error) {
      signal.throwIfAborted()
      // The server may have other tools by now, or may have forgotten the session.
      this.#listings.delete(serverKey(server))
      this.#forget(session, serverKey(server))
      return mcpFailure(error, server, hide)
    }
  }

  #connectionOf(session: string, server: McpServer, signal: AbortSignal): Promise<McpConnection> {
    const key = serverKey(server)
    const own = this.#connections.get(session) ?? new Map<string, Promise<McpConnection>>()
    this.#connections.set(session, own)
    const known = own.get(key)
    if (known !== undefined) return known
    const opened = this.#inTime(signal, (ended) => {
      return McpConnection.open(server, this.#guard, ended)
    })
    own.set(key, opened)
    return opened
  }

  #forget(session: string, key: string): void {
    const own = this.#connections.get(session)
    const connection = own?.get(key)
    own?.delete(key)
    connection?.then(closed, () => undefined)
  }

  end(session: string): void {
    const own = this.#connections.get(session)
    this.#connections.delete(session)
    for (const connection of own?.values() ?? []) connection.then(closed, () => undefined)
  }

  #inTime<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = `${LISTING_MS / 1000} s`
    const message = `did not answer within ${limit}: check whether it is running properly`
    const timeoutError = () => new AppError('timeout', message)
    return withDeadline({ timeoutMs: LISTING_MS, signal, timeoutError }, work)
  }
}

function closed(connection: McpConnection): Promise<void> {
  return connection.close()
}

async function toolsOf(
  connection: McpConnection,
  signal: AbortSignal,
): Promise<readonly ForeignTool[]> {
  const tools: ForeignTool[] = []
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const params = cursor === undefined ? {} : { cursor }
    const result = await connection.request('tools/list', params, signal)
    const listed = Array.isArray(result.tools) ? result.tools : []
    tools.push(...listed.slice(0, TOOLS_MAX - tools.length).flatMap(toolOf))
    const { nextCursor } = result
    if (typeof nextCursor !== 'string' || nextCursor === '' || tools.length >= TOOLS_MAX) break
    cursor = nextCursor
  }
  return tools
}

function toolOf(value: unknown): readonly ForeignTool[] {
  if (!isObject(value)) return []
  const { name, description, inputSchema } = value
  if (typeof name !== 'string' || name === '' || name.length > LISTED_NAME_CHARS_MAX) return []
  const text = typeof description === 'string' ? description.slice(0, DESCRIPTION_CHARS_MAX) : ''
  return [{ name, description: text, schema: boundedSchema(inputSchema) }]
}

function boundedSchema(schema: unknown): JsonObject | null {
  if (!isObject(schema)) return null
  return JSON.stringify(schema).length > SCHEMA_CHARS_MAX ? null : schema
}

/** Removes the server's own credentials from its texts, because the agent's users may not see them. */
function hideSecretsOf(server: McpServer): (text: string) => string {
  const secrets = secretsOfMcpServer(server).toSorted((one, other) => other.length - one.length)
  return (text) =>
    secrets.reduce((textOrEmpty, secret) => textOrEmpty.replaceAll(secret, '******'), text)
}

function hidden(tool: ForeignTool, hide: (text: string) => string): ForeignTool {
  // Only strings in it change.
  return JSON.parse(hide(JSON.stringify(tool))) as ForeignTool
}

function originOf({ url }: McpServer): string {
  return new URL(url).origin
}

/** Equal for the same server with the same credentials. */
function serverKey({ url, headers }: McpServer): string {
  return JSON.stringify([url, Object.entries(headers).toSorted()])
}

const PARTS_MAX = 200

/** Text parts, then structured content as JSON if no text repeats it; other parts are only named. */
function resultText(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content : []
  const parts = content.slice(0, PARTS_MAX).map(partText)
  if (content.length > PARTS_MAX) parts.push(`(${content.length - PARTS_MAX} more parts)`)
  const { structuredContent: structured } = result
  if (
    isObject(structured) &&
    !parts.some((part) => isDeepStrictEqual(parsedJson(part), structured))
  ) {
    parts.push(JSON.stringify(structured))
  }
  return parts.filter((part) => part !== '').join('\n')
}

function partText(part: unknown): string {
  if (!isObject(part)) return ''
  const { type, text, mimeType, data, resource, uri, name } = part
  if (type === 'text') return textOrEmpty(text)
  if (type === 'image' || type === 'audio') {
    return `[${type} of the type ${word(mimeType)}, ${base64Bytes(data)} bytes, not shown]`
  }
  if (type === 'resource_link') return `[resource ${word(name)}: ${word(uri)}]`
  if (type !== 'resource' || !isObject(resource))
    return `[a part of the type ${word(type)}, not shown]`
  if (typeof resource.text === 'string') return `[resource ${word(resource.uri)}]\n${resource.text}`
  const what = `${word(resource.uri)} of the type ${word(resource.mimeType)}`
  return `[resource ${what}, ${base64Bytes(resource.blob)} bytes, not shown]`
}

function textOrEmpty(text: unknown): string {
  return typeof text === 'string' ? text : ''
}

function word(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, 300) : 'unknown'
}

function base64Bytes(data: unknown): number {
  return typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0
}

const GOODBYE_MS = 1_000

/** The longest possible timer, because calls are ended by a signal instead. */
const UNTIL_ABORTED_MS = 2 ** 31 - 1

class McpConnection {
  readonly #client: Client
  readonly #transport: StreamableHTTPClientTransport

  private constructor(client: Client, transport: StreamableHTTPClientTransport) {
    this.#client = client
    this.#transport = transport
  }

  static async open(server: McpServer, guard: Guard, signal: AbortSignal): Promise<McpConnection> {
    // Declares no capabilities, so that the server's requests (sampling, elicitation, roots) get
    // "Method not found".
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

  /** Results are not validated, because that would run schemas of untrusted servers. */
  request(
    method: 'tools/list' | 'tools/call',
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    return this.#client.request({ method, params }, ResultSchema, {
      signal,
      timeout: UNTIL_ABORTED_MS,
    })
  }

  async close(): Promise<void> {
    await settlesWithin(this.#transport.terminateSession(), GOODBYE_MS)
    await this.#client.close().catch(() => undefined)
  }
}

const FAILURE_CHARS_MAX = 300

/** What is wrong with a server, and what to do about it. */
function mcpFailure(
  error: unknown,
  server: McpServer,
  hide: (text: string) => string,
): ForeignFailure {
  const message = `The MCP server ${server.name} (${new URL(server.url).origin}) ${failureReason(error)}`
  return { kind: 'failed', message: hide(singleLine(message)) }
}

function failureReason(error: unknown): string {
  if (hasCode(error, 'address_refused')) {
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
    return `cannot be reached (${code}): check that it is running and "url" is right`
  const said = error instanceof Error ? error.message : ''
  const detail = said.startsWith('its ') ? said : 'its answer does not follow the protocol'
  return `does not follow the Model Context Protocol: ${detail}`
}

function statusReason({ code, message }: StreamableHTTPError): string {
  const target = /Redirect to (\S{1,500}) not followed|try (\S{1,500}) instead/.exec(message)
  if (target !== null) {
    return `redirects to ${target[1] ?? target[2]}, which is not followed. If that is the right address, use it as "url"`
  }
  switch (code) {
    case 401:
    case 403:
      return `refuses the login (${code}): put its key into "headers" of the server, such as {"Authorization": "Bearer …"}`
    case 404:
      return 'has nothing at this address (404): check "url", which often ends with /mcp'
    case 405:
    case -1:
      return 'does not support streamable HTTP at this address: check "url", which often ends with /mcp'
    case 429:
      return 'accepts no more requests right now (429): wait'
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
