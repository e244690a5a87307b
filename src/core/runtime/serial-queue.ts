/** Runs one piece of work after the other, in the order in which they came. A failed one does not stop the next. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()
  #pending = 0

  /** Nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#pending === 0
  }

  /** @returns what the work gives; its failure is the caller's to handle */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#pending += 1
    const turn = this.#last.then(work)
    const settle = () => {
      this.#pending -= 1
    }
    this.#last = turn.then(settle, settle)
    return turn
  }

  /** Resolves when everything that was queued by now is over, however it ended. */
  async idle(): Promise<void> {
    await this.#last
  }
}
