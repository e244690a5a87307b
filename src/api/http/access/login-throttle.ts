import { createHash } from 'node:crypto'
import { AppError } from '../../../core/errors.ts'
import { clientBlock } from '../../../core/runtime/address-policy.ts'
import { LruMap } from '../../../core/runtime/lru-map.ts'
import { MINUTE_MS } from '../../../core/time.ts'

export interface LoginThrottleDeps {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** @throws the signal's reason if it aborts while waiting */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

const FIRST_DELAY_MS = 250
/** The longest delay for a name that is not under attack from many clients. */
const DELAY_MS_MAX = 1_000
/** Each doubling of the wrong attempts for a name beyond this doubles the longest delay. */
const NAME_WRONG_FREE = 100
const NAME_DELAY_MS_MAX = 10_000
/** After this long without a wrong attempt, counting starts over. */
const QUIET_MS = 15 * MINUTE_MS

/** One client's delayed attempts; more are refused, or parallel guessing would avoid the delay. */
const WAITING_MAX = 64
/** The limit for delayed wrong attempts of all clients. Beyond it, the answer is not delayed. */
const LOGINS_WAITING_MAX = 1_000
const CLIENTS_MAX = 10_000
const NAMES_MAX = 10_000

interface WrongAttempts {
  count: number
  lastMs: number
}

interface ClientAttempts extends WrongAttempts {
  /** When each pending delay ends. Disconnecting does not shorten it. */
  waiting: readonly number[]
  comparing: number
}

/**
 * Slows down password guessing. A correct password is accepted as soon as it is checked, even while
 * others guess. Wrong ones are answered after 250 ms, then 500 ms, then 1 s, for each client and
 * name, and later still if a name is attacked from many addresses. The delay depends on the name as
 * sent, so it is the same for existing and unknown names.
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
   * Returns the result of `check`; undefined means wrong credentials.
   * @param check may be slow; its time counts towards the delay, so that timing does not reveal
   * which names exist
   * @throws AppError `too_many_logins`, the signal's reason
   */
  async attempt<T>(
    given: {
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
  const found = `More than ${WAITING_MAX} failed logins with this name from this address`
  return new AppError('too_many_logins', `${found} are waiting; try again later`)
}
