/** A rate: as many as `size` at once, and `perSecond` in the long run. */
export class TokenBucket {
  readonly #size: number
  readonly #perMs: number
  #tokens: number
  #filledMs: number

  /** @param nowMs milliseconds since 1970, as in all calls: it is full by then */
  constructor(rate: { readonly size: number; readonly perSecond: number }, nowMs: number) {
    this.#size = rate.size
    this.#perMs = rate.perSecond / 1000
    this.#tokens = rate.size
    this.#filledMs = nowMs
  }

  /**
   * Takes a token unless that would take too long.
   * @param waitMsMax 0: only if one is available
   * @returns how long until the token can be used; it is taken if that is at most `waitMsMax`
   */
  take(nowMs: number, waitMsMax: number): number {
    // A clock that was set back must not empty it.
    const passedMs = Math.max(0, nowMs - this.#filledMs)
    this.#tokens = Math.min(this.#size, this.#tokens + passedMs * this.#perMs)
    this.#filledMs = nowMs
    const waitMs = Math.max(0, (1 - this.#tokens) / this.#perMs)
    if (waitMs <= waitMsMax) this.#tokens -= 1
    return waitMs
  }
}
