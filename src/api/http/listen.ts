import { Handover } from './handover.ts'
import type { Peer } from './request/arrivals.ts'
import type { Connection, RunningRequests } from './request/running-requests.ts'

/** Longest silence on a connection, outside of a request that is being worked on. */
const IDLE_SECONDS = 120

export type AnswerRequest = (request: Request, connection: Connection) => Promise<Response>

export interface Listener {
  readonly url: URL
  /**
   * Takes no new requests, lets those under way finish for `graceMs`, then aborts them: streams
   * end with a typed error and `end`.
   */
  stop(graceMs: number): Promise<void>
  /** The same, but requests that only read wait for the process that comes after this one at the same address. */
  handOver(graceMs: number): Promise<OpenHandover>
}

export interface OpenHandover {
  /** Resolves when requests that waited are answered. @param isThere whether the next process answers requests */
  end(isThere: boolean): Promise<void>
}

export interface ListenAddress {
  readonly hostname: string
  readonly port: number
  /** The process before this one may still listen there. */
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
    // Bun would answer with an empty 413; body.ts keeps the limit and says why.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    async fetch(request: Request, bun: Bun.Server<undefined>) {
      if (handover !== null) return handover.answer(request)
      // Bun counts the time that an answer takes as silence, too.
      const response = await answer(request, {
        ...peerOf(bun.requestIP(request)),
        onArrived: () => bun.timeout(request, 0),
      })
      bun.timeout(request, IDLE_SECONDS)
      return response
    },
  }
  // Shares its port with the process that comes after it, and with no other server.
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
          // Not before: connections that are open would be reset under their clients' next requests.
          void server.stop(false)
          const deadline = performance.now() + FORWARD_MS_MAX
          // A request may still be on its way over a connection that is open.
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

/** @throws Error where another process listens at the port: sharing it would take half of that one's requests */
function claim(options: { readonly hostname: string }, port: number): void {
  const alone = Bun.serve({ ...options, port, reusePort: false, fetch: () => new Response() })
  void alone.stop(true)
}

/** For answers that are passed on from the next process. */
const FORWARD_MS_MAX = 30_000
const FORWARD_LOOK_MS = 20
const QUIET_LOOKS = 15

/** Where this machine reaches a server that listens on all of its addresses. */
function loopbackOf(url: URL): URL {
  const found = new URL(url)
  if (found.hostname === '0.0.0.0') found.hostname = '127.0.0.1'
  if (found.hostname === '[::]') found.hostname = '[::1]'
  return found
}

export const UNKNOWN: Peer = { address: 'unknown', port: 0 }

/** An IPv4 client of a socket that speaks both reads `::ffff:192.0.2.1`. */
function peerOf(found: Bun.SocketAddress | null): Peer {
  if (found === null) return UNKNOWN
  return { address: found.address.replace(/^::ffff:(?=[\d.]+$)/i, ''), port: found.port }
}
