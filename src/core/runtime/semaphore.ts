import type { AppError } from '../errors.ts'
import { onAbort } from './cancellation.ts'

/** Frees the place. Calls after the first do nothing. */
export type Release = () => void

interface SemaphoreOptions {
  readonly placesMax: number
  /** The limit per key; unlimited if unset. */
  readonly placesPerKeyMax?: number
  readonly waitingMax: number
  readonly tooBusy: (waiting: number) => AppError
}

type Key = string | number

interface Waiting {
  readonly key: Key
  readonly isPatient: boolean
  enter(): void
}

/** First come, first served, except that keys at their own limit wait. */
export class Semaphore {
  readonly #options: SemaphoreOptions
  readonly #taken = new Map<Key, number>()
  readonly #waiting = new Set<Waiting>()
  /** Places taken by low-priority callers, also counted in `#taken`. */
  readonly #takenPatiently = new Map<Key, number>()
  readonly #waitingPatiently = new Set<Waiting>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  get taken(): number {
    return sumOf(this.#taken)
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * @throws AppError `tooBusy` if the queue is full; the signal's reason if it aborts while waiting
   */
  async enter(
    signal: AbortSignal,
    key: Key = '',
    given: {
      /** Enters only if none wait, never queues, and takes at most half of all places. */
      readonly isPatient?: boolean
    } = {},
  ): Promise<Release> {
    const { isPatient = false } = given
    signal.throwIfAborted()
    if (this.#isFree({ key, isPatient })) return this.#take({ key, isPatient })
    const { waitingMax, tooBusy } = this.#options
    const queue = isPatient ? this.#waitingPatiently : this.#waiting
    if (!isPatient && queue.size >= waitingMax) throw tooBusy(queue.size)
    const turn = Promise.withResolvers<Release>()
    const waiting: Waiting = { key, isPatient, enter: () => turn.resolve(this.#take(waiting)) }
    queue.add(waiting)
    const stopListening = onAbort(signal, () => {
      // A caller that has already entered keeps its place until it releases it.
      if (queue.delete(waiting)) turn.reject(signal.reason)
    })
    try {
      return await turn.promise
    } finally {
      stopListening()
    }
  }

  #isFree({ key, isPatient }: Pick<Waiting, 'key' | 'isPatient'>): boolean {
    const { placesMax, placesPerKeyMax = placesMax } = this.#options
    const isOpen = sumOf(this.#taken) < placesMax && placesOf(this.#taken, key) < placesPerKeyMax
    if (!isOpen || !isPatient) return isOpen
    const taken = this.#takenPatiently
    return sumOf(taken) < half(placesMax) && placesOf(taken, key) < half(placesPerKeyMax)
  }

  #take({ key, isPatient }: Pick<Waiting, 'key' | 'isPatient'>): Release {
    const count = (change: 1 | -1) => {
      changeCount(this.#taken, key, change)
      if (isPatient) changeCount(this.#takenPatiently, key, change)
    }
    count(1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      count(-1)
      this.#letNextIn()
    }
  }

  /** Called when one place became free, so at most one caller enters. */
  #letNextIn(): void {
    for (const queue of [this.#waiting, this.#waitingPatiently]) {
      for (const waiting of queue) {
        if (!this.#isFree(waiting)) continue
        queue.delete(waiting)
        waiting.enter()
        return
      }
    }
  }
}

function half(places: number): number {
  return Math.ceil(places / 2)
}

function placesOf(counts: ReadonlyMap<Key, number>, key: Key): number {
  return counts.get(key) ?? 0
}

/** A sum on each call is fast enough, because few keys hold places at a time. */
function sumOf(counts: ReadonlyMap<Key, number>): number {
  let sum = 0
  for (const count of counts.values()) sum += count
  return sum
}

function changeCount(counts: Map<Key, number>, key: Key, change: 1 | -1): void {
  const count = placesOf(counts, key) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
