import { ANYONE, mayDo, type Principal } from '../../../core/domain/access/principal.ts'
import type { RunningEntry, RunningWork } from '../../../core/domain/ports/engine-ports.ts'
import { shownStatement } from '../../../core/domain/server-state.ts'
import { AppError, type ErrorCode, shuttingDown } from '../../../core/errors.ts'
import { onAbort, setCaller, setOrigin } from '../../../core/runtime/cancellation.ts'
import { type ArrivalDeps, Arrivals, type Peer } from '../access/rate-limits.ts'
import { failureResponseAt, requestError } from './error-response.ts'

export interface LogEntry {
  readonly method: string
  /** Without the query string, which may contain secrets. */
  readonly path: string
  /** The path's pattern, such as `/api/projects/:project_name`; `unknown` without a route. */
  readonly route: string
  readonly status: number
  /** From the arrival of the request to the last byte of the answer. */
  readonly ms: number
  readonly requestId: string
  /** The answer's error code, also for statements that failed after sending rows; or null. */
  readonly code: ErrorCode | null
  /** Who made the request; null if no login was needed or used. */
  readonly principal: string | null
}

export interface LoggedError {
  readonly requestId: string
  /** The trace of the failed agent run, if there was one. */
  readonly traceId?: string
  readonly error: unknown
}

export interface RequestDeps extends ArrivalDeps {
  readonly running: RunningWork
  readonly log: (entry: LogEntry) => void
  readonly logError: (error: LoggedError) => void
  /** Returns a new UUID. */
  readonly newId: () => string
}

export interface Connection extends Peer {
  /** Called once the whole request has arrived. From then on, the client waits for the server. */
  onArrived(): void
}

const KEPT_MAX = 1_000
const PATH_CHARS_MAX = 300

export interface RecentRequest extends LogEntry {
  /** Milliseconds since 1970. */
  readonly startMs: number
  /** Whether the request came from Eider's web page, according to the client. */
  readonly isFromPage: boolean
}

/** The most recent finished requests, for administrators. The log has all of them. */
class RecentRequests {
  readonly #kept: RecentRequest[] = []

  add(entry: LogEntry, { startMs, isFromPage }: Omit<RecentRequest, keyof LogEntry>): void {
    this.#kept.push({ ...entry, path: keptPath(entry.path), startMs, isFromPage })
    if (this.#kept.length > KEPT_MAX) this.#kept.shift()
  }

  list(): readonly RecentRequest[] {
    return this.#kept.toReversed()
  }
}

/** A copy, because a slice would keep the whole URL in memory, including the query string. */
function keptPath(path: string): string {
  const isLong = path.length > PATH_CHARS_MAX
  const kept = Buffer.from(isLong ? path.slice(0, PATH_CHARS_MAX) : path).toString()
  return isLong ? `${kept}…` : kept
}

/** The running requests. Each gets a scope, a line in the log, and an answer in every case. */
export class RunningRequests {
  readonly #deps: RequestDeps
  readonly #arrivals: Arrivals
  readonly #scopes = new WeakMap<Request, RequestScope>()
  readonly #running = new Set<RequestScope>()
  readonly #onAnswered: (scope: RequestScope) => void
  #isStopping = false
  #onIdle = () => {}
  #lastNumber = 0
  /** The most recent finished requests. */
  readonly recent = new RecentRequests()

  /** @param onAnswered called once the status is known */
  constructor(deps: RequestDeps, onAnswered: (scope: RequestScope) => void) {
    this.#deps = deps
    this.#arrivals = new Arrivals(deps)
    this.#onAnswered = onAnswered
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  list(): readonly RequestScope[] {
    return [...this.#running]
  }

  /** Its own, or all for an administrator of the whole server. */
  seenBy(principal: Principal): readonly RequestScope[] {
    const seesAll = mayDo(principal, 'admin') && principal.namespaces === null
    return this.list().filter(({ principal: { kind, id } }) => {
      return seesAll || (kind === principal.kind && id === principal.id)
    })
  }

  scopeOf(request: Request): RequestScope {
    const scope = this.#scopes.get(request)
    if (scope === undefined) throw new Error('a request reached a route without its scope')
    return scope
  }

  async answer(
    request: Request,
    connection: Connection,
    route: () => Promise<Response>,
  ): Promise<Response> {
    const startMs = this.#deps.now()
    this.#lastNumber += 1
    const scope = new RequestScope(this.#requestId(request), request, {
      ...{ number: this.#lastNumber, startMs },
      connection,
      running: this.#deps.running,
      onEnd: (ended) => this.#ended(ended),
    })
    this.#scopes.set(request, scope)
    this.#running.add(scope)
    const response = await this.#respond(scope, connection, route)
    response.headers.set('x-request-id', scope.id)
    if (scope.skippedRows !== null) {
      response.headers.set(SKIPPED_ROWS_HEADER, String(scope.skippedRows))
    }
    scope.answered(response.status)
    this.#onAnswered(scope)
    return response
  }

  async #respond(
    scope: RequestScope,
    peer: Peer,
    route: () => Promise<Response>,
  ): Promise<Response> {
    const { now, logError } = this.#deps
    try {
      await this.#arrivals.enter(peer, scope.signal)
      // Requests can still arrive on open connections after the port is closed.
      if (this.#isStopping) throw shuttingDown()
      if (!isDecodable(scope.path)) {
        throw new AppError('invalid_request', 'The path holds a malformed percent escape')
      }
      return await route()
    } catch (error) {
      const failure = requestError(error, scope.signal)
      if (failure.code === 'internal') logError({ requestId: scope.id, error })
      scope.failure = failure.code
      return failureResponseAt(scope.path, failure, now())
    }
  }

  /** Resolves when processing of a large body may start. */
  bodyTurn(): Promise<void> {
    return this.#arrivals.bodyTurn()
  }

  /** The id sent by the client if it is harmless, otherwise a new one. */
  #requestId(request: Request): string {
    const sent = request.headers.get('x-request-id')
    return sent !== null && /^[\w.-]{1,128}$/.test(sent) ? sent : this.#deps.newId()
  }

  #ended(scope: RequestScope): void {
    this.#running.delete(scope)
    const { id: requestId, method, path, route, status, failure: code, principal } = scope
    const { startMs, isFromPage } = scope
    const entry = {
      ...{ method, path, route, status, ms: this.#deps.now() - startMs, requestId, code },
      principal: principal.kind === 'open' ? null : `${principal.kind} ${principal.name}`,
    }
    this.#deps.log(entry)
    this.recent.add(entry, { startMs, isFromPage })
    if (this.#running.size === 0) this.#onIdle()
  }

  /** Waits `graceMs`, then at most a second for aborted requests to end. */
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

export const SKIPPED_ROWS_HEADER = 'X-Eider-Skipped-Rows'

/** How long aborted requests may take to end. */
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

/** How much of a running statement is shown. */
const STATEMENT_CHARS_MAX = 500

/** What is known about one request besides its content: its id, its abort signal, and its end. */
export class RequestScope {
  readonly id: string
  /** Unique until the server restarts. Request ids are not, because clients choose them. */
  readonly number: number
  /** Milliseconds since 1970. */
  readonly startMs: number
  readonly method: string
  readonly path: string
  /** The pattern of the path, set before the route runs. */
  route = 'unknown'
  /** The network address of the client or the proxy in front of it; `unknown` if not connected. */
  readonly address: string
  /** Who makes the request, set before the route runs. On a public route it may be ANYONE. */
  principal: Principal = ANYONE
  /** A client's claim: tells the page from programs; never grants access. */
  readonly isFromPage: boolean
  /** For recording the request's statement. */
  readonly running: RunningEntry
  /** The change for the audit log; null if there is none. */
  change: { readonly action: string; readonly targets: readonly string[] } | null = null
  /** Because their content is empty; null if it is not an insert. */
  skippedRows: number | null = null
  /** The error code in the answer. */
  failure: ErrorCode | null = null
  readonly #abort = new AbortController()
  readonly #onEnd: (scope: RequestScope) => void
  readonly #onArrived: () => void
  #sql: string | null = null
  #isStreaming = false
  #hasEnded = false
  #status = 0

  /** @param events `onEnd` is called once, when the answer is complete or the client is gone */
  constructor(
    id: string,
    request: Request,
    init: {
      readonly number: number
      readonly startMs: number
      readonly connection: Connection
      readonly running: RunningWork
      onEnd(scope: RequestScope): void
    },
  ) {
    const { connection, running, onEnd } = init
    this.id = id
    this.number = init.number
    this.startMs = init.startMs
    this.method = request.method
    this.path = pathOf(request.url)
    this.isFromPage = isFromPage(request)
    const noted = running.begin(`${this.method} ${this.path}`)
    this.running = {
      statement: (sql) => {
        this.#sql = sql
        noted.statement(sql)
      },
      end: () => noted.end(),
    }
    this.#onEnd = onEnd
    this.address = connection.address
    this.#onArrived = () => connection.onArrived()
    if (!hasBody(request)) this.#onArrived()
    const { signal } = request
    onAbort(signal, () => this.#abort.abort(signal.reason))
    setCaller(this.#abort.signal, this.address)
    setOrigin(this.#abort.signal, this)
  }

  /** Aborted when the client disconnects, the stream is cancelled or the server stops. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** The first words of the statement, without values; null if there is none. */
  get statement(): string | null {
    return this.#sql === null ? null : shownStatement(this.#sql, STATEMENT_CHARS_MAX)
  }

  get isStreaming(): boolean {
    return this.#isStreaming
  }

  get status(): number {
    return this.#status
  }

  /** For the audit log; automatic for `write` and `admin` routes. @param targets names only */
  noteChange(action: string, targets: readonly string[] = []): void {
    this.change = { action, targets }
  }

  /** Adds the name of a changed object. */
  noteTarget(name: string): void {
    const { change } = this
    if (change !== null) this.change = { ...change, targets: [...change.targets, name] }
  }

  abort(reason: unknown): void {
    this.#abort.abort(reason)
  }

  bodyArrived(): void {
    this.#onArrived()
  }

  /** After this, only `end` ends the request. */
  startStreaming(): void {
    this.#isStreaming = true
  }

  /** Called once the status is known. Unless the answer is a stream, this ends the request. */
  answered(status: number): void {
    this.#status = status
    if (!this.#isStreaming) this.end()
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.running.end()
    this.#onEnd(this)
  }
}

function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0'
}

/** By the page's own header. Browsers mark files that a page loads, and typed addresses. */
function isFromPage({ headers }: Request): boolean {
  if (headers.has('x-eider-page')) return true
  const site = headers.get('sec-fetch-site')
  return site === 'same-origin' || site === 'none'
}

/** The path of an absolute URL as sent, without the query string. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  if (start === -1) return '/'
  const end = url.indexOf('?', start)
  return end === -1 ? url.slice(start) : url.slice(start, end)
}
