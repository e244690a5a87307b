import { AppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'

/** A reader keeps its slot for this long after taking rows. */
const READING_MS = 20
const LOOK_EVERY_MS = 20
/** In checks, not time, which is fair: when cores are busy, checks come late as well. */
const SHORT_LOOKS = 10
/** DuckDB stops most within milliseconds; after this time it may take minutes. */
const STUBBORN_MS = 250

/** `continued`: its next rows. `new`: its first rows. `long`: a slot that it can keep. */
export type Turn = 'continued' | 'new' | 'long'

interface PlacesOptions {
  readonly longMax: number
  /** A slow statement in one is stopped and waits for a long slot. */
  readonly shortMax: number
  /** Long slots kept free for other clients: a single one can never have them. */
  readonly othersMin: number
  readonly waitingMax: number
}

/** The owner of a statement; undefined for the server itself. */
export type Caller = string | undefined

export interface NewStatement {
  readonly caller: Caller
  readonly turn: Exclude<Turn, 'continued'>
  /** Stops a statement that was in a short slot for too long. */
  onTooLong(): void
}

interface Waiting {
  readonly place: Place
  readonly turn: Turn
  enter(): void
  refuse(error: AppError): void
}

/** Long and short statements have their own, so `SELECT 1` always gets through. */
export class Places {
  readonly #options: PlacesOptions
  readonly #holders = new Set<Place>()
  readonly #waiting = new Set<Waiting>()
  #timer: ReturnType<typeof setTimeout> | null = null

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  /** The number of slots in which DuckDB is executing a statement. */
  get running(): number {
    let count = 0
    for (const place of this.#holders) if (!place.isParked) count += 1
    return count
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** @throws AppError `too_busy`, or the signal's reason if it aborts while waiting */
  async enter(statement: NewStatement, signal: AbortSignal): Promise<Place> {
    const place = new Place(this, statement)
    await this.take(place, statement.turn, signal)
    return place
  }

  /** Gives a slot to a statement that has none. */
  take(place: Place, turn: Turn, signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted()
    // Waiting statements already have every slot they could use, so taking this one is fair.
    if (this.#seat(place, turn)) return undefined
    this.#reclaim(performance.now())
    if (this.#seat(place, turn)) return undefined
    return this.#wait(place, turn, signal)
  }

  /** Frees the slot for the next statement. */
  leave(place: Place): void {
    if (place.kind === null) return
    this.#holders.delete(place)
    place.kind = null
    this.#letIn()
  }

  async #wait(place: Place, turn: Turn, signal: AbortSignal): Promise<void> {
    if (this.#isHopeless(place.caller, turn)) throw this.#tooBusy()
    const { waitingMax, longMax, shortMax } = this.#options
    // A statement that has returned rows was admitted before, so the limit applies only to new
    // ones.
    if (turn === 'new' && this.#waiting.size >= waitingMax) {
      throw new AppError(
        'too_busy',
        `Too many SQL statements at once: ${longMax + shortMax} run and ${waitingMax} wait; try again later`,
      )
    }
    const entered = Promise.withResolvers<void>()
    const waiting: Waiting = {
      place,
      turn,
      enter: entered.resolve,
      refuse: (error) => {
        if (this.#waiting.delete(waiting)) entered.reject(error)
      },
    }
    this.#waiting.add(waiting)
    this.#look()
    const stopListening = onAbort(signal, () => {
      // A statement that has its slot keeps it until it is released.
      if (this.#waiting.delete(waiting)) entered.reject(signal.reason)
    })
    try {
      await entered.promise
    } finally {
      stopListening()
    }
  }

  #seat(place: Place, turn: Turn): boolean {
    const kind = this.#freeFor(place.caller, turn)
    if (kind === null) return false
    place.kind = kind
    place.looks = 0
    this.#holders.add(place)
    if (kind === 'short') this.#look()
    return true
  }

  #freeFor(caller: Caller, turn: Turn): 'long' | 'short' | null {
    const { longMax, shortMax } = this.#options
    let long = 0
    let own = 0
    for (const one of this.#holders) {
      if (one.kind !== 'long') continue
      long += 1
      if (one.caller === caller) own += 1
    }
    if (long < longMax && own < this.#longMaxOf(caller)) return 'long'
    if (turn === 'long') return null
    // The last short slot is kept for new statements: one that continues cannot be restarted
    // elsewhere.
    const shortFree = turn === 'new' ? shortMax : shortMax - 1
    return this.#holders.size - long < shortFree ? 'short' : null
  }

  #longMaxOf(caller: Caller): number {
    const { longMax, othersMin } = this.#options
    return caller === undefined ? longMax : longMax - othersMin
  }

  /** Admits waiting statements while slots are free. */
  #letIn(): void {
    while (this.#waiting.size > 0) {
      const next = this.#next()
      if (next === undefined) return
      this.#waiting.delete(next)
      this.#seat(next.place, next.turn)
      next.enter()
    }
  }

  /** Of the client with the fewest slots, one that continues first. */
  #next(): Waiting | undefined {
    const held = new Map<Caller, number>()
    for (const { caller } of this.#holders) held.set(caller, (held.get(caller) ?? 0) + 1)
    let best: Waiting | undefined
    let bestRank = Number.POSITIVE_INFINITY
    for (const waiting of this.#waiting) {
      const { place, turn } = waiting
      const kind = this.#freeFor(place.caller, turn)
      if (kind === null) continue
      const rank = (held.get(place.caller) ?? 0) * 2 + (turn === 'continued' ? 0 : 1)
      // Among equals, the latest gets a short slot and the first a long one. A new short statement
      // then need not wait until all earlier ones turn out to be long.
      if (rank > bestRank || (rank === bestRank && kind !== 'short')) continue
      best = waiting
      bestRank = rank
    }
    return best
  }

  /** Every slot is held by a stopped statement that DuckDB is still running. */
  #isHopeless(caller: Caller, turn: Turn): boolean {
    const { longMax, shortMax } = this.#options
    const stubborn = this.#stubborn()
    if (stubborn.length === 0) return false
    const long = stubborn.filter((one) => one.kind === 'long')
    const own = long.filter((one) => one.caller === caller)
    const isLongHopeless = long.length >= longMax || own.length >= this.#longMaxOf(caller)
    return isLongHopeless && (turn !== 'new' || stubborn.length - long.length >= shortMax)
  }

  /** Statements that DuckDB is still running after they were stopped. Usually none. */
  #stubborn(): readonly Place[] {
    return [...this.#holders].filter(({ isStubborn }) => isStubborn)
  }

  #tooBusy(): AppError {
    return new AppError(
      'too_busy',
      `No slot is free: DuckDB is still working on statements that were ended (${this.#stubborn().length}); try again later`,
    )
  }

  /** Schedules the next check while a statement waits or has a short slot. */
  #look(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      this.#reclaim(performance.now())
      this.#endShort()
      for (const waiting of [...this.#waiting]) {
        if (this.#isHopeless(waiting.place.caller, waiting.turn)) waiting.refuse(this.#tooBusy())
      }
      const isAnyShort = [...this.#holders].some(({ kind }) => kind === 'short')
      if (this.#waiting.size > 0 || isAnyShort) this.#look()
    }, LOOK_EVERY_MS)
  }

  /** Takes slots back from statements whose readers have taken no rows for a while. */
  #reclaim(nowMs: number): void {
    // Deleting from a set during iteration is safe.
    for (const place of this.#holders) {
      if (place.parkedMs !== null && nowMs - place.parkedMs >= READING_MS) this.leave(place)
    }
  }

  /** To a long slot, or stopped if others wait. */
  #endShort(): void {
    const isWanted = [...this.#waiting].some(({ turn }) => turn !== 'long')
    for (const place of [...this.#holders]) {
      if (place.kind !== 'short') continue
      place.looks += 1
      if (place.looks < SHORT_LOOKS) continue
      if (this.#freeFor(place.caller, 'long') === 'long') place.kind = 'long'
      else if (isWanted) place.end()
    }
    this.#letIn()
  }
}

/** One statement's slot. While its reader takes no rows, other statements can use the slot. */
export class Place {
  readonly caller: Caller
  /** Set only by `Places`. Null if it has no slot now. */
  kind: 'long' | 'short' | null = null
  looks = 0
  readonly #places: Places
  readonly #onTooLong: () => void
  /** A statement can be stopped and restarted until its first rows exist. */
  #canBeEnded: boolean
  #parkedMs: number | null = null
  #abandonedMs: number | null = null

  constructor(places: Places, { caller, turn, onTooLong }: NewStatement) {
    this.#places = places
    this.caller = caller
    this.#canBeEnded = turn !== 'long'
    this.#onTooLong = onTooLong
  }

  /** When it began to wait for its reader, or null if it is not waiting. */
  get parkedMs(): number | null {
    return this.#parkedMs
  }

  get isParked(): boolean {
    return this.#parkedMs !== null
  }

  /** Whether DuckDB is still running the statement although its client is gone. */
  get isStubborn(): boolean {
    return this.#abandonedMs !== null && performance.now() - this.#abandonedMs >= STUBBORN_MS
  }

  /** Call while the reader has the rows, so others can use the slot. */
  park(): void {
    this.#canBeEnded = false
    this.#parkedMs = performance.now()
    if (this.kind === 'short') this.#places.leave(this)
  }

  /** A promise if the slot was lost and the statement has to wait. @throws like `Places.enter` */
  resume(signal: AbortSignal): Promise<void> | undefined {
    this.#parkedMs = null
    return this.kind === null ? this.#places.take(this, 'continued', signal) : undefined
  }

  /** Stops a statement that can be restarted. */
  end(): void {
    if (!this.#canBeEnded || this.#abandonedMs !== null) return
    this.#canBeEnded = false
    this.#onTooLong()
  }

  /** Call when the client is gone but DuckDB is still running the statement. */
  abandon(): void {
    this.#abandonedMs = performance.now()
  }

  /** Frees the slot for good. */
  release(): void {
    this.#places.leave(this)
  }
}
