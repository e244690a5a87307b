import { Elysia } from 'elysia'
import { AppError, ERRORS, toAppError } from '../errors.ts'
import { Authentication } from './authentication.ts'
import { refuseCrossSite } from './cross-site.ts'
import type { Edge } from './edge.ts'
import { errorResponse } from './error-response.ts'
import { openApiDocument } from './openapi.ts'
import { RequestScope } from './request-scope.ts'
import { isPublic, methodsOf } from './route-table.ts'
import { addAgentRoutes } from './routes/agents.ts'
import { addCompletionRoutes } from './routes/completions.ts'
import { addDatabaseRoutes } from './routes/databases.ts'
import { addFileRoutes } from './routes/files.ts'
import { addKnowledgeBaseRoutes } from './routes/knowledge-bases.ts'
import { addLoginRoutes } from './routes/login.ts'
import { addPageRoutes } from './routes/page.ts'
import { addProjectRoutes } from './routes/projects.ts'
import { addSqlRoutes } from './routes/sql.ts'
import { addStatusRoutes } from './routes/status.ts'
import type { ServerDeps } from './server-deps.ts'

/** Longest silence on a connection, outside of a request that is being worked on. */
const IDLE_SECONDS = 120

export interface Server {
  /** Answers one request; it never rejects. */
  handle(request: Request): Promise<Response>
  /** @throws Error of the system when the address cannot be taken */
  listen(address: { readonly hostname: string; readonly port: number }): Listener
}

export interface Listener {
  readonly url: URL
  /**
   * Takes no new requests, lets those under way finish for `graceMs`, then aborts them: streams end with a typed error
   * and `end`.
   */
  stop(graceMs: number): Promise<void>
}

export function createServer(deps: ServerDeps): Server {
  const requests = new Requests(deps)
  const edge: Edge = {
    deps,
    authentication: new Authentication(deps),
    scopeOf: (request) => requests.scopeOf(request),
    isReady: () => !requests.isStopping,
  }
  const app = createApp(edge)
  const answer: AnswerOne = (request, onArrived) => {
    return requests.answer(request, { onArrived, route: () => app.handle(request) })
  }
  return {
    handle: (request) => answer(request, () => {}),
    listen: (address) => listen(address, answer, requests),
  }
}

type AnswerOne = (request: Request, onArrived: () => void) => Promise<Response>

function createApp(edge: Edge): Elysia {
  const app = new Elysia({ normalize: false, handler: { standardHostname: false } })
  app.onError(({ error, request }) => failureResponse(app, edge, { error, request }))
  app.onBeforeHandle(({ request }) => refuseCrossSite(request, edge.deps.settings.isLoopback))
  if (edge.authentication.isOn) {
    app.onBeforeHandle(async ({ request, route }) => {
      if (!isPublic(request.method, route)) await edge.authentication.require(request)
    })
  }
  app.use(openApiDocument(edge.deps.settings.version))
  addStatusRoutes(app, edge)
  addLoginRoutes(app, edge)
  addProjectRoutes(app, edge)
  addKnowledgeBaseRoutes(app, edge)
  addAgentRoutes(app, edge)
  addCompletionRoutes(app, edge)
  addFileRoutes(app, edge)
  addDatabaseRoutes(app, edge)
  addSqlRoutes(app, edge)
  addPageRoutes(app, edge)
  return app
}

interface Failure {
  readonly error: unknown
  readonly request: Request
}

function failureResponse(app: Elysia, edge: Edge, { error, request }: Failure): Response {
  const { deps } = edge
  const scope = edge.scopeOf(request)
  const isUnmatched = error instanceof Error && 'code' in error && error.code === 'NOT_FOUND'
  if (isUnmatched) return unmatchedResponse(app, scope, deps.now())
  const failure = appErrorOf(error, scope.signal)
  if (ERRORS[failure.code].status >= 500) {
    deps.logError({ requestId: scope.id, error: failure.cause ?? failure })
  }
  return errorResponse(failure, deps.now())
}

/** A path that nothing answers, or not with this method. */
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

/** What was aborted is no bug, whatever it throws. */
function appErrorOf(error: unknown, signal: AbortSignal): AppError {
  if (error instanceof AppError || !signal.aborted) return toAppError(error)
  if (signal.reason instanceof AppError) return signal.reason
  return new AppError('cancelled', 'The client closed the connection', { cause: error })
}

interface AnswerInit {
  readonly onArrived: () => void
  readonly route: () => Promise<Response>
}

/** The requests under way. */
class Requests {
  readonly #deps: ServerDeps
  readonly #scopes = new WeakMap<Request, RequestScope>()
  readonly #running = new Set<RequestScope>()
  #isStopping = false
  #onIdle = () => {}

  constructor(deps: ServerDeps) {
    this.#deps = deps
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  scopeOf(request: Request): RequestScope {
    const scope = this.#scopes.get(request)
    if (scope === undefined) throw new Error('a request reached a route without its scope')
    return scope
  }

  async answer(request: Request, { onArrived, route }: AnswerInit): Promise<Response> {
    const startMs = this.#deps.now()
    const scope = new RequestScope({
      id: this.#requestId(request),
      request,
      onArrived,
      onEnd: (ended) => this.#ended(ended, startMs),
    })
    this.#scopes.set(request, scope)
    this.#running.add(scope)
    const response = await this.#respond(scope, route)
    response.headers.set('x-request-id', scope.id)
    scope.answered(response.status)
    return response
  }

  async #respond(scope: RequestScope, route: () => Promise<Response>): Promise<Response> {
    const { now, logError } = this.#deps
    try {
      if (!isDecodable(scope.path)) {
        throw new AppError('invalid_request', 'The path holds a malformed percent escape')
      }
      return await route()
    } catch (error) {
      if (!(error instanceof AppError)) logError({ requestId: scope.id, error })
      return errorResponse(toAppError(error), now())
    }
  }

  /** The client's own, where it is harmless; else a new one. */
  #requestId(request: Request): string {
    const sent = request.headers.get('x-request-id')
    return sent !== null && /^[\w.-]{1,128}$/.test(sent) ? sent : this.#deps.newId()
  }

  #ended(scope: RequestScope, startMs: number): void {
    this.#running.delete(scope)
    const { id: requestId, method, path, status } = scope
    this.#deps.log({ method, path, status, ms: this.#deps.now() - startMs, requestId })
    if (this.#running.size === 0) this.#onIdle()
  }

  /** Resolves when nothing is under way, at the latest after `graceMs` and a second to end what was aborted. */
  async drain(graceMs: number): Promise<void> {
    this.#isStopping = true
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#running.size === 0) return
    await Promise.race([idle, Bun.sleep(graceMs)])
    const reason = new AppError('shutting_down', 'The server is shutting down')
    for (const scope of this.#running) scope.abort(reason)
    if (this.#running.size > 0) await Promise.race([idle, Bun.sleep(ABORT_MS)])
  }
}

const ABORT_MS = 1_000

function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

function listen(
  address: { readonly hostname: string; readonly port: number },
  answer: AnswerOne,
  requests: Requests,
): Listener {
  const server = Bun.serve({
    ...address,
    idleTimeout: IDLE_SECONDS,
    // Bun would answer with an empty 413; body.ts keeps the limit and says why.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    async fetch(request, bun) {
      // Bun counts the time in which an answer is worked out as silence, too.
      const response = await answer(request, () => bun.timeout(request, 0))
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
