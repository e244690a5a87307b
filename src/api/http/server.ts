import { Elysia } from 'elysia'
import {
  requireEverything,
  requireNamespace,
  requireScope,
} from '../../core/domain/access/principal.ts'
import type { AuditLog } from '../../core/domain/ports/access-ports.ts'
import { FILES_DATABASE } from '../../core/domain/project.ts'
import { AppError, ERRORS } from '../../core/errors.ts'
import { setCaller } from '../../core/runtime/cancellation.ts'
import {
  Authentication,
  type Identity,
  refuseCrossSite,
  refuseForeignHost,
} from './access/authentication.ts'
import { keyTextOf } from './access/key-access.ts'
import { madeOnce, staticAnswer, staticFile } from './answers/static-file.ts'
import { type AnswerRequest, type ListenAddress, type Listener, listen, UNKNOWN } from './listen.ts'
import { declarationOf, needOf, OPENAPI_PATH, type RouteNeed, route } from './openapi/openapi.ts'
import type { Peer } from './request/arrivals.ts'
import { requestError } from './request/error-response.ts'
import { linkIdentity } from './request/link-access.ts'
import { failureResponseAt, isOpenAiPath } from './request/openai-error.ts'
import type { AddRoutes, RouteContext, ServerDeps } from './request/route-context.ts'
import { type RequestScope, RunningRequests } from './request/running-requests.ts'
import { addAuditRoutes } from './routes/access/audit-routes.ts'
import { addKeyRoutes } from './routes/access/key-routes.ts'
import { addUserRoutes } from './routes/access/user-routes.ts'
import { addAgentRoutes } from './routes/agents/agent-routes.ts'
import { addCompletionRoutes } from './routes/agents/completion-routes.ts'
import { addConversationRoutes } from './routes/agents/conversation-routes.ts'
import { addRunRoutes } from './routes/agents/run-routes.ts'
import { addTraceRoutes } from './routes/agents/trace-routes.ts'
import { addCatalogRoutes } from './routes/catalog-routes.ts'
import { addJobRoutes } from './routes/job-routes.ts'
import { addDocumentRoutes } from './routes/knowledge-bases/document-routes.ts'
import { addInsertFilesRoutes } from './routes/knowledge-bases/insert-files-routes.ts'
import { addKnowledgeBaseRoutes } from './routes/knowledge-bases/knowledge-base-routes.ts'
import { addMapRoutes } from './routes/knowledge-bases/map-routes.ts'
import { addPreviewRoutes } from './routes/knowledge-bases/preview-routes.ts'
import { addSearchRoutes } from './routes/knowledge-bases/search-routes.ts'
import { addSourceRoutes } from './routes/knowledge-bases/source-routes.ts'
import { addTransferRoutes } from './routes/knowledge-bases/transfer-routes.ts'
import { addMcpRoutes } from './routes/mcp-routes.ts'
import { addChatRoutes } from './routes/openai/chat-routes.ts'
import { addEmbeddingRoutes } from './routes/openai/embedding-routes.ts'
import { addFileBatchRoutes } from './routes/openai/file-batch-routes.ts'
import { addModelRoutes } from './routes/openai/model-routes.ts'
import { addOpenAiFileRoutes } from './routes/openai/openai-file-routes.ts'
import { addResponseRoutes } from './routes/openai/response-routes.ts'
import { addVectorStoreFileRoutes } from './routes/openai/vector-store-file-routes.ts'
import { addVectorStoreRoutes } from './routes/openai/vector-store-routes.ts'
import { addVectorStoreSearchRoutes } from './routes/openai/vector-store-search-routes.ts'
import { addProjectRoutes } from './routes/project-routes.ts'
import { addScheduleRoutes } from './routes/schedule-routes.ts'
import { addDocsRoutes } from './routes/server/docs-routes.ts'
import { addHealthRoutes } from './routes/server/health-routes.ts'
import { addLoginRoutes } from './routes/server/login-routes.ts'
import { addPageRoutes } from './routes/server/page-routes.ts'
import { addRequestRoutes } from './routes/server/request-routes.ts'
import { addStatusRoutes } from './routes/server/status-routes.ts'
import { addUsageRoutes } from './routes/server/usage-routes.ts'
import { addDataSourceRoutes } from './routes/sql/data-source-routes.ts'
import { addDatabaseRoutes } from './routes/sql/database-routes.ts'
import { addFileRoutes } from './routes/sql/file-routes.ts'
import { addSqlRoutes } from './routes/sql/sql-routes.ts'
import { addViewRoutes } from './routes/sql/view-routes.ts'

export interface Server {
  /**
   * Answers one request; it never rejects.
   * @param peer the client, where there is no connection that knows it
   */
  handle(request: Request, peer?: Peer): Promise<Response>
  /** The OpenAPI document of its routes. */
  document(): Promise<object>
  /** @throws Error of the system when the address cannot be taken */
  listen(address: ListenAddress): Listener
  /** What the PostgreSQL port works with. */
  readonly postgres: Pick<RouteContext, 'deps' | 'authentication' | 'snapshot'> & {
    readonly requests: RunningRequests
  }
}

export function createServer(deps: ServerDeps): Server {
  const requests = new RunningRequests(deps, (scope) => noteChange(deps.audit, scope))
  const { catalog } = deps.catalog
  const context: RouteContext = {
    deps,
    authentication: new Authentication(deps),
    snapshot: () => catalog.snapshot(),
    snapshotFor: (request) => {
      return deps.catalogFor(requests.scopeOf(request).principal).catalog.snapshot()
    },
    scopeOf: (request) => requests.scopeOf(request),
    requests,
    isReady: () => !requests.isStopping,
  }
  const app = createApp(context)
  const answer: AnswerRequest = (request, connection) => {
    return requests.answer(request, connection, () => app.handle(request))
  }
  return {
    document: () => documentOf(app, deps.settings.version),
    handle: (request, peer = UNKNOWN) => answer(request, { ...peer, onArrived() {} }),
    listen: (address) => listen(address, answer, requests),
    postgres: {
      deps,
      authentication: context.authentication,
      requests,
      snapshot: context.snapshot,
    },
  }
}

/** The entry of the audit log for a request that changes something, or was refused to. */
function noteChange(audit: AuditLog, scope: RequestScope): void {
  if (scope.change === null) return
  const { change, principal, address, id: requestId, failure, status } = scope
  const skippedRows = scope.skippedRows ?? 0
  const outcome = status < 400 ? 'ok' : (failure ?? String(status))
  audit.note({ ...change, principal, outcome, address, requestId, skippedRows })
}

const ROUTES: readonly AddRoutes[] = [
  addStatusRoutes,
  addRequestRoutes,
  addUsageRoutes,
  addHealthRoutes,
  addLoginRoutes,
  addKeyRoutes,
  addUserRoutes,
  addAuditRoutes,
  addCatalogRoutes,
  addProjectRoutes,
  addKnowledgeBaseRoutes,
  addInsertFilesRoutes,
  addPreviewRoutes,
  addJobRoutes,
  addSearchRoutes,
  addDocumentRoutes,
  addMapRoutes,
  addTransferRoutes,
  addViewRoutes,
  addAgentRoutes,
  addCompletionRoutes,
  addConversationRoutes,
  addRunRoutes,
  addTraceRoutes,
  addFileRoutes,
  addDatabaseRoutes,
  addDataSourceRoutes,
  addSourceRoutes,
  addScheduleRoutes,
  addSqlRoutes,
  addMcpRoutes,
  addModelRoutes,
  addChatRoutes,
  addResponseRoutes,
  addEmbeddingRoutes,
  addVectorStoreRoutes,
  addVectorStoreSearchRoutes,
  addVectorStoreFileRoutes,
  addFileBatchRoutes,
  addOpenAiFileRoutes,
  addPageRoutes,
  addDocsRoutes,
]

function createApp(context: RouteContext): Elysia {
  const app = new Elysia({ normalize: false, handler: { standardHostname: false } })
  app.onError(({ error, request }) => failureResponse(app, context, request, error))
  const { isLoopback } = context.deps.settings
  const isOwnMachine = isLoopback && !context.authentication.isOn
  if (isOwnMachine) app.onRequest(({ request }) => refuseForeignHost(request))
  const entries = new Map<string, Entry>()
  // `async`, so that Elysia waits for it whatever it guesses from its text.
  app.onBeforeHandle(async ({ request, route, params }) => {
    const scope = context.scopeOf(request)
    scope.route = route
    refuseCrossSite(request, isOwnMachine)
    const entry = entries.get(`${scope.method === 'HEAD' ? 'GET' : scope.method} ${route}`)
    if (entry?.need === 'nothing') return
    const identity = identified(context, request)
    const known = identity instanceof Promise ? await identity : identity
    admit(scope, known, entry ?? { need: 'admin', path: route, action: route }, params)
  })
  addDocumentRoute(app, context)
  for (const add of ROUTES) add(app, context)
  for (const { method, path, hooks } of app.routes) {
    const action = declarationOf(hooks)?.id ?? `${method} ${path}`
    entries.set(`${method} ${path}`, { need: needOf(hooks), path, action })
  }
  return app
}

/** The same for everyone: no login is needed. */
const addDocumentRoute: AddRoutes = (app, { deps }) => {
  const document = madeOnce(async () => {
    const made = await documentOf(app, deps.settings.version)
    return staticFile(JSON.stringify(made), 'application/json')
  })
  app.get(
    OPENAPI_PATH,
    async ({ request }) => staticAnswer(request, await document()),
    route({
      ...{ needs: 'nothing', tag: 'Server', isHidden: true },
      summary: 'The OpenAPI document',
      answers: { 200: 'The document' },
    }),
  )
}

/** What makes it is loaded when somebody asks for it first. */
async function documentOf(app: Elysia, version: string): Promise<object> {
  const { openApiDocument } = await import('./openapi/openapi-document.ts')
  return openApiDocument(app, version)
}

/**
 * Notes who makes a request, and refuses what they may not do.
 * @throws AppError `unauthorized`, `forbidden`
 */
function admit(
  scope: RequestScope,
  { principal, login }: Identity,
  { need, path, action }: Entry,
  params: unknown,
): void {
  scope.principal = principal
  // Each login has its own share of the places for statements; without one, each address has.
  if (login !== undefined) setCaller(scope.signal, login)
  const isChange = (need === 'write' || need === 'admin') && !isReading(scope.method)
  if (isChange) scope.noteChange(action, namesIn(params))
  if (need === 'nothing') return
  if (need !== 'login') requireScope(principal, need)
  if (principal.namespaces === null) return
  for (const namespace of namespacesOf(path, params)) requireNamespace(principal, namespace)
  // Keys and users see to it themselves that an admin of some projects stays within them.
  if (need === 'admin' && !/^\/api\/(?:keys|users)(?:\/|$)/.test(path)) {
    requireEverything(principal)
  }
}

/** A key that is refused may be a stolen one: it leaves an entry in the audit log, without its text. */
function identified(context: RouteContext, request: Request): Identity | Promise<Identity> {
  try {
    return linkIdentity(request, context) ?? context.authentication.identify(request)
  } catch (error) {
    // Tokens of logins fail later, and are none.
    const isKey = error instanceof AppError && keyTextOf(request) !== undefined
    if (isKey && error.code === 'unauthorized') context.scopeOf(request).noteChange('useKey')
    throw error
  }
}

/** What is known of a route before anybody asks. */
interface Entry {
  readonly need: RouteNeed
  /** As the route declares it. */
  readonly path: string
  /** What the audit log calls it. */
  readonly action: string
}

function isReading(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** The names in a path, decoded. */
function namesIn(params: unknown): readonly string[] {
  if (typeof params !== 'object' || params === null) return []
  return Object.values(params).filter((value) => typeof value === 'string')
}

/** The project or database that a path names; uploaded files are in one of their own. */
function namespacesOf(route: string, params: unknown): readonly string[] {
  const named = typeof params === 'object' && params !== null ? Object.entries(params) : []
  const names = named.flatMap(([name, value]) => {
    return (name === 'project_name' || name === 'database_name') && typeof value === 'string'
      ? [value]
      : []
  })
  return route.startsWith('/api/files/') ? [...names, FILES_DATABASE] : names
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
  scope.failure = failure.code
  if (ERRORS[failure.code].status >= 500) {
    deps.logError({ requestId: scope.id, error: failure.cause ?? failure })
  }
  return failureResponseAt(scope.path, failure, deps.now())
}

/** The answer on a path that there is not, or not with this method. */
function unmatchedResponse(app: Elysia, scope: RequestScope, nowMs: number): Response {
  const methods = methodsOf(app.routes, scope.path)
  if (methods.length === 0) {
    scope.failure = 'not_found'
    const detail = isOpenAiPath(scope.path)
      ? `Unknown request URL: ${scope.method} ${scope.path.slice(0, 200)}; docs/openai.md lists those there are`
      : 'The endpoint you are trying to access does not exist on the server.'
    return failureResponseAt(scope.path, new AppError('not_found', detail), nowMs)
  }
  const allow = [...methods, 'OPTIONS'].join(', ')
  if (scope.method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } })
  scope.failure = 'method_not_allowed'
  const detail = `${scope.method} is not allowed here. Allowed: ${allow}`
  const failure = new AppError('method_not_allowed', detail)
  const response = failureResponseAt(scope.path, failure, nowMs)
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
