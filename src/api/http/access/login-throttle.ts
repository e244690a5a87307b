import { createHash } from 'node:crypto'
import { AppError } from '../../../core/errors.ts'
import { clientBlock } from '../../../core/runtime/address-policy.ts'
import { LruMap } from '../../../core/runtime/lru-map.ts'
import { MINUTE_MS } from '../../../core/time.ts'

export interface LoginThrottleDeps {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** @throws the signal's reason if it aborts meanwhile */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

const FIRST_DELAY_MS = 250
/** For a name that few clients guess. */
const DELAY_MS_MAX = 1_000
/** Wrong attempts for one name, from anywhere, until each further doubling doubles the longest delay. */
const NAME_WRONG_FREE = 100
const NAME_DELAY_MS_MAX = 10_000
/** After this long without a wrong attempt, the count restarts. */
const QUIET_MS = 15 * MINUTE_MS

/**
 * Pending wrong attempts of one client for one name. Another is refused without comparing: otherwise parallel guesses would
 * not be slowed down.
 */
const WAITING_MAX = 64
/** Wrong attempts waiting for their answer, of all clients. The next is answered at once. */
const LOGINS_WAITING_MAX = 1_000
const CLIENTS_MAX = 10_000
const NAMES_MAX = 10_000

interface WrongAttempts {
  count: number
  lastMs: number
}

interface ClientAttempts extends WrongAttempts {
  /** When each running delay ends. A client that hangs up does not shorten it. */
  waiting: readonly number[]
  /** Attempts being compared. */
  comparing: number
}

/**
 * Slows down guessing. The right password is answered as soon as it is compared, even while others guess. A wrong one waits
 * 250 ms, 500 ms, 1 s, by client and name, and longer when a name is attacked from many addresses. The delay depends on the
 * name as sent, so that existing and unknown names wait alike.
 */
export class LoginThrottle {
  readonly #deps: LoginThrottleDeps
  readonly #clients = new LruMap<string, ClientAttempts>({ sizeMax: CLIENTS_MAX })
  readonly #names = new LruMap<string, WrongAttempts>({ sizeMax: NAMES_MAX })
  #waitingCount = 0

  constructor(deps: LoginThrottleDeps) {
    this.#deps = deps
  }

  /**
   * The result of `check`; undefined: wrong credentials.
   * @param check may be slow: its time counts towards the delay, so that timing does not reveal which names exist
   * @throws AppError `too_many_logins`, the signal's reason
   */
  async attempt<T>(
    given: {
      /** The client's network address. */
      readonly address: string
      readonly username: string
    },
    check: () => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const { address, username } = given
    const startMs = this.#deps.now()
    const nameKey = createHash('sha256').update(username).digest('base64')
    const clientKey = `${clientBlock(address)} ${nameKey}`
    const client = recent(this.#clients.get(clientKey), startMs) ?? newClient(startMs)
    this.#clients.set(clientKey, client)
    client.waiting = client.waiting.filter((endMs) => endMs > startMs)
    if (client.waiting.length + client.comparing >= WAITING_MAX) throw tooManyLogins()
    client.comparing += 1
    const found = await check().finally(() => {
      client.comparing -= 1
    })
    if (found !== undefined) {
      client.count = 0
      return found
    }
    const now = this.#deps.now()
    const name = recent(this.#names.get(nameKey), now) ?? { ...NO_FAILURES }
    const delayMs = Math.max(0, delayMsOf(client, name) - (now - startMs))
    noted(client, now)
    this.#names.set(nameKey, noted(name, now))
    client.waiting = [...client.waiting, now + delayMs]
    await this.#wait(delayMs, signal)
    return undefined
  }

  async #wait(delayMs: number, signal: AbortSignal): Promise<void> {
    if (this.#waitingCount >= LOGINS_WAITING_MAX) return
    this.#waitingCount += 1
    try {
      await this.#deps.sleep(delayMs, signal)
    } finally {
      this.#waitingCount -= 1
    }
  }
}

function newClient(nowMs: number): ClientAttempts {
  return { count: 0, lastMs: nowMs, waiting: [], comparing: 0 }
}

const NO_FAILURES: Readonly<WrongAttempts> = { count: 0, lastMs: 0 }

function recent<T extends WrongAttempts>(attempts: T | undefined, nowMs: number): T | undefined {
  return attempts !== undefined && nowMs - attempts.lastMs <= QUIET_MS ? attempts : undefined
}

function noted<T extends WrongAttempts>(attempts: T, nowMs: number): T {
  attempts.count += 1
  attempts.lastMs = nowMs
  return attempts
}

function delayMsOf(client: WrongAttempts, name: WrongAttempts): number {
  const doublings = Math.max(0, Math.floor(Math.log2(name.count / NAME_WRONG_FREE)) + 1)
  const delayMsMax = Math.min(NAME_DELAY_MS_MAX, DELAY_MS_MAX * 2 ** doublings)
  return Math.min(delayMsMax, FIRST_DELAY_MS * 2 ** Math.min(client.count, 10))
}

function tooManyLogins(): AppError {
  const found = `More than ${WAITING_MAX} wrong logins under this name from this address`
  return new AppError('too_many_logins', `${found} are waiting; try again later`)
}
