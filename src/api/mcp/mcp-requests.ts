/** Answers requests of MCP clients. */

import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv-provider.js'
import type { Principal } from '../../core/domain/access/principal.ts'
import type { McpCaller, McpDoor } from '../../core/domain/ports/foreign-tool-ports.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { refusal } from '../http/request/error-response.ts'
import { ToolCalls } from './call-tool.ts'
import { authInfoOf, type ProtocolParts, protocolServer } from './protocol-server.ts'
import type { McpUses, Tool } from './tool.ts'

/** The most requests in one body. Before version 2025-06-18, a body could be a list. */
const BATCH_MAX = 50

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const INVALID_PARAMS = -32602
const REFUSED = -32000

const SESSION_HEADER = 'mcp-session-id'

type Transport = WebStandardStreamableHTTPServerTransport

/**
 * Every request gets a server of its own, so that nothing is lost when this process restarts. A
 * session is only a name that the client got with `initialize`: it tells which running request a
 * later one cancels.
 */
export class McpRequests implements McpDoor {
  readonly #parts: ProtocolParts
  /** The running requests of sessions, by `keyOf`. */
  readonly #running = new Map<string, Transport>()

  constructor(uses: McpUses) {
    const validator = new AjvJsonSchemaValidator()
    this.#parts = { uses, validator, tools: new ToolCalls(argumentCheck(validator)) }
  }

  async handle(request: Request, body: unknown, caller: McpCaller): Promise<Response> {
    const session = sessionOf(request, caller.principal)
    if (request.method === 'DELETE') return this.#end(session)
    const messages = messagesOf(body)
    if (messages === null) return refusal(400, PARSE_ERROR, 'The body is not a JSON-RPC message')
    messages.forEach(withoutTask)
    if (messages.length > BATCH_MAX) {
      return refusal(400, INVALID_REQUEST, `A body may contain at most ${BATCH_MAX} messages`)
    }
    const ids = idsOf(messages)
    if (new Set(ids).size < ids.length) {
      return refusal(400, INVALID_REQUEST, 'Two requests of one body have the same id')
    }
    const opening = messages.find(({ method }) => method === 'initialize')
    if (opening !== undefined && !isInitializeRequest(opening)) {
      return refusal(400, INVALID_PARAMS, 'A parameter of "initialize" is missing or wrong')
    }
    const keys = session === null ? [] : ids.map((id) => keyOf(session, id))
    if (keys.some((key) => this.#running.has(key))) {
      return refusal(400, INVALID_REQUEST, 'A request with this id is already being answered')
    }
    if (session !== null) for (const message of messages) this.#cancel(message, session)
    const response = await this.#answer(request, body, caller, keys)
    if (opening !== undefined && response.ok) {
      response.headers.set(SESSION_HEADER, crypto.randomUUID())
    }
    return response
  }

  async #answer(
    request: Request,
    body: unknown,
    caller: McpCaller,
    keys: readonly string[],
  ): Promise<Response> {
    const server = protocolServer(this.#parts)
    const transport = new WebStandardStreamableHTTPServerTransport({})
    await server.connect(transport)
    for (const key of keys) this.#running.set(key, transport)
    const ended = () => {
      for (const key of keys) this.#running.delete(key)
      void server.close()
    }
    const options = { parsedBody: body, authInfo: authInfoOf(caller) }
    try {
      return untilEnd(await transport.handleRequest(request, options), caller, ended)
    } catch (error) {
      ended()
      throw error
    }
  }

  /** A cancelled request gets no answer; its stream ends, so that the client does not wait. */
  #cancel({ method, params }: JsonObject, session: string): void {
    if (method !== 'notifications/cancelled' || !isObject(params)) return
    const { requestId } = params
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return
    const running = this.#running.get(keyOf(session, requestId))
    running?.onmessage?.({ jsonrpc: '2.0', method, params: { requestId } })
    // In a later turn, after the SDK has aborted the request.
    setTimeout(() => running?.closeSSEStream(requestId), 0)
  }

  /** Cancels what still runs in the session. */
  #end(session: string | null): Response {
    if (session === null) {
      const message = 'The header Mcp-Session-Id is missing: a POST with "initialize" returns one'
      return refusal(400, REFUSED, message)
    }
    for (const [key, transport] of this.#running) {
      if (key.startsWith(keyOf(session))) void transport.close()
    }
    return new Response(null, { status: 200 })
  }
}

/** Includes the client, so that no other can cancel its requests. Null without a session. */
function sessionOf({ headers }: Request, { kind, id }: Principal): string | null {
  const sent = headers.get(SESSION_HEADER)
  return sent === null ? null : JSON.stringify([kind, id, sent])
}

function keyOf(session: string, requestId?: string | number): string {
  return `${session} ${requestId === undefined ? '' : JSON.stringify(requestId)}`
}

/** A server without tasks treats such requests as ordinary; the SDK would fail. */
function withoutTask({ params }: JsonObject): void {
  if (isObject(params) && 'task' in params) Reflect.deleteProperty(params, 'task')
}

/** The same response; `ended` is called once, when the body ends or the reader cancels it. */
function untilEnd(response: Response, { signal }: McpCaller, ended: () => void): Response {
  if (
    response.body === null ||
    response.headers.get('content-type')?.startsWith('text/event-stream') !== true
  ) {
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
    return valid ? undefined : errorMessage.replaceAll(/\bdata[/ ]/g, 'argument ')
  }
}
