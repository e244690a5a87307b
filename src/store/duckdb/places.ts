import { AppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'

/** How long a reader keeps its place after the last rows it took. */
const READING_MS = 20
const LOOK_EVERY_MS = 20
/**
 * A short statement is over within this many looks. Where the cores are so busy that this thread hardly runs, looks come late
 * too: so it is not stopped for what others do.
 */
const SHORT_LOOKS = 10
/** DuckDB stops most statements within milliseconds: one not released by then may take minutes. */
const STUBBORN_MS = 250

/** What a statement waits for. `continued`: its next rows. `new`: its first rows. `long`: a slot that it can keep. */
export type Turn = 'continued' | 'new' | 'long'

export interface PlacesOptions {
  readonly longMax: number
  /** More places, in which a statement that takes longer is stopped, to wait for a long one. */
  readonly shortMax: number
  /** Long slots that one caller can never have, kept for others. */
  readonly othersMin: number
  readonly waitingMax: number
}

/** Whose statement it is; undefined: the server's own. */
export type Caller = string | undefined

export interface NewStatement {
  readonly caller: Caller
  readonly turn: Exclude<Turn, 'continued'>
  /** The statement has been in a short slot for too long, and must be stopped. */
  onTooLong(): void
}

interface Waiting {
  readonly place: Place
  readonly turn: Turn
  enter(): void
  refuse(error: AppError): void
}

/**
 * Places among the statements that DuckDB computes. Long ones and those for short statements are apart, so that `SELECT 1`
 * is answered beside any number of long ones: how long a statement takes is known only by trying. Among those who wait,
 * the caller with the fewest places is next.
 */
export class Places {
  readonly #options: PlacesOptions
  readonly #holders = new Set<Place>()
  readonly #waiting = new Set<Waiting>()
  #timer: ReturnType<typeof setTimeout> | null = null

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  /** Places in which DuckDB computes. */
  get running(): number {
    let count = 0
    for (const place of this.#holders) if (!place.isParked) count += 1
    return count
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** @throws AppError `too_busy`; the signal's reason when it aborts while waiting */
  async enter(statement: NewStatement, signal: AbortSignal): Promise<Place> {
    const place = new Place(this, statement)
    await this.take(place, statement.turn, signal)
    return place
  }

  /** Gives a place to a statement without one. */
  take(place: Place, turn: Turn, signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted()
    // Waiting statements have entered every slot that suits them, so this overtakes no one.
    if (this.#seat(place, turn)) return undefined
    this.#reclaim(performance.now())
    if (this.#seat(place, turn)) return undefined
    return this.#wait(place, turn, signal)
  }

  /** Its place goes to the next one. */
  leave(place: Place): void {
    if (place.kind === null) return
    this.#holders.delete(place)
    place.kind = null
    this.#letIn()
  }

  async #wait(place: Place, turn: Turn, signal: AbortSignal): Promise<void> {
    if (this.#isHopeless(place.caller, turn)) throw this.#tooBusy()
    const { waitingMax, longMax, shortMax } = this.#options
    // A statement with its first rows is inside already.
    if (turn === 'new' && this.#waiting.size >= waitingMax) {
      throw new AppError(
        'too_busy',
        `Too many SQL statements at once: ${longMax + shortMax} run and ${waitingMax} wait (EIDER_QUERY_QUEUE_MAX); try again later`,
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
      // A statement that has entered holds a place, which only its release gives back.
      if (this.#waiting.delete(waiting)) entered.reject(signal.reason)
    })
    try {
      await entered.promise
    } finally {
      stopListening()
    }
  }

  /** Takes a free place for this turn. */
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
    // The last one is for new statements: the next rows of another cannot be stopped and restarted.
    const shortFree = turn === 'new' ? shortMax : shortMax - 1
    return this.#holders.size - long < shortFree ? 'short' : null
  }

  #longMaxOf(caller: Caller): number {
    const { longMax, othersMin } = this.#options
    return caller === undefined ? longMax : longMax - othersMin
  }

  /** While places are free for those who wait. */
  #letIn(): void {
    while (this.#waiting.size > 0) {
      const next = this.#next()
      if (next === undefined) return
      this.#waiting.delete(next)
      this.#seat(next.place, next.turn)
      next.enter()
    }
  }

  /** Of the callers for whom a free slot is suitable, the one with the fewest, and of its statements one that continues. */
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
      // Of equal ones the last to arrive gets a short slot, and the first a long one: if many try, a short statement need
      // not wait until all others have proven to be long.
      if (rank > bestRank || (rank === bestRank && kind !== 'short')) continue
      best = waiting
      bestRank = rank
    }
    return best
  }

  /** True when DuckDB holds every place that could become free, for statements that were ended. */
  #isHopeless(caller: Caller, turn: Turn): boolean {
    const { longMax, shortMax } = this.#options
    const stubborn = this.#stubborn()
    if (stubborn.length === 0) return false
    const long = stubborn.filter((one) => one.kind === 'long')
    const own = long.filter((one) => one.caller === caller)
    const isLongHopeless = long.length >= longMax || own.length >= this.#longMaxOf(caller)
    return isLongHopeless && (turn !== 'new' || stubborn.length - long.length >= shortMax)
  }

  /** Usually there are none. */
  #stubborn(): readonly Place[] {
    return [...this.#holders].filter(({ isStubborn }) => isStubborn)
  }

  #tooBusy(): AppError {
    return new AppError(
      'too_busy',
      `No place is free: DuckDB is still at work on statements that were ended (${this.#stubborn().length}); try again later`,
    )
  }

  /** Checks again soon while a statement waits or is in a short place. */
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

  /** From statements whose reader has been away for a while. */
  #reclaim(nowMs: number): void {
    // A set may lose or gain members while it is iterated.
    for (const place of this.#holders) {
      if (place.parkedMs !== null && nowMs - place.parkedMs >= READING_MS) this.leave(place)
    }
  }

  /** A statement that was in a short place for too long gets a long one, or is stopped if another waits. */
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

/** The slot of one statement, while DuckDB computes; between its rows others may have it. */
export class Place {
  readonly caller: Caller
  /** Set only by `Places`. null: it has none at the moment. */
  kind: 'long' | 'short' | null = null
  looks = 0
  readonly #places: Places
  readonly #onTooLong: () => void
  /** Until its first rows are there, it can be restarted. */
  #canBeEnded: boolean
  #parkedMs: number | null = null
  #abandonedMs: number | null = null

  constructor(places: Places, { caller, turn, onTooLong }: NewStatement) {
    this.#places = places
    this.caller = caller
    this.#canBeEnded = turn !== 'long'
    this.#onTooLong = onTooLong
  }

  /** When it began to wait for its reader; null: it does not. */
  get parkedMs(): number | null {
    return this.#parkedMs
  }

  get isParked(): boolean {
    return this.#parkedMs !== null
  }

  /** DuckDB is still running it although its client has gone. */
  get isStubborn(): boolean {
    return this.#abandonedMs !== null && performance.now() - this.#abandonedMs >= STUBBORN_MS
  }

  /** Its rows are being read. */
  park(): void {
    this.#canBeEnded = false
    this.#parkedMs = performance.now()
    if (this.kind === 'short') this.#places.leave(this)
  }

  /** A promise if it lost its place and has to wait. @throws as `Places.enter` does */
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

  /** Its client has gone, and DuckDB is still running it. */
  abandon(): void {
    this.#abandonedMs = performance.now()
  }

  /** Permanently. */
  release(): void {
    this.#places.leave(this)
  }
}
