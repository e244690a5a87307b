import { AppError } from '../errors.ts'

/** Frees the place; only the first call counts. */
export type Leave = () => void

interface Waiting {
  readonly enter: (leave: Leave) => void
}

/**
 * Lets so many in at once, in the order in which they came. DuckDB runs on Bun's thread pool, where
 * two long statements on two threads would hold up every other call and every file read.
 */
export class Semaphore {
  readonly #placesMax: number
  readonly #waitingMax: number
  readonly #waiting = new Set<Waiting>()
  #inside = 0

  constructor(limits: { readonly placesMax: number; readonly waitingMax: number }) {
    this.#placesMax = limits.placesMax
    this.#waitingMax = limits.waitingMax
  }

  /** @throws AppError `too_busy` when too many wait; the signal's reason when it aborts */
  async enter(signal: AbortSignal): Promise<Leave> {
    signal.throwIfAborted()
    if (this.#inside < this.#placesMax) return this.#newPlace()
    if (this.#waiting.size >= this.#waitingMax) {
      const limit = `${this.#placesMax} run and ${this.#waitingMax} wait`
      throw new AppError('too_busy', `Too many SQL statements at once: ${limit}`)
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(waiting)
        reject(signal.reason)
      }
      const waiting: Waiting = {
        enter: (leave) => {
          signal.removeEventListener('abort', onAbort)
          resolve(leave)
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(waiting)
    })
  }

  #newPlace(): Leave {
    this.#inside += 1
    let hasLeft = false
    return () => {
      if (hasLeft) return
      hasLeft = true
      this.#inside -= 1
      this.#letNextIn()
    }
  }

  #letNextIn(): void {
    const [next] = this.#waiting
    if (next === undefined) return
    this.#waiting.delete(next)
    next.enter(this.#newPlace())
  }
}
