import { AppError } from '../core/errors.ts'
import { Semaphore } from '../core/runtime/semaphore.ts'

export interface PooledConnection {
  /** It was lost, or is not to be used again. */
  readonly hasEnded: boolean
  /** While it is idle it does not keep the process up. */
  setBusy(isBusy: boolean): void
  close(): Promise<void>
}

export interface Lease<Connection> {
  readonly connection: Connection
  /** It has not been used before: when it fails, it did not fail for its age. */
  readonly isFresh: boolean
  /** Only the first call counts. */
  end(): void
}

const CONNECTIONS_MAX = 8
const WAITING_MAX = 100
const IDLE_MS = 30_000

/** Few connections to one server. Idle ones are used again, the last one first, and closed after a while. */
export class ConnectionPool<Connection extends PooledConnection> {
  readonly #open: (signal: AbortSignal) => Promise<Connection>
  readonly #places: Semaphore
  readonly #idle = new Map<Connection, ReturnType<typeof setTimeout>>()
  readonly #busy = new Set<Connection>()
  #isClosed = false

  constructor(
    name: string,
    open: (signal: AbortSignal) => Promise<Connection>,
    connectionsMax = CONNECTIONS_MAX,
  ) {
    this.#open = open
    this.#places = new Semaphore({
      placesMax: connectionsMax,
      waitingMax: WAITING_MAX,
      tooBusy: () => new AppError('too_busy', `Too many statements wait for data source ${name}`),
    })
  }

  /** @throws AppError `too_busy`; the signal's reason; what opening fails with */
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

  /** The others may have been lost with one that was. */
  closeIdle(): void {
    for (let one = this.#takeIdle(); one !== undefined; one = this.#takeIdle()) void one.close()
  }

  /** Connections at work end, too, and with them what they do. */
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
