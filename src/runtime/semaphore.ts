import { AppError } from '../errors.ts'
import { onAbort } from './cancellation.ts'

/** Frees the place; only the first call counts. */
export type Release = () => void

export interface SemaphoreOptions {
  readonly placesMax: number
  /** Of one key. Unset: as many as there are. */
  readonly placesPerKeyMax?: number
  readonly waitingMax: number
  /** What one more hears when all places of the queue are taken. */
  readonly tooBusyMessage: string
}

type Key = string | number

interface Waiting {
  readonly key: Key
  enter(): void
}

/**
 * A counting semaphore with a bounded queue: first come, first served, past those whose key has all the places that one
 * key may have.
 */
export class Semaphore {
  readonly #options: SemaphoreOptions
  readonly #taken = new Map<Key, number>()
  readonly #waiting = new Set<Waiting>()
  #takenCount = 0

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /** Places that are taken. */
  get taken(): number {
    return this.#takenCount
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** @throws AppError `too_busy` when the queue is full; the signal's reason when it aborts while waiting */
  async enter(signal: AbortSignal, key: Key = ''): Promise<Release> {
    signal.throwIfAborted()
    if (this.#isFree(key)) return this.#take(key)
    const { waitingMax, tooBusyMessage } = this.#options
    if (this.#waiting.size >= waitingMax) throw new AppError('too_busy', tooBusyMessage)
    const turn = Promise.withResolvers<Release>()
    const waiting: Waiting = { key, enter: () => turn.resolve(this.#take(key)) }
    this.#waiting.add(waiting)
    const stopListening = onAbort(signal, () => {
      // Whoever has entered already holds a place, which only its release gives back.
      if (this.#waiting.delete(waiting)) turn.reject(signal.reason)
    })
    try {
      return await turn.promise
    } finally {
      stopListening()
    }
  }

  #isFree(key: Key): boolean {
    const { placesMax, placesPerKeyMax = placesMax } = this.#options
    return this.#takenCount < placesMax && (this.#taken.get(key) ?? 0) < placesPerKeyMax
  }

  #take(key: Key): Release {
    this.#count(key, 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#count(key, -1)
      this.#letNextIn()
    }
  }

  #count(key: Key, change: 1 | -1): void {
    this.#takenCount += change
    const taken = (this.#taken.get(key) ?? 0) + change
    if (taken === 0) this.#taken.delete(key)
    else this.#taken.set(key, taken)
  }

  /** One place became free, so at most one enters. */
  #letNextIn(): void {
    for (const waiting of this.#waiting) {
      if (!this.#isFree(waiting.key)) continue
      this.#waiting.delete(waiting)
      waiting.enter()
      return
    }
  }
}
