import type { Principal } from '../../../core/domain/access/principal.ts'
import {
  type AccessKeys,
  KEY_PREFIX,
  type KnownKey,
} from '../../../core/domain/ports/access-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { clientBlock } from '../../../core/runtime/address-policy.ts'
import { LruMap } from '../../../core/runtime/lru-map.ts'
import { TimeSlice } from '../../../core/runtime/serial-queue.ts'

export interface KeyAccessDeps {
  readonly keys: AccessKeys
  readonly settings: {
    /** The limit for keys without their own; 0 means unlimited. */
    readonly keyRequestsPerMinute: number
  }
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** The same message for every reason, so that guessing reveals nothing. */
const KEY_REFUSED =
  'This key is invalid: it is incomplete, was revoked or has expired. Ask an admin of this server for a new one (POST /api/keys)'

/** Authenticates API keys and enforces their rate limits. */
export class KeyAccess {
  readonly #deps: KeyAccessDeps
  /** One bucket per key: holds a minute's requests, refills evenly, and is dropped with the key. */
  readonly #buckets = new WeakMap<KnownKey, TokenBucket>()

  constructor(deps: KeyAccessDeps) {
    this.#deps = deps
  }

  /** Counts towards the key's limit. @throws AppError `unauthorized`, `rate_limited` */
  identify(text: string): { readonly principal: Principal; readonly login: string } {
    const key = this.#known(text)
    if (key === undefined) throw new AppError('unauthorized', KEY_REFUSED)
    this.#count(key)
    this.#deps.keys.noteUse(key.id)
    return { principal: key.principal, login: loginOf(key) }
  }

  /** The login whose slots and variables the key shares; undefined if the key is invalid. */
  loginOf(text: string): string | undefined {
    const key = this.#known(text)
    return key === undefined ? undefined : loginOf(key)
  }

  #known(text: string): KnownKey | undefined {
    const key = this.#deps.keys.find(text)
    return key !== undefined && key.expiresMs > this.#deps.now() ? key : undefined
  }

  #count(key: KnownKey): void {
    const { settings, now } = this.#deps
    const perMinute = key.requestsPerMinute ?? settings.keyRequestsPerMinute
    if (perMinute === 0) return
    const nowMs = now()
    const rate = { size: perMinute, perSecond: perMinute / 60 }
    const bucket = this.#buckets.get(key) ?? new TokenBucket(rate, nowMs)
    this.#buckets.set(key, bucket)
    const waitMs = bucket.take(nowMs, 0)
    if (waitMs === 0) return
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
    const limit = `The key ${key.principal.name} may make ${perMinute} requests a minute`
    throw new AppError('rate_limited', `${limit}; try again in ${retryAfterSeconds} s`, {
      retryAfterSeconds,
    })
  }
}

function loginOf({ id }: KnownKey): string {
  return `key ${id}`
}

/**
 * Finds anything that looks like an Eider key, complete or not: a client that sends one expects the
 * key's restrictions to apply, even on a server without a login. Other tokens are ignored.
 * MindsDB's Python client sends its `api_key` as `X-Api-Key`.
 */
export function keyTextOf({ headers }: Pick<Request, 'headers'>): string | undefined {
  return keyTextIn(headers.get('authorization')) ?? keyTextIn(headers.get('x-api-key'))
}

function keyTextIn(sent: string | null): string | undefined {
  if (sent === null) return undefined
  const start = sent.toLowerCase().indexOf(KEY_PREFIX)
  // The key is the whole value or follows the scheme.
  const isToken = start === 0 || (start > 0 && /^[\w-]+\s+$/.test(sent.slice(0, start)))
  return isToken ? sent.slice(start).trimEnd() : undefined
}

export interface Peer {
  /** `unknown` if the connection has no address. */
  readonly address: string
  readonly port: number
}

export interface ArrivalDeps {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** @throws the signal's reason if it aborts while waiting */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/** The rate of new connections per client. Browsers and connection pools stay far below it. */
const NEW_CONNECTIONS = { size: 500, perSecond: 200 }
/** How long a new connection waits for its client's rate limit before it is refused. */
const WAIT_MS_MAX = 2_000
const CLIENTS_MAX = 10_000
const CONNECTIONS_MAX = 10_000
/** Requests that computed this long in a turn of the event loop leave the rest to the next. */
const TURN_MS = 1
/** Requests over known connections that run before one over a new connection. */
const KNOWN_IN_A_ROW = 3

/**
 * Spreads requests over turns of the event loop. Bun 1.4 handles a connection's first request while
 * it accepts connections, and accepts until none is waiting. If requests were processed there,
 * clients would meanwhile open more connections, and timers, files and DuckDB's results would wait
 * for the whole flood.
 */
export class Arrivals {
  readonly #deps: ArrivalDeps
  /** By address and port, because Bun reveals only these. */
  readonly #connections = new LruMap<string, true>({ sizeMax: CONNECTIONS_MAX })
  readonly #rates = new LruMap<string, TokenBucket>({ sizeMax: CLIENTS_MAX })
  readonly #known: (() => void)[] = []
  readonly #new: (() => void)[] = []
  #knownInARow = 0
  /** The event loop turn in which requests are being admitted. */
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

  /** Resolves when processing of a large body, which arrives after admission, may start. */
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

class TokenBucket {
  readonly #size: number
  readonly #perMs: number
  #tokens: number
  #filledMs: number

  /** The bucket is full at first. @param nowMs milliseconds since 1970, as in all calls */
  constructor(rate: { readonly size: number; readonly perSecond: number }, nowMs: number) {
    this.#size = rate.size
    this.#perMs = rate.perSecond / 1000
    this.#tokens = rate.size
    this.#filledMs = nowMs
  }

  /**
   * Takes a token unless the wait for it would be too long.
   * @param waitMsMax 0 means to take a token only if one is available now
   * @returns how long to wait before using the token. If that is more than `waitMsMax`, no token
   * was taken
   */
  take(nowMs: number, waitMsMax: number): number {
    // A clock that is set back must not empty the bucket.
    const passedMs = Math.max(0, nowMs - this.#filledMs)
    this.#tokens = Math.min(this.#size, this.#tokens + passedMs * this.#perMs)
    this.#filledMs = nowMs
    const waitMs = Math.max(0, (1 - this.#tokens) / this.#perMs)
    if (waitMs <= waitMsMax) this.#tokens -= 1
    return waitMs
  }
}
