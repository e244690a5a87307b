import { t } from 'elysia'
import { ERRORS, toAppError } from '../../../core/errors.ts'
import { streamedResponse } from '../answers/streamed-response.ts'
import { isJsonType, readBody } from '../bodies/body.ts'
import { parseJson } from '../bodies/json-text.ts'
import { refusal } from '../request/error-response.ts'
import type { RouteContext } from '../request/route-context.ts'
import type { RequestScope } from '../request/running-requests.ts'
import { FIELDS, integer, named } from '../request/schema-words.ts'
import { resource } from './operation.ts'

/** MCP messages are short, but the documents in them may be long. */
const BODY_BYTES_MAX = 8 * 1024 * 1024

const PATH = '/mcp'

const MESSAGE = named('JsonRpcMessage', 'A JSON-RPC 2.0 request, notification or response', {
  jsonrpc: t.Literal('2.0'),
  id: t.Optional(t.Union([t.String(), t.Number(), t.Null()])),
  method: t.Optional(t.String()),
  params: t.Optional(FIELDS),
  result: t.Optional(FIELDS),
  error: t.Optional(
    t.Object({ code: integer(), message: t.String(), data: t.Optional(t.Unknown()) }),
  ),
})

/** The Model Context Protocol over streamable HTTP. Errors have the protocol's own form. */
export const mcpOperations = resource('MCP', (api, context) => {
  api.post(PATH, {
    id: 'sendMcp',
    summary: 'Send a Model Context Protocol message',
    description:
      'One JSON-RPC 2.0 message, or a list of them before version 2025-06-18. `initialize` returns the header `Mcp-Session-Id`; requests with it can be cancelled.',
    needs: 'login',
    takes: ['application/json'],
    form: t.Union([MESSAGE, t.Array(MESSAGE)]),
    failsAs: MESSAGE,
    produces: 'text/event-stream',
    answers: {
      200: ['The answer, as a stream of server-sent events', MESSAGE],
      202: { description: 'The notification was accepted', isEmpty: true },
    },
    async run({ request, scope }) {
      const sent = await messageOf(context, request)
      return sent instanceof Response ? sent : answer(context, request, scope, sent.body)
    },
  })
  api.delete(PATH, {
    id: 'endMcp',
    summary: 'End a session and cancel its running requests',
    needs: 'login',
    failsAs: MESSAGE,
    answers: { 200: { description: 'The session has ended', isEmpty: true } },
    run: ({ request, scope }) => answer(context, request, scope),
  })
})

async function messageOf(
  context: RouteContext,
  request: Request,
): Promise<Response | { readonly body: unknown }> {
  const { signal } = context.scopeOf(request)
  try {
    const type = request.headers.get('content-type')
    if (type === null || !isJsonType(type)) {
      return refusal(415, -32000, 'The Content-Type of the body must be application/json')
    }
    return { body: await parseJson(await readBody(context, request, BODY_BYTES_MAX), signal) }
  } catch (error) {
    signal.throwIfAborted()
    const { code, message } = toAppError(error)
    const { status } = ERRORS[code]
    if (status >= 500) throw error
    return refusal(status, code === 'invalid_json' ? -32700 : -32000, message)
  }
}

async function answer(
  { deps }: RouteContext,
  request: Request,
  scope: RequestScope,
  body?: unknown,
): Promise<Response> {
  const { principal, address, signal } = scope
  const { origin } = new URL(request.url)
  const response = await deps.mcp.handle(request, body, { principal, address, signal, origin })
  const type = response.headers.get('content-type')
  if (response.body === null || type?.startsWith('text/event-stream') !== true) return response
  const headers = Object.fromEntries(response.headers)
  return streamedResponse(bodyPieces(response.body), { headers, scope })
}

async function* bodyPieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) yield piece
}
