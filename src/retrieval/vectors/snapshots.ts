/** Which states of an index searches still look at. A state is the number of changes before it. */
export class Snapshots {
  #current = 0
  readonly #seen = new Map<number, number>()

  get current(): number {
    return this.#current
  }

  /** The oldest that somebody looks at, or else the current one. */
  get oldest(): number {
    return Math.min(this.#current, ...this.#seen.keys())
  }

  advance(): void {
    this.#current += 1
  }

  /** Somebody looks at the current state, until `leave`. */
  enter(): number {
    this.#seen.set(this.#current, (this.#seen.get(this.#current) ?? 0) + 1)
    return this.#current
  }

  leave(snapshot: number): void {
    const count = (this.#seen.get(snapshot) ?? 1) - 1
    if (count > 0) this.#seen.set(snapshot, count)
    else this.#seen.delete(snapshot)
  }
}
