import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { Principal } from '../../core/domain/access/principal.ts'
import { MINUTE_MS } from '../../core/time.ts'

/** All together, and of one client: a key or user at one address. */
const SESSIONS_MAX = 1_000
const CLIENT_SESSIONS_MAX = 500
/** Requests after which a session counts as used: opening one takes the first. */
const REQUESTS_OF_USE = 2
const IDLE_MS = 30 * MINUTE_MS
const SWEEP_MS = MINUTE_MS

export interface Session {
  readonly id: string
  /** Nobody else's requests belong to it. */
  readonly owner: string
  readonly address: string
  readonly server: Server
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Ids of requests that are being answered. */
  readonly running: Set<string | number>
  usedMs: number
  requestCount: number
}

export function ownerOf({ kind, id }: Principal): string {
  return `${kind}:${id}`
}

function clientOf({ owner, address }: Pick<Session, 'owner' | 'address'>): string {
  return `${owner} ${address}`
}

/**
 * Sessions of clients: a bounded number, each until its client ends it or is silent for long. If there are too many, one of the
 * client with the most sessions ends, so that a flood ends none but its own: rather one that was only opened than one that was
 * used, and the one silent longest. Its client gets 404 and starts again, as the protocol says.
 */
export class McpSessions {
  readonly #nowMs: () => number
  /** The one that was used last stands last. */
  readonly #sessions = new Map<string, Session>()
  #sweeping: ReturnType<typeof setInterval> | undefined

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get count(): number {
    return this.#sessions.size
  }

  /** undefined: there is none, or it is somebody else's. */
  find(id: string, principal: Principal): Session | undefined {
    const session = this.#sessions.get(id)
    if (session === undefined || session.owner !== ownerOf(principal)) return undefined
    this.used(session)
    session.requestCount += 1
    return session
  }

  used(session: Session): void {
    session.usedMs = this.#nowMs()
    if (this.#sessions.delete(session.id)) this.#sessions.set(session.id, session)
  }

  add(session: Omit<Session, 'usedMs' | 'requestCount'>): Session {
    const added = { ...session, usedMs: this.#nowMs(), requestCount: 0 }
    this.#sweep()
    const byClient = Map.groupBy(this.#sessions.values(), clientOf)
    const own = byClient.get(clientOf(added)) ?? []
    if (own.length >= CLIENT_SESSIONS_MAX) this.#endOldest(own)
    else if (this.#sessions.size >= SESSIONS_MAX) {
      const [most = []] = [...byClient.values()].toSorted((a, b) => b.length - a.length)
      this.#endOldest(most)
    }
    this.#sessions.set(session.id, added)
    this.#sweeping ??= this.#startSweeping()
    return added
  }

  remove(session: Session): void {
    this.#sessions.delete(session.id)
    if (this.#sessions.size === 0) this.#stopSweeping()
  }

  /** Ends streams on which nothing is answered. */
  endIdleStreams(): void {
    for (const { transport } of this.#sessions.values()) transport.closeStandaloneSSEStream()
  }

  async close(): Promise<void> {
    const all = [...this.#sessions.values()]
    this.#sessions.clear()
    this.#stopSweeping()
    await Promise.allSettled(all.map(({ server }) => server.close()))
  }

  /** One that is answering stays where another can go. */
  #endOldest(sessions: readonly Session[]): void {
    const idle = sessions.filter(({ running }) => running.size === 0)
    const unused = idle.find(({ requestCount }) => requestCount < REQUESTS_OF_USE)
    const oldest = unused ?? idle[0] ?? sessions[0]
    if (oldest !== undefined) this.#end(oldest)
  }

  #end(session: Session): void {
    this.remove(session)
    session.server.close().catch(() => {})
  }

  #sweep(): void {
    const before = this.#nowMs() - IDLE_MS
    for (const session of [...this.#sessions.values()]) {
      if (session.usedMs > before) break
      if (session.running.size === 0) this.#end(session)
    }
  }

  #startSweeping(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#sweep(), SWEEP_MS)
    timer.unref()
    return timer
  }

  #stopSweeping(): void {
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }
}
