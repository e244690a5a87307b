import { Elysia } from 'elysia'
import { AppError, ERRORS } from '../errors.ts'
import { setCaller } from '../runtime/cancellation.ts'
import { Authentication, refuseCrossSite, refuseForeignHost } from './authentication.ts'
import { errorResponse, requestError } from './error-response.ts'
import { isPublic, OPENAPI_PATH, openApiDocument } from './openapi.ts'
import type { RouteContext, ServerDeps } from './route-context.ts'
import { addAgentRoutes } from './routes/agents/agent-routes.ts'
import { addCompletionRoutes } from './routes/agents/completion-routes.ts'
import { addConversationRoutes } from './routes/agents/conversation-routes.ts'
import { addRunRoutes } from './routes/agents/run-routes.ts'
import { addTraceRoutes } from './routes/agents/trace-routes.ts'
import { addDataSourceRoutes } from './routes/data-source-routes.ts'
import { addDatabaseRoutes } from './routes/database-routes.ts'
import { addDocumentRoutes } from './routes/document-routes.ts'
import { addFileRoutes } from './routes/file-routes.ts'
import { addInsertFilesRoutes } from './routes/insert-files-routes.ts'
import { addJobRoutes } from './routes/job-routes.ts'
import { addKnowledgeBaseRoutes } from './routes/knowledge-base-routes.ts'
import { addLoginRoutes } from './routes/login-routes.ts'
import { addPageRoutes } from './routes/page-routes.ts'
import { addPreviewRoutes } from './routes/preview-routes.ts'
import { addProjectRoutes } from './routes/project-routes.ts'
import { addScheduleRoutes } from './routes/schedule-routes.ts'
import { addSearchRoutes } from './routes/search-routes.ts'
import { addSourceRoutes } from './routes/source-routes.ts'
import { addSqlRoutes } from './routes/sql-routes.ts'
import { addStatusRoutes } from './routes/status-routes.ts'
import { addTransferRoutes } from './routes/transfer-routes.ts'
import { addViewRoutes } from './routes/view-routes.ts'
import { type Connection, type RequestScope, RunningRequests } from './running-requests.ts'

/** Longest silence on a connection, outside of a request that is being worked on. */
const IDLE_SECONDS = 120

export interface Server {
  /**
   * Answers one request; it never rejects.
   * @param address the client's, where there is no connection that knows it
   */
  handle(request: Request, address?: string): Promise<Response>
  /** @throws Error of the system when the address cannot be taken */
  listen(address: { readonly hostname: string; readonly port: number }): Listener
}

export interface Listener {
  readonly url: URL
  /**
   * Takes no new requests, lets those under way finish for `graceMs`, then aborts them: streams
   * end with a typed error and `end`.
   */
  stop(graceMs: number): Promise<void>
}

export function createServer(deps: ServerDeps): Server {
  const requests = new RunningRequests(deps)
  const { catalog } = deps.catalog
  const context: RouteContext = {
    deps,
    authentication: new Authentication(deps),
    snapshot: () => catalog.snapshot(),
    scopeOf: (request) => requests.scopeOf(request),
    isReady: () => !requests.isStopping,
  }
  const app = createApp(context)
  const answer: AnswerRequest = (request, connection) => {
    return requests.answer(request, connection, () => app.handle(request))
  }
  return {
    handle: (request, address = 'unknown') => answer(request, { address, onArrived() {} }),
    listen: (address) => listen(address, answer, requests),
  }
}

type AnswerRequest = (request: Request, connection: Connection) => Promise<Response>

function createApp(context: RouteContext): Elysia {
  const app = new Elysia({ normalize: false, handler: { standardHostname: false } })
  app.onError(({ error, request }) => failureResponse(app, context, request, error))
  const { isLoopback } = context.deps.settings
  const isOwnMachine = isLoopback && !context.authentication.isOn
  if (isOwnMachine) app.onRequest(({ request }) => refuseForeignHost(request))
  app.onBeforeHandle(({ request }) => refuseCrossSite(request, isOwnMachine))
  const publicRoutes = new Set<string>()
  if (context.authentication.isOn) {
    app.onBeforeHandle(async ({ request, route }) => {
      const method = request.method === 'HEAD' ? 'GET' : request.method
      if (publicRoutes.has(`${method} ${route}`)) return
      // Each login has its own share of the places for statements; without one, each address has.
      setCaller(context.scopeOf(request).signal, await context.authentication.require(request))
    })
  }
  const { version } = context.deps.settings
  let document: ReturnType<typeof openApiDocument> | undefined
  const documentOnce = () => {
    document ??= openApiDocument(app, version)
    return document
  }
  app.get(OPENAPI_PATH, documentOnce, { detail: { hide: true } })
  addStatusRoutes(app, context)
  addLoginRoutes(app, context)
  addProjectRoutes(app, context)
  addKnowledgeBaseRoutes(app, context)
  addInsertFilesRoutes(app, context)
  addPreviewRoutes(app, context)
  addJobRoutes(app, context)
  addSearchRoutes(app, context)
  addDocumentRoutes(app, context)
  addTransferRoutes(app, context)
  addViewRoutes(app, context)
  addAgentRoutes(app, context)
  addCompletionRoutes(app, context)
  addConversationRoutes(app, context)
  addRunRoutes(app, context)
  addTraceRoutes(app, context)
  addFileRoutes(app, context)
  addDatabaseRoutes(app, context)
  addDataSourceRoutes(app, context)
  addSourceRoutes(app, context)
  addScheduleRoutes(app, context)
  addSqlRoutes(app, context)
  addPageRoutes(app, context)
  for (const { method, path, hooks } of app.routes) {
    if (isPublic(hooks)) publicRoutes.add(`${method} ${path}`)
  }
  return app
}

function failureResponse(
  app: Elysia,
  context: RouteContext,
  request: Request,
  error: unknown,
): Response {
  const { deps } = context
  const scope = context.scopeOf(request)
  const isUnmatched = error instanceof Error && 'code' in error && error.code === 'NOT_FOUND'
  if (isUnmatched) return unmatchedResponse(app, scope, deps.now())
  const failure = requestError(error, scope.signal)
  if (ERRORS[failure.code].status >= 500) {
    deps.logError({ requestId: scope.id, error: failure.cause ?? failure })
  }
  return errorResponse(failure, deps.now())
}

/** The answer on a path that there is not, or not with this method. */
function unmatchedResponse(app: Elysia, scope: RequestScope, nowMs: number): Response {
  const methods = methodsOf(app.routes, scope.path)
  if (methods.length === 0) {
    const detail = 'The endpoint you are trying to access does not exist on the server.'
    return errorResponse(new AppError('not_found', detail), nowMs)
  }
  const allow = [...methods, 'OPTIONS'].join(', ')
  if (scope.method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } })
  const detail = `${scope.method} is not allowed here. Allowed: ${allow}`
  const response = errorResponse(new AppError('method_not_allowed', detail), nowMs)
  response.headers.set('allow', allow)
  return response
}

/** The methods that answer on a path; none where the path is unknown. */
function methodsOf(routes: Elysia['routes'], path: string): readonly string[] {
  const methods = routes.filter((route) => isMatch(route.path, path)).map((route) => route.method)
  const withHead = methods.includes('GET') ? [...methods, 'HEAD'] : methods
  return [...new Set(withHead)]
}

function isMatch(pattern: string, path: string): boolean {
  const parts = pattern.split('/')
  const found = path.replace(/(?<=.)\/$/, '').split('/')
  if (parts.length !== found.length) return false
  return parts.every((part, index) => {
    return part.startsWith(':') ? found[index] !== '' : part === found[index]
  })
}

function listen(
  address: { readonly hostname: string; readonly port: number },
  answer: AnswerRequest,
  requests: RunningRequests,
): Listener {
  const server = Bun.serve({
    ...address,
    // Bun's default shares a port on Linux: a second process would take half of the first one's requests.
    reusePort: false,
    idleTimeout: IDLE_SECONDS,
    // Bun would answer with an empty 413; body.ts keeps the limit and says why.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    async fetch(request, bun) {
      // Bun counts the time that an answer takes as silence, too.
      const response = await answer(request, {
        address: addressOf(bun.requestIP(request)?.address),
        onArrived: () => bun.timeout(request, 0),
      })
      bun.timeout(request, IDLE_SECONDS)
      return response
    },
  })
  return {
    url: server.url,
    async stop(graceMs) {
      const closed = server.stop(false)
      await requests.drain(graceMs)
      await server.stop(true)
      await closed
    },
  }
}

/** An IPv4 client of a socket that speaks both reads `::ffff:192.0.2.1`. */
function addressOf(found: string | undefined): string {
  return found?.replace(/^::ffff:(?=[\d.]+$)/i, '') ?? 'unknown'
}
