/**
 * Sessions with database servers. Each data source has a few connections, which run READ ONLY
 * transactions.
 */
import type { DataSource } from '../core/domain/flow/source-parameters.ts'
import { AppError } from '../core/errors.ts'
import { abortable, onAbort } from '../core/runtime/cancellation.ts'
import { Semaphore } from '../core/runtime/semaphore.ts'
import { type Endpoint, endpointOf } from './server-endpoint.ts'
import { isConnectionFailure, type SourceWork, sourceFailure } from './source-engine.ts'

/**
 * The server's own limit ends a little later than the local one, whose error message is clearer.
 */
const SERVER_GRACE_MS = 500
/** If ending a transaction takes longer than this, its connection is closed instead. */
const ROLLBACK_MS = 2000

interface ServerConnection extends PooledConnection {
  cancel(): Promise<void>
}

export type BeginSession<Connection> = (
  connection: Connection,
  endpoint: Endpoint,
  timeoutMs: number,
) => Promise<void>

export interface ServerProtocol<Connection extends ServerConnection, Kept> {
  open(endpoint: Endpoint, signal: AbortSignal): Promise<Connection>
  /** Begins a READ ONLY transaction in which the server ends statements after `timeoutMs`. */
  readonly begin: BeginSession<Connection>
  rollback(connection: Connection): Promise<unknown>
  /** Returns cached facts about one data source, apart from its connections. */
  kept(endpoint: Endpoint): Kept
}

export interface ServerSession<Connection, Kept> {
  readonly endpoint: Endpoint
  readonly connection: Connection
  readonly kept: Kept
  /** Ends the transaction and gives the connection back. @param isOpen false if it has ended */
  end(isOpen?: boolean): Promise<void>
}

/** What is kept for one data source until its parameters change. */
interface Known<Connection extends ServerConnection, Kept> {
  readonly signature: string
  readonly endpoint: Endpoint
  readonly pool: ConnectionPool<Connection>
  readonly kept: Kept
}

/** Returns the error to throw. If the signal aborted, its reason comes first. */
export function failureOf(error: unknown, { place }: Endpoint, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  return sourceFailure(error, place)
}

export class ServerSessions<Connection extends ServerConnection, Kept> {
  readonly #protocol: ServerProtocol<Connection, Kept>
  readonly #known = new Map<number, Known<Connection, Kept>>()

  constructor(protocol: ServerProtocol<Connection, Kept>) {
    this.#protocol = protocol
  }

  /** Opens a new connection without a statement. */
  async check(source: DataSource, { signal }: SourceWork): Promise<void> {
    const endpoint = endpointOf(source)
    try {
      const connection = await this.#protocol.open(endpoint, signal)
      await connection.close()
    } catch (error) {
      throw failureOf(error, endpoint, signal)
    }
  }

  async within<T>(
    source: DataSource,
    work: SourceWork,
    use: (session: ServerSession<Connection, Kept>) => Promise<T>,
  ): Promise<T> {
    const session = await this.begin(source, work)
    try {
      return await use(session)
    } catch (error) {
      throw failureOf(error, session.endpoint, work.signal)
    } finally {
      await session.end()
    }
  }

  /** If an idle connection turns out to be lost, another one is tried once. */
  async begin(
    source: DataSource,
    work: SourceWork,
    start = this.#protocol.begin,
  ): Promise<ServerSession<Connection, Kept>> {
    const known = this.#knownOf(source)
    try {
      for (;;) {
        const lease = await known.pool.lease(work.signal)
        try {
          return await this.#begun(lease, known, work, start)
        } catch (error) {
          if (lease.isFresh || work.signal.aborted || !isConnectionFailure(error)) throw error
          known.pool.closeIdle()
        }
      }
    } catch (error) {
      throw failureOf(error, known.endpoint, work.signal)
    }
  }

  async forget({ id }: Pick<DataSource, 'id'>): Promise<void> {
    const known = this.#known.get(id)
    this.#known.delete(id)
    await known?.pool.close()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#known.keys()].map((id) => this.forget({ id })))
  }

  async #begun(
    lease: Lease<Connection>,
    { endpoint, kept }: Known<Connection, Kept>,
    { signal, remainingMs }: SourceWork,
    start: BeginSession<Connection>,
  ): Promise<ServerSession<Connection, Kept>> {
    const { connection } = lease
    let cancelled: Promise<void> | null = null
    const stopListening = onAbort(signal, () => {
      cancelled = connection.cancel()
    })
    let isOver = false
    const end = async (isOpen = true) => {
      if (isOver) return
      isOver = true
      stopListening()
      if (isOpen && cancelled === null && !connection.hasEnded) {
        const rollback = this.#protocol.rollback(connection)
        await abortable(rollback, AbortSignal.timeout(ROLLBACK_MS)).catch(() => connection.close())
      }
      await cancelled
      lease.end()
    }
    try {
      const timeoutMs = Math.max(1, Math.ceil(remainingMs()) + SERVER_GRACE_MS)
      await start(connection, endpoint, timeoutMs)
      return { endpoint, connection, kept, end }
    } catch (error) {
      if (!connection.hasEnded && cancelled === null) await connection.close()
      await end()
      throw error
    }
  }

  #knownOf(source: DataSource): Known<Connection, Kept> {
    const signature = JSON.stringify(source.parameters)
    const found = this.#known.get(source.id)
    if (found?.signature === signature) return found
    void found?.pool.close()
    const endpoint = endpointOf(source)
    const open = (signal: AbortSignal) => this.#protocol.open(endpoint, signal)
    const pool = new ConnectionPool(source.name, open)
    const known = { signature, endpoint, pool, kept: this.#protocol.kept(endpoint) }
    this.#known.set(source.id, known)
    return known
  }
}

export interface PooledConnection {
  /** True if the connection was lost or must not be used again. */
  readonly hasEnded: boolean
  /** An idle connection does not keep the process running. */
  setBusy(isBusy: boolean): void
  close(): Promise<void>
}

interface Lease<Connection> {
  readonly connection: Connection
  /** True if the connection was never used before, so a failure cannot be due to its age. */
  readonly isFresh: boolean
  /** Only the first call has an effect. */
  end(): void
}

const SOURCE_CONNECTIONS_MAX = 8
const SESSIONS_WAITING_MAX = 100
const IDLE_MS = 30_000

/** Idle connections are reused, most recently used first, and closed after a while. */
export class ConnectionPool<Connection extends PooledConnection> {
  readonly #open: (signal: AbortSignal) => Promise<Connection>
  readonly #places: Semaphore
  readonly #idle = new Map<Connection, ReturnType<typeof setTimeout>>()
  readonly #busy = new Set<Connection>()
  #isClosed = false

  constructor(name: string, open: (signal: AbortSignal) => Promise<Connection>) {
    this.#open = open
    this.#places = new Semaphore({
      placesMax: SOURCE_CONNECTIONS_MAX,
      waitingMax: SESSIONS_WAITING_MAX,
      tooBusy: () => new AppError('too_busy', `Too many statements wait for data source ${name}`),
    })
  }

  /** @throws AppError `too_busy`; the signal's reason; errors of opening */
  async lease(signal: AbortSignal): Promise<Lease<Connection>> {
    const release = await this.#places.enter(signal)
    try {
      const idle = this.#takeIdle()
      return this.#leased(idle ?? (await this.#open(signal)), idle === undefined, release)
    } catch (error) {
      release()
      throw error
    }
  }

  /** If one connection was lost, the others probably are too. */
  closeIdle(): void {
    for (let one = this.#takeIdle(); one !== undefined; one = this.#takeIdle()) void one.close()
  }

  /** Also ends busy connections and their work. */
  async close(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#idle.keys(), ...this.#busy]
    for (const timer of this.#idle.values()) clearTimeout(timer)
    this.#idle.clear()
    await Promise.all(all.map((connection) => connection.close()))
  }

  #takeIdle(): Connection | undefined {
    for (const [connection, timer] of [...this.#idle].reverse()) {
      clearTimeout(timer)
      this.#idle.delete(connection)
      if (!connection.hasEnded) return connection
    }
    return undefined
  }

  #leased(connection: Connection, isFresh: boolean, release: () => void): Lease<Connection> {
    connection.setBusy(true)
    this.#busy.add(connection)
    return {
      connection,
      isFresh,
      end: () => {
        if (!this.#busy.delete(connection)) return
        release()
        if (connection.hasEnded) return
        if (this.#isClosed) void connection.close()
        else this.#keep(connection)
      },
    }
  }

  #keep(connection: Connection): void {
    connection.setBusy(false)
    const timer = setTimeout(() => {
      this.#idle.delete(connection)
      void connection.close()
    }, IDLE_MS)
    timer.unref()
    this.#idle.set(connection, timer)
  }
}
