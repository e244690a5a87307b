import { AppError } from '../errors.ts'

const FIRST_DELAY_MS = 250
const DELAY_MS_MAX = 1_000
/** After this time without a wrong try, the next one waits the first delay again. */
const QUIET_MS = 15 * 60_000
/** Who comes last waits for all before: with the longest delay, that makes four seconds at most. */
const WAITING_MAX = 4

interface ThrottleDeps {
  readonly now: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * Lets logins through one after the other and slows down wrong ones: 250 ms, 500 ms, 1 s. Tries in
 * parallel wait for each other, so they gain nothing.
 */
export class LoginThrottle {
  readonly #deps: ThrottleDeps
  #last: Promise<unknown> = Promise.resolve()
  #waitingCount = 0
  #wrongCount = 0
  #lastWrongMs = 0

  constructor(deps: ThrottleDeps) {
    this.#deps = deps
  }

  /** @throws AppError `too_busy` when too many wait already */
  async attempt(isRight: () => boolean, signal: AbortSignal): Promise<boolean> {
    if (this.#waitingCount >= WAITING_MAX) {
      throw new AppError('too_busy', `More than ${WAITING_MAX} logins are waiting; try again later`)
    }
    this.#waitingCount++
    const turn = this.#last.then(() => this.#try(isRight, signal))
    this.#last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      this.#waitingCount--
    }
  }

  async #try(isRight: () => boolean, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    if (isRight()) {
      this.#wrongCount = 0
      return true
    }
    const now = this.#deps.now()
    if (now - this.#lastWrongMs > QUIET_MS) this.#wrongCount = 0
    this.#lastWrongMs = now
    const delayMs = Math.min(DELAY_MS_MAX, FIRST_DELAY_MS * 2 ** this.#wrongCount)
    this.#wrongCount = Math.min(this.#wrongCount + 1, 10)
    // A client that hangs up must not shorten the wait of the next one.
    await this.#deps.sleep(delayMs, new AbortController().signal)
    return false
  }
}
