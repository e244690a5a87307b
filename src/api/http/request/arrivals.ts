import { AppError } from '../../../core/errors.ts'
import { clientBlock } from '../../../core/runtime/address-policy.ts'
import { LruMap } from '../../../core/runtime/lru-map.ts'
import { TimeSlice } from '../../../core/runtime/serial-queue.ts'
import { TokenBucket } from '../../../core/runtime/token-bucket.ts'

/** The other end of a connection. */
export interface Peer {
  /** `unknown` without a connection. */
  readonly address: string
  readonly port: number
}

export interface ArrivalDeps {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** @throws the signal's reason if it aborts meanwhile */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/** New connections of one client. Browsers and pools keep theirs and stay far below. */
const NEW_CONNECTIONS = { size: 500, perSecond: 200 }
/** How long a new connection waits for its client's rate; longer, and it is refused. */
const WAIT_MS_MAX = 2_000
const CLIENTS_MAX = 10_000
const CONNECTIONS_MAX = 10_000
/** Once the requests of a turn have computed for this long, the rest wait for the next. */
const TURN_MS = 1
/** Requests over known connections between two over new ones, while both wait. */
const KNOWN_IN_A_ROW = 3

/**
 * Admits requests, each in a later turn of the event loop, and computing ones in separate turns. Bun 1.4 handles a
 * connection's first request while it accepts connections, and accepts until none is waiting. If requests computed right
 * there, clients would return with new connections before it was done: timers, files and DuckDB's results would wait for the
 * whole flood.
 */
export class Arrivals {
  readonly #deps: ArrivalDeps
  /** Bun says nothing of a connection but its client's port: one seen here before is the same connection. */
  readonly #connections = new LruMap<string, true>({ sizeMax: CONNECTIONS_MAX })
  readonly #rates = new LruMap<string, TokenBucket>({ sizeMax: CLIENTS_MAX })
  readonly #known: (() => void)[] = []
  readonly #new: (() => void)[] = []
  #knownInARow = 0
  /** The turn of the event loop since a request was admitted. */
  #turn: TimeSlice | null = null

  constructor(deps: ArrivalDeps) {
    this.#deps = deps
  }

  /** Resolves when the request may start. @throws AppError `rate_limited`; the signal's reason */
  async enter({ address, port }: Peer, signal: AbortSignal): Promise<void> {
    const connection = `${address} ${port}`
    const isNew = this.#connections.get(connection) === undefined
    if (isNew) {
      this.#connections.set(connection, true)
      await this.#keepToRate(clientBlock(address), signal)
    }
    await this.#turnIn(isNew ? this.#new : this.#known)
  }

  /** Resolves when processing a large body may start, which arrived after its request. */
  bodyTurn(): Promise<void> {
    return this.#turnIn(this.#new)
  }

  #turnIn(line: (() => void)[]): Promise<void> {
    return new Promise((resolve) => {
      line.push(resolve)
      setImmediate(this.#letOneIn)
    })
  }

  readonly #letOneIn = () => {
    if (this.#turn === null) {
      this.#turn = new TimeSlice(TURN_MS)
      setImmediate(() => {
        this.#turn = null
      })
    }
    if (this.#turn.isSpent) {
      setImmediate(this.#letOneIn)
      return
    }
    const isKnownNext = this.#known.length > 0 && this.#knownInARow < KNOWN_IN_A_ROW
    const letIn = (isKnownNext ? this.#known : this.#new).shift() ?? this.#known.shift()
    this.#knownInARow = isKnownNext ? this.#knownInARow + 1 : 0
    letIn?.()
  }

  async #keepToRate(client: string, signal: AbortSignal): Promise<void> {
    const nowMs = this.#deps.now()
    const rate = this.#rates.get(client) ?? new TokenBucket(NEW_CONNECTIONS, nowMs)
    this.#rates.set(client, rate)
    const waitMs = rate.take(nowMs, WAIT_MS_MAX)
    if (waitMs > WAIT_MS_MAX) {
      const found = `This address opens more than ${NEW_CONNECTIONS.perSecond} connections a second`
      throw new AppError('rate_limited', `${found}; send several requests over each of them`)
    }
    if (waitMs > 0) await this.#deps.sleep(waitMs, signal)
  }
}
