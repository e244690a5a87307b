/** Answers requests of MCP clients, in their session if they have one. */

import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv-provider.js'
import type { Principal } from '../../core/domain/access/principal.ts'
import type { McpCaller, McpDoor } from '../../core/domain/ports/foreign-tool-ports.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { MINUTE_MS } from '../../core/time.ts'
import { ToolCalls } from './call-tool.ts'
import { authInfoOf, type ProtocolParts, protocolServer } from './protocol-server.ts'
import { refusal } from './refusal.ts'
import type { McpUses, Tool } from './tool.ts'

/** The most requests in one body. Before version 2025-06-18, a body could be a list. */
const BATCH_MAX = 50

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const REFUSED = -32000
const NO_SESSION = -32001

export class McpRequests implements McpDoor {
  readonly #parts: ProtocolParts
  readonly #sessions: McpSessions

  constructor(uses: McpUses, nowMs: () => number) {
    const validator = new AjvJsonSchemaValidator()
    this.#parts = { uses, validator, tools: new ToolCalls(argumentCheck(validator)) }
    this.#sessions = new McpSessions(nowMs)
  }

  async handle(request: Request, body: unknown, caller: McpCaller): Promise<Response> {
    const sessionId = request.headers.get('mcp-session-id')
    if (request.method !== 'POST') return this.#ofSession(request, sessionId, caller)
    const messages = messagesOf(body)
    if (messages !== null) messages.forEach(withoutTask)
    if (messages === null) return refusal(400, PARSE_ERROR, 'The body is not a JSON-RPC message')
    if (messages.length > BATCH_MAX) {
      return refusal(400, INVALID_REQUEST, `A body may contain at most ${BATCH_MAX} messages`)
    }
    const ids = idsOf(messages)
    if (new Set(ids).size < ids.length) {
      return refusal(400, INVALID_REQUEST, 'Two requests of one body have the same id')
    }
    if (messages.some(({ method }) => method === 'initialize')) {
      return this.#initialize(request, body, caller)
    }
    if (sessionId === null) return this.#alone(request, body, caller)
    const session = this.#sessions.find(sessionId, caller.principal)
    if (session === undefined) return noSession()
    if (ids.some((id) => session.running.has(id))) {
      return refusal(400, INVALID_REQUEST, 'A request with this id is already being answered')
    }
    for (const id of ids) session.running.add(id)
    const ended = () => {
      for (const id of ids) session.running.delete(id)
      this.#sessions.used(session)
    }
    cancelledOnes(messages, session)
    const options = { parsedBody: body, authInfo: authInfoOf(caller) }
    try {
      return untilEnd(await session.transport.handleRequest(request, options), caller, ended)
    } catch (error) {
      ended()
      throw error
    }
  }

  /** GET opens the session's stream; DELETE ends the session. */
  async #ofSession(
    request: Request,
    sessionId: string | null,
    caller: McpCaller,
  ): Promise<Response> {
    if (sessionId === null) {
      const message = 'The header Mcp-Session-Id is missing: a POST with "initialize" returns one'
      return refusal(400, REFUSED, message)
    }
    const session = this.#sessions.find(sessionId, caller.principal)
    if (session === undefined) return noSession()
    if (request.method === 'GET' && request.headers.has('last-event-id')) {
      const message = 'Events are not stored: open the stream without Last-Event-ID'
      return refusal(400, REFUSED, message)
    }
    const options = { authInfo: authInfoOf(caller) }
    const response = await session.transport.handleRequest(request, options)
    const isWaiting = request.method === 'GET'
    return untilEnd(response, caller, () => this.#sessions.used(session), { isWaiting })
  }

  async #initialize(request: Request, body: unknown, caller: McpCaller): Promise<Response> {
    const server = protocolServer(this.#parts)
    const id = crypto.randomUUID()
    let session: Session | undefined
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => {
        const owner = ownerOf(caller.principal)
        const { address } = caller
        const own = { id, owner, address, server, transport, running: new Set<string | number>() }
        session = this.#sessions.add(own)
      },
      onsessionclosed: () => {
        if (session !== undefined) this.#sessions.remove(session)
      },
    })
    await server.connect(transport)
    // The client requests a new session, so the id of its earlier one is ignored.
    const headers = new Headers(request.headers)
    headers.delete('mcp-session-id')
    const options = { parsedBody: body, authInfo: authInfoOf(caller) }
    const asked = new Request(request.url, { method: 'POST', headers })
    const response = await transport.handleRequest(asked, options)
    if (session === undefined) await server.close()
    return untilEnd(response, caller, () => {})
  }

  /** Answers without a session: everything is created for this request and dropped afterwards. */
  async #alone(request: Request, body: unknown, caller: McpCaller): Promise<Response> {
    const server = protocolServer(this.#parts)
    const transport = new WebStandardStreamableHTTPServerTransport({})
    await server.connect(transport)
    const options = { parsedBody: body, authInfo: authInfoOf(caller) }
    const close = () => void server.close()
    try {
      return untilEnd(await transport.handleRequest(request, options), caller, close)
    } catch (error) {
      close()
      throw error
    }
  }

  endIdleStreams(): void {
    this.#sessions.endIdleStreams()
  }

  close(): Promise<void> {
    return this.#sessions.close()
  }
}

/** A server without tasks treats such requests as ordinary; the SDK would fail. */
function withoutTask({ params }: JsonObject): void {
  if (isObject(params) && 'task' in params) Reflect.deleteProperty(params, 'task')
}

/** These get no answer; their streams end, so that the client does not wait. */
function cancelledOnes(messages: readonly JsonObject[], { transport }: Session): void {
  for (const { method, params } of messages) {
    if (method !== 'notifications/cancelled' || !isObject(params)) continue
    const { requestId } = params
    if (typeof requestId !== 'string' && typeof requestId !== 'number') continue
    // In a later turn, after the SDK has aborted the request.
    setTimeout(() => transport.closeSSEStream(requestId), 0)
  }
}

/** A comment in a stream of server-sent events. */
const OPENING = new TextEncoder().encode(': open\n\n')

/** The same response; `ended` is called once, when the body ends or the reader cancels it. */
function untilEnd(
  response: Response,
  { signal }: McpCaller,
  ended: () => void,
  { isWaiting = false }: { readonly isWaiting?: boolean } = {},
): Response {
  if (response.body === null || !isStream(response)) {
    ended()
    return response
  }
  const reader = response.body.getReader()
  const stop = () => void reader.cancel().catch(() => {})
  let hasEnded = false
  const end = () => {
    if (hasEnded) return
    hasEnded = true
    signal.removeEventListener('abort', stop)
    ended()
  }
  signal.addEventListener('abort', stop, { once: true })
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Headers are sent with the first byte, so a client that waits for events gets one right
      // away.
      if (isWaiting) controller.enqueue(OPENING)
    },
    async pull(controller) {
      const next = await reader.read()
      if (next.done) {
        end()
        controller.close()
      } else controller.enqueue(next.value)
    },
    async cancel() {
      end()
      await reader.cancel()
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}

/** Returns null if the body is not an MCP message. */
function messagesOf(body: unknown): readonly JsonObject[] | null {
  const messages = Array.isArray(body) ? body : [body]
  return messages.length > 0 && messages.every(isObject) ? messages : null
}

function idsOf(messages: readonly JsonObject[]): readonly (string | number)[] {
  return messages.flatMap(({ id, method }) => {
    const isRequest = typeof method === 'string'
    return isRequest && (typeof id === 'string' || typeof id === 'number') ? [id] : []
  })
}

function noSession(): Response {
  return refusal(404, NO_SESSION, 'Session not found: it has ended; initialize a new one')
}

/** Compiles each tool's schema once, with its first call. */
function argumentCheck(validator: AjvJsonSchemaValidator) {
  const compiled = new Map<string, ReturnType<typeof validator.getValidator>>()
  return ({ name, inputSchema }: Tool, sent: JsonObject): string | undefined => {
    let check = compiled.get(name)
    if (check === undefined) {
      check = validator.getValidator(inputSchema)
      compiled.set(name, check)
    }
    const { valid, errorMessage } = check(sent)
    // Rewrites messages such as "data/limit must be integer", because "data" means nothing to the
    // caller.
    return valid ? undefined : errorMessage.replaceAll(/\bdata\/?/g, 'argument ')
  }
}

/** Session limits: for all clients, and for one client (a key or user at one address). */
const SESSIONS_MAX = 1_000
const CLIENT_SESSIONS_MAX = 500
/** A session counts as used from its second request on; the first one opens it. */
const REQUESTS_OF_USE = 2
const IDLE_MS = 30 * MINUTE_MS
const SESSION_SWEEP_MS = MINUTE_MS

export interface Session {
  readonly id: string
  /** The client that opened the session; no other may use it. */
  readonly owner: string
  readonly address: string
  readonly server: Server
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** The ids of running requests. */
  readonly running: Set<string | number>
  usedMs: number
  requestCount: number
}

function ownerOf({ kind, id }: Principal): string {
  return `${kind}:${id}`
}

function clientOf({ owner, address }: Pick<Session, 'owner' | 'address'>): string {
  return `${owner} ${address}`
}

/**
 * The sessions of all clients, limited in number. Each lasts until its client ends it or is silent
 * for a long time. If there are too many, a session of the client with the most sessions ends, so
 * that a flood ends only its own: first sessions that were opened but never used, then the one that
 * has been silent longest. That client gets 404 and opens a new session, as the protocol
 * prescribes.
 */
class McpSessions {
  readonly #nowMs: () => number
  /** In order of last use, most recent last. */
  readonly #sessions = new Map<string, Session>()
  #sweeping: ReturnType<typeof setInterval> | undefined

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Returns undefined if the session does not exist or belongs to another principal. */
  find(id: string, principal: Principal): Session | undefined {
    const session = this.#sessions.get(id)
    if (session === undefined || session.owner !== ownerOf(principal)) return undefined
    this.used(session)
    session.requestCount += 1
    return session
  }

  used(session: Session): void {
    session.usedMs = this.#nowMs()
    if (this.#sessions.delete(session.id)) this.#sessions.set(session.id, session)
  }

  add(session: Omit<Session, 'usedMs' | 'requestCount'>): Session {
    const added = { ...session, usedMs: this.#nowMs(), requestCount: 0 }
    this.#sweep()
    const byClient = Map.groupBy(this.#sessions.values(), clientOf)
    const own = byClient.get(clientOf(added)) ?? []
    if (own.length >= CLIENT_SESSIONS_MAX) this.#endOldest(own)
    else if (this.#sessions.size >= SESSIONS_MAX) {
      const [most = []] = [...byClient.values()].toSorted((a, b) => b.length - a.length)
      this.#endOldest(most)
    }
    this.#sessions.set(session.id, added)
    this.#sweeping ??= this.#startSweeping()
    return added
  }

  remove(session: Session): void {
    this.#sessions.delete(session.id)
    if (this.#sessions.size === 0) this.#stopSweeping()
  }

  /** Ends streams without a running request. */
  endIdleStreams(): void {
    for (const { transport } of this.#sessions.values()) transport.closeStandaloneSSEStream()
  }

  async close(): Promise<void> {
    const all = [...this.#sessions.values()]
    this.#sessions.clear()
    this.#stopSweeping()
    await Promise.allSettled(all.map(({ server }) => server.close()))
  }

  /** Prefers a session without a running request. */
  #endOldest(sessions: readonly Session[]): void {
    const idle = sessions.filter(({ running }) => running.size === 0)
    const unused = idle.find(({ requestCount }) => requestCount < REQUESTS_OF_USE)
    const oldest = unused ?? idle[0] ?? sessions[0]
    if (oldest !== undefined) this.#end(oldest)
  }

  #end(session: Session): void {
    this.remove(session)
    session.server.close().catch(() => {})
  }

  #sweep(): void {
    const before = this.#nowMs() - IDLE_MS
    for (const session of [...this.#sessions.values()]) {
      if (session.usedMs > before) break
      if (session.running.size === 0) this.#end(session)
    }
  }

  #startSweeping(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#sweep(), SESSION_SWEEP_MS)
    timer.unref()
    return timer
  }

  #stopSweeping(): void {
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }
}
