/** Answers the requests of MCP clients: those of a session in it, every other by itself. */

import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv-provider.js'
import type { McpCaller, McpDoor } from '../../core/domain/ports/foreign-tool-ports.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { ToolCalls } from './call-tool.ts'
import { McpSessions, ownerOf, type Session } from './mcp-sessions.ts'
import type { McpUses } from './mcp-uses.ts'
import { authInfoOf, type ProtocolParts, protocolServer } from './protocol-server.ts'
import type { Tool } from './tool.ts'

/** Requests of one body (before the version 2025-06-18 a body could be a list). */
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
    if (messages === null) return refusal(400, PARSE_ERROR, 'The body is no JSON-RPC message')
    if (messages.length > BATCH_MAX) {
      return refusal(400, INVALID_REQUEST, `A body holds at most ${BATCH_MAX} messages`)
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
      return refusal(400, INVALID_REQUEST, 'A request with this id is being answered already')
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

  /** GET opens the stream of a session, DELETE ends the session. */
  async #ofSession(
    request: Request,
    sessionId: string | null,
    caller: McpCaller,
  ): Promise<Response> {
    if (sessionId === null) {
      const message = 'The header Mcp-Session-Id is missing: initialize by POST gives one'
      return refusal(400, REFUSED, message)
    }
    const session = this.#sessions.find(sessionId, caller.principal)
    if (session === undefined) return noSession()
    if (request.method === 'GET' && request.headers.has('last-event-id')) {
      const message = 'Events are not kept: open the stream without Last-Event-ID'
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
    // A new session is asked for: one that the client had before is not looked at.
    const headers = new Headers(request.headers)
    headers.delete('mcp-session-id')
    const options = { parsedBody: body, authInfo: authInfoOf(caller) }
    const asked = new Request(request.url, { method: 'POST', headers })
    const response = await transport.handleRequest(asked, options)
    if (session === undefined) await server.close()
    return untilEnd(response, caller, () => {})
  }

  /** Without a session: what the request needs is made for it, and goes with it. */
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

/** Who cannot run requests as tasks answers them as if they were none (the protocol); the SDK would refuse them as an internal error. */
function withoutTask({ params }: JsonObject): void {
  if (isObject(params) && 'task' in params) Reflect.deleteProperty(params, 'task')
}

/** A request that the client cancels is never answered: its stream ends, so that nobody waits for it. */
function cancelledOnes(messages: readonly JsonObject[], { transport }: Session): void {
  for (const { method, params } of messages) {
    if (method !== 'notifications/cancelled' || !isObject(params)) continue
    const { requestId } = params
    if (typeof requestId !== 'string' && typeof requestId !== 'number') continue
    // After the SDK has aborted it.
    setTimeout(() => transport.closeSSEStream(requestId), 0)
  }
}

/** A comment of server-sent events. */
const OPENING = new TextEncoder().encode(': open\n\n')

/** The same answer; `ended` is called once, when its body has ended or nobody reads it any more. */
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
      // Headers go out with the first byte: whoever waits for events alone must not wait for them.
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

/** null: it is none of the protocol's. */
function messagesOf(body: unknown): readonly JsonObject[] | null {
  const messages = Array.isArray(body) ? body : [body]
  return messages.length > 0 && messages.every(isObject) ? messages : null
}

/** Of requests, which are to be answered. */
function idsOf(messages: readonly JsonObject[]): readonly (string | number)[] {
  return messages.flatMap(({ id, method }) => {
    const isRequest = typeof method === 'string'
    return isRequest && (typeof id === 'string' || typeof id === 'number') ? [id] : []
  })
}

function noSession(): Response {
  return refusal(404, NO_SESSION, 'Session not found: it has ended; initialize a new one')
}

function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}

/** Each tool's schema is compiled once, with its first call. */
function argumentCheck(validator: AjvJsonSchemaValidator) {
  const compiled = new Map<string, ReturnType<typeof validator.getValidator>>()
  return ({ name, inputSchema }: Tool, sent: JsonObject): string | undefined => {
    let check = compiled.get(name)
    if (check === undefined) {
      check = validator.getValidator(inputSchema)
      compiled.set(name, check)
    }
    const { valid, errorMessage } = check(sent)
    // "data/limit must be integer": the arguments are not called "data" anywhere else.
    return valid ? undefined : errorMessage.replaceAll(/\bdata\/?/g, 'argument ')
  }
}
