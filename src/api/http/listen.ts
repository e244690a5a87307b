import { isQuery } from '../../core/domain/server-state.ts'
import { AppError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { settlesWithin } from '../../core/runtime/cancellation.ts'
import type { Peer } from './access/rate-limits.ts'
import { failureResponseAt } from './request/error-response.ts'
import type { Connection, RunningRequests } from './request/running-requests.ts'

/** How long a connection without a request may stay idle. */
const IDLE_SECONDS = 120

export type AnswerRequest = (request: Request, connection: Connection) => Promise<Response>

export interface Listener {
  readonly url: URL
  /** Running requests get `graceMs`, then streams end with a typed error and `end`. */
  stop(graceMs: number): Promise<void>
  /** Like `stop`, but read-only requests wait and are passed on to the next process here. */
  handOver(graceMs: number): Promise<{
    /** After the waiting requests. @param isThere whether the next process is answering */
    end(isThere: boolean): Promise<void>
  }>
}

export interface ListenAddress {
  readonly hostname: string
  readonly port: number
  /** Whether the previous process may still be listening on the port. */
  readonly isShared?: boolean
}

export function listen(
  { hostname, port, isShared = false }: ListenAddress,
  answer: AnswerRequest,
  requests: RunningRequests,
): Listener {
  let handover: Handover | null = null
  const options = {
    hostname,
    idleTimeout: IDLE_SECONDS,
    // Without this, Bun would answer with an empty 413; body.ts enforces the limit and explains it.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    async fetch(request: Request, bun: Bun.Server<undefined>) {
      if (handover !== null) return handover.answer(request)
      // Bun also counts the time until an answer as idle.
      const response = await answer(request, {
        ...peerOf(bun.requestIP(request)),
        onArrived: () => bun.timeout(request, 0),
      })
      bun.timeout(request, IDLE_SECONDS)
      return response
    },
  }
  // The port may be shared with the next process, but not with another server.
  if (port !== 0 && !isShared) claim(options, port)
  const server = Bun.serve({ ...options, port, reusePort: true })
  return {
    url: server.url,
    async handOver(graceMs) {
      const waiting = new Handover()
      handover = waiting
      await requests.drain(graceMs)
      return {
        async end(isThere) {
          waiting.end(isThere ? loopbackOf(server.url) : null)
          // Not earlier, because open connections would be reset under their clients' next
          // requests.
          void server.stop(false)
          const deadline = performance.now() + FORWARD_MS_MAX
          // A request may still be arriving on an open connection.
          for (let quiet = 0; quiet < QUIET_LOOKS && performance.now() < deadline; quiet += 1) {
            if (server.pendingRequests > 0) quiet = 0
            await Bun.sleep(FORWARD_LOOK_MS)
          }
        },
      }
    },
    async stop(graceMs) {
      const closed = server.stop(false)
      await requests.drain(graceMs)
      await server.stop(true)
      await closed
    },
  }
}

/** @throws Error if another process has the port: sharing it would lose half the requests */
function claim(options: { readonly hostname: string }, port: number): void {
  const alone = Bun.serve({ ...options, port, reusePort: false, fetch: () => new Response() })
  void alone.stop(true)
}

/** The time limit for requests passed on to the next process. */
const FORWARD_MS_MAX = 30_000
const FORWARD_LOOK_MS = 20
const QUIET_LOOKS = 15

/** The URL by which this machine reaches a server that listens on all addresses. */
function loopbackOf(url: URL): URL {
  const found = new URL(url)
  if (found.hostname === '0.0.0.0') found.hostname = '127.0.0.1'
  if (found.hostname === '[::]') found.hostname = '[::1]'
  return found
}

export const UNKNOWN: Peer = { address: 'unknown', port: 0 }

/** On a dual-stack socket, IPv4 clients appear as `::ffff:192.0.2.1`. */
function peerOf(found: Bun.SocketAddress | null): Peer {
  if (found === null) return UNKNOWN
  return { address: found.address.replace(/^::ffff:(?=[\d.]+$)/i, ''), port: found.port }
}

/** How long a request waits for the next process. */
const HOLD_MS = 5_000
const HELD_MAX = 1_000
const BODY_BYTES_MAX = 1024 ** 2

/** While another process starts, reading requests wait and are passed on; others retry. */
class Handover {
  readonly #successor = Promise.withResolvers<URL | null>()
  #heldCount = 0

  async answer(request: Request): Promise<Response> {
    const answer = await this.#answer(request)
    // This process is about to end.
    answer.headers.set('connection', 'close')
    return answer
  }

  async #answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname
    const held = this.#heldCount < HELD_MAX ? await readingRequest(request, path) : null
    const url = held === null ? null : await this.#next()
    const failure = new AppError('shutting_down', 'The server is being replaced; try again')
    if (held === null || url === null) return failureResponseAt(path, failure, Date.now())
    const target = new URL(request.url.slice(new URL(request.url).origin.length), url)
    const { method, headers } = request
    const sent = { method, headers, redirect: 'manual', decompress: false } as const
    try {
      return await fetch(target, { ...sent, ...(held.body === null ? {} : { body: held.body }) })
    } catch {
      return failureResponseAt(path, failure, Date.now())
    }
  }

  /** @param url the address of the next process; null if it does not answer */
  end(url: URL | null): void {
    this.#successor.resolve(url)
  }

  async #next(): Promise<URL | null> {
    const { promise } = this.#successor
    this.#heldCount += 1
    const isThere = await settlesWithin(promise, HOLD_MS)
    this.#heldCount -= 1
    return isThere ? promise : null
  }
}

/** Returns null for a request that may change something, or that is too large to hold. */
async function readingRequest(
  request: Request,
  path: string,
): Promise<{ readonly body: ArrayBuffer | null } | null> {
  if (request.method === 'GET' || request.method === 'HEAD') return { body: null }
  const isSearch = /^\/api\/projects\/[^/]+\/knowledge_bases\/[^/]+\/search$/.test(path)
  const length = Number(request.headers.get('content-length') ?? Number.POSITIVE_INFINITY)
  if (request.method !== 'POST' || length > BODY_BYTES_MAX) return null
  if (!isSearch && path !== '/api/sql/query') return null
  const body = await request.arrayBuffer()
  return isSearch || holdsQuery(body) ? { body } : null
}

function holdsQuery(body: ArrayBuffer): boolean {
  try {
    const sent: unknown = JSON.parse(new TextDecoder().decode(body))
    return isObject(sent) && typeof sent.query === 'string' && isQuery(sent.query)
  } catch {
    return false
  }
}
