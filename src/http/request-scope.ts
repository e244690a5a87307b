import { onAbort } from '../runtime/cancellation.ts'

/**
 * What is known about one request beside its content: its id, when it is to stop, and when it is
 * over.
 */
export interface LogEntry {
  readonly method: string
  /** Without the query string, which may hold secrets. */
  readonly path: string
  readonly status: number
  /** From the request's arrival to the last byte of its answer. */
  readonly ms: number
  readonly requestId: string
}

export interface LoggedError {
  readonly requestId: string
  readonly error: unknown
}

interface ScopeInit {
  readonly id: string
  readonly request: Request
  /** Called once, when the answer is complete or its client gone. */
  readonly onEnd: (scope: RequestScope) => void
  /**
   * Called when the whole request has arrived: from then on silence on the connection is the
   * server's own.
   */
  readonly onArrived: () => void
}

export class RequestScope {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly #abort = new AbortController()
  readonly #onEnd: (scope: RequestScope) => void
  readonly #onArrived: () => void
  #isStreaming = false
  #hasEnded = false
  #status = 0

  constructor({ id, request, onEnd, onArrived }: ScopeInit) {
    this.id = id
    this.method = request.method
    this.path = pathOf(request.url)
    this.#onEnd = onEnd
    this.#onArrived = onArrived
    if (!hasBody(request)) onArrived()
    const { signal } = request
    onAbort(signal, () => this.#abort.abort(signal.reason))
  }

  /** Aborted when the client goes away, the stream is cancelled or the server stops. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get status(): number {
    return this.#status
  }

  abort(reason: unknown): void {
    this.#abort.abort(reason)
  }

  bodyArrived(): void {
    this.#onArrived()
  }

  /** From now on the request is over only when `end` is called. */
  startStreaming(): void {
    this.#isStreaming = true
  }

  /** The status line is decided. Without a stream, that is the end. */
  answered(status: number): void {
    this.#status = status
    if (!this.#isStreaming) this.end()
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#onEnd(this)
  }
}

function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0'
}

/** The path of an absolute URL, as it was sent, without the query string. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  if (start === -1) return '/'
  const end = url.indexOf('?', start)
  return end === -1 ? url.slice(start) : url.slice(start, end)
}
