import { Elysia } from 'elysia'
import {
  requireEverything,
  requireNamespace,
  requireScope,
} from '../../core/domain/access/principal.ts'
import { FILES_DATABASE } from '../../core/domain/names.ts'
import type { AuditLog } from '../../core/domain/ports/access-ports.ts'
import { AppError, ERRORS } from '../../core/errors.ts'
import { setCaller } from '../../core/runtime/cancellation.ts'
import {
  Authentication,
  type Identity,
  refuseCrossSite,
  refuseForeignHost,
} from './access/authentication.ts'
import { keyTextOf, type Peer } from './access/rate-limits.ts'
import { madeOnce, staticAnswer, staticFile } from './answers/static-file.ts'
import { type AnswerRequest, type ListenAddress, type Listener, listen, UNKNOWN } from './listen.ts'
import { chatOperations, modelOperations } from './openai/chat-routes.ts'
import { embeddingOperations } from './openai/embedding-routes.ts'
import { fileBatchOperations } from './openai/file-batch-routes.ts'
import { openAiFileOperations } from './openai/openai-file-routes.ts'
import { responseOperations } from './openai/response-routes.ts'
import { vectorStoreFileOperations } from './openai/vector-store-file-routes.ts'
import { vectorStoreOperations, vectorStoreSearchOperations } from './openai/vector-store-routes.ts'
import { failureResponseAt, isOpenAiPath, requestError } from './request/error-response.ts'
import type { RouteContext, ServerDeps } from './request/route-context.ts'
import { type RequestScope, RunningRequests } from './request/running-requests.ts'
import { auditOperations, keyOperations, userOperations } from './routes/access-routes.ts'
import { agentOperations, completionOperations, runOperations } from './routes/agent-routes.ts'
import { conversationOperations } from './routes/conversation-routes.ts'
import { dataSourceOperations } from './routes/data-source-routes.ts'
import { databaseOperations } from './routes/database-routes.ts'
import { documentOperations } from './routes/document-routes.ts'
import { fileOperations } from './routes/file-routes.ts'
import { jobChangeOperations, jobOperations, scheduleOperations } from './routes/job-routes.ts'
import { knowledgeBaseOperations } from './routes/knowledge-base-routes.ts'
import { mapOperations } from './routes/map-routes.ts'
import { mcpOperations } from './routes/mcp-routes.ts'
import { OPENAPI_PATH, type Operation, type Operations, resource } from './routes/operation.ts'
import { docsOperations, pageOperations } from './routes/page-routes.ts'
import { catalogOperations, projectOperations, viewOperations } from './routes/project-routes.ts'
import { loginOperations, requestOperations } from './routes/request-routes.ts'
import { searchOperations } from './routes/search-routes.ts'
import { sourceOperations } from './routes/source-routes.ts'
import { linkIdentity, sqlLinkOperations, sqlOperations } from './routes/sql-routes.ts'
import {
  backupOperations,
  healthOperations,
  statusOperations,
  usageOperations,
} from './routes/status-routes.ts'
import { traceOperations } from './routes/trace-routes.ts'
import {
  insertFilesOperations,
  previewOperations,
  transferOperations,
} from './routes/transfer-routes.ts'

export interface Server {
  /** Never rejects. @param peer the client's address, for calls without a connection */
  handle(request: Request, peer?: Peer): Promise<Response>
  document(): Promise<object>
  /** @throws Error of the operating system if the address cannot be used */
  listen(address: ListenAddress): Listener
  /** What the PostgreSQL port needs from the HTTP server. */
  readonly postgres: Pick<RouteContext, 'deps' | 'authentication' | 'snapshot'> & {
    readonly requests: RunningRequests
  }
}

export function createServer(deps: ServerDeps, declared = RESOURCES): Server {
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
  const document = async (): Promise<object> => {
    // Loaded when the document is first requested.
    const { openApiDocument } = await import('./openapi-document.ts')
    return openApiDocument(operations, deps.settings.version)
  }
  const resources = [openApiOperations(document), ...declared]
  const operations: readonly Operation[] = resources.flatMap((operations) => operations(context))
  const app = createApp(context, operations)
  const answer: AnswerRequest = (request, connection) => {
    return requests.answer(request, connection, () => app.handle(request))
  }
  return {
    document,
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

/** Adds an entry to the audit log for a request that changed something or was refused. */
function noteChange(audit: AuditLog, scope: RequestScope): void {
  if (scope.change === null) return
  const { change, principal, address, id: requestId, failure, status } = scope
  const skippedRows = scope.skippedRows ?? 0
  const outcome = status < 400 ? 'ok' : (failure ?? String(status))
  audit.note({ ...change, principal, outcome, address, requestId, skippedRows })
}

const RESOURCES: readonly Operations[] = [
  statusOperations,
  backupOperations,
  requestOperations,
  usageOperations,
  healthOperations,
  loginOperations,
  keyOperations,
  userOperations,
  auditOperations,
  catalogOperations,
  projectOperations,
  knowledgeBaseOperations,
  insertFilesOperations,
  previewOperations,
  jobOperations,
  jobChangeOperations,
  searchOperations,
  documentOperations,
  mapOperations,
  transferOperations,
  viewOperations,
  agentOperations,
  completionOperations,
  conversationOperations,
  runOperations,
  traceOperations,
  fileOperations,
  databaseOperations,
  dataSourceOperations,
  sourceOperations,
  scheduleOperations,
  sqlLinkOperations,
  sqlOperations,
  mcpOperations,
  modelOperations,
  chatOperations,
  responseOperations,
  embeddingOperations,
  vectorStoreOperations,
  vectorStoreSearchOperations,
  vectorStoreFileOperations,
  fileBatchOperations,
  openAiFileOperations,
  pageOperations,
  docsOperations,
]

function createApp(context: RouteContext, operations: readonly Operation[]): Elysia {
  const app = new Elysia({ normalize: false, handler: { standardHostname: false } })
  app.onError(({ error, request }) => failureResponse(operations, context, request, error))
  const { isLoopback } = context.deps.settings
  const isOwnMachine = isLoopback && !context.authentication.isOn
  if (isOwnMachine) app.onRequest(({ request }) => refuseForeignHost(request))
  for (const operation of operations) {
    const { method, path } = operation
    // `async`, so that Elysia always awaits it: Elysia inspects the source text of handlers and may
    // misread it. `body.ts` reads bodies.
    const answer = async ({ request, params = {} }: { request: Request; params?: PathParams }) => {
      const scope = context.scopeOf(request)
      scope.route = path
      refuseCrossSite(request, isOwnMachine)
      if (operation.needs !== 'nothing') {
        const known = identified(context, request)
        admit(scope, known instanceof Promise ? await known : known, operation, params)
      }
      return operation.answer(request, params)
    }
    app.route(method, path, answer, { parse: 'none' })
  }
  return app
}

type PathParams = Readonly<Record<string, string>>

/** Public, because the document is the same for everyone. */
function openApiOperations(document: () => Promise<object>): Operations {
  return resource('Server', (api) => {
    const file = madeOnce(async () => {
      return staticFile(JSON.stringify(await document()), 'application/json')
    })
    api.get(OPENAPI_PATH, {
      summary: 'The OpenAPI document',
      needs: 'nothing',
      isHidden: true,
      run: async ({ request }) => staticAnswer(request, await file()),
    })
  })
}

/** @throws AppError `unauthorized`, `forbidden` */
function admit(
  scope: RequestScope,
  { principal, login }: Identity,
  { id, method, needs, path }: Operation,
  params: PathParams,
): void {
  scope.principal = principal
  // Each login has its own share of the concurrency slots; without a login, each address has one.
  if (login !== undefined) setCaller(scope.signal, login)
  const isChange = (needs === 'write' || needs === 'admin') && method !== 'GET'
  if (isChange) scope.noteChange(id ?? `${method} ${path}`, Object.values(params))
  if (needs === 'nothing') return
  if (needs !== 'login') requireScope(principal, needs)
  if (principal.namespaces === null) return
  for (const namespace of namespacesOf(path, params)) requireNamespace(principal, namespace)
  // The routes of keys and users check themselves that an admin limited to some projects stays
  // within them.
  if (needs === 'admin' && !/^\/api\/(?:keys|users)(?:\/|$)/.test(path)) {
    requireEverything(principal)
  }
}

/** A refused key may be stolen, so it is recorded in the audit log, without its text. */
function identified(context: RouteContext, request: Request): Identity | Promise<Identity> {
  try {
    return linkIdentity(request, context) ?? context.authentication.identify(request)
  } catch (error) {
    // Login tokens fail later, and they are not keys.
    const isKey = error instanceof AppError && keyTextOf(request) !== undefined
    if (isKey && error.code === 'unauthorized') context.scopeOf(request).noteChange('useKey')
    throw error
  }
}

/** The project or database in a path. Uploaded files have their own namespace. */
function namespacesOf(route: string, params: PathParams): readonly string[] {
  const { project_name: project, database_name: database } = params
  const names = [project, database].filter((name) => name !== undefined)
  return route.startsWith('/api/files/') ? [...names, FILES_DATABASE] : names
}

function failureResponse(
  operations: readonly Operation[],
  context: RouteContext,
  request: Request,
  error: unknown,
): Response {
  const { deps } = context
  const scope = context.scopeOf(request)
  const isUnmatched = error instanceof Error && 'code' in error && error.code === 'NOT_FOUND'
  if (isUnmatched) return unmatchedResponse(operations, scope, deps.now())
  const failure = requestError(error, scope.signal)
  scope.failure = failure.code
  if (ERRORS[failure.code].status >= 500) {
    deps.logError({ requestId: scope.id, error: failure.cause ?? failure })
  }
  return failureResponseAt(scope.path, failure, deps.now())
}

/** The answer for an unknown path, or for a known one with another method. */
function unmatchedResponse(
  operations: readonly Operation[],
  scope: RequestScope,
  nowMs: number,
): Response {
  const methods = methodsOf(operations, scope.path)
  if (methods.length === 0) {
    scope.failure = 'not_found'
    const detail = isOpenAiPath(scope.path)
      ? `Unknown request URL: ${scope.method} ${scope.path.slice(0, 200)}; docs/openai.md lists them all`
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

/** The methods of a path; empty for an unknown path. */
function methodsOf(operations: readonly Operation[], path: string): readonly string[] {
  const here = operations.filter((operation) => isMatch(operation.path, path))
  const methods: readonly string[] = here.map(({ method }) => method)
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
