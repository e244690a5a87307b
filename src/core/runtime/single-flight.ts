/** Work that many want at once is done by the first of them, and left for the others to find. */
export class SingleFlight {
  readonly #running = new Map<string, Promise<unknown>>()

  /** The work of that name under way: it settles when that is over, whatever becomes of it. */
  of(name: string): Promise<unknown> | undefined {
    return this.#running.get(name)
  }

  /** From now on others can wait for this work. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running.set(name, promise)
    try {
      return await work()
    } finally {
      if (this.#running.get(name) === promise) this.#running.delete(name)
      resolve()
    }
  }
}
