import { AppError, toAppError } from '../errors.ts'
import { errorResponse } from './error-response.ts'
import { RequestScope } from './request-scope.ts'
import type { ServerDeps } from './server-deps.ts'

/**
 * The requests under way: each gets its scope, its one line in the log, and an answer whatever
 * happens.
 */
export class RunningRequests {
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
      // An open connection can bring requests after the port is closed.
      if (this.#isStopping) throw shuttingDown()
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

  /**
   * Resolves when nothing is under way, at the latest after `graceMs` and a second to end what was
   * aborted.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isStopping = true
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#running.size === 0) return
    await Promise.race([idle, Bun.sleep(graceMs)])
    for (const scope of this.#running) scope.abort(shuttingDown())
    if (this.#running.size > 0) await Promise.race([idle, Bun.sleep(ABORT_MS)])
  }
}

/** What was aborted gets this long to end. */
const ABORT_MS = 1_000

interface AnswerInit {
  readonly onArrived: () => void
  readonly route: () => Promise<Response>
}

function shuttingDown(): AppError {
  return new AppError('shutting_down', 'The server is shutting down')
}

function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
