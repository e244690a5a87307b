import { AppError } from '../../core/errors.ts'
import { onAbort } from '../../core/runtime/cancellation.ts'

/** How long a reader keeps a place from its last rows to the next. */
const READING_MS = 20
const LOOK_EVERY_MS = 20
/**
 * A short statement is over within so many looks, and gets twice as many each time it comes again. Where the cores are so
 * busy that this thread hardly runs, looks come late too: so it is not stopped for what others do.
 */
const SHORT_LOOKS = 10
const DOUBLINGS_MAX = 3
/** It may take so much longer while nobody waits who has tried less often. */
const PATIENCE = 4
/** DuckDB stops most statements within milliseconds: what it has not let go of by then may take minutes. */
const STUBBORN_MS = 250

/**
 * What a statement waits for, by precedence among those of one caller. `continued`: its next rows. `new`: its first rows.
 * `again`: the same, after it was too long for a short place. `long`: a place where it may stay.
 */
export type Turn = 'continued' | 'new' | 'again' | 'long'

/** Of those who come again, who has tried less often is before the others. */
const TRIES_MAX = 100
const PRECEDENCE: Readonly<Record<Turn, number>> = { continued: 0, new: 1, again: 2, long: 2 }
const RANKS = 2 + TRIES_MAX + 1

export interface PlacesOptions {
  readonly longMax: number
  /** More places, in which a statement that takes longer is stopped and begun again. */
  readonly shortMax: number
  /** Long places that one caller never has: they are for the others. */
  readonly othersMin: number
  readonly waitingMax: number
}

/** Whose statement it is; undefined: the server's own. */
export type Caller = string | undefined

export interface NewStatement {
  readonly caller: Caller
  readonly turn: Exclude<Turn, 'continued'>
  /** How often it was too long for a short place. */
  readonly tries: number
  /** The statement has been too long in a short place, and must be stopped. */
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
  #longTaken = 0
  #shortTaken = 0
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

  /** Gives a place to one that has none. */
  take(place: Place, turn: Turn, signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted()
    // Nobody is overtaken: those who wait have been let in wherever a place suits them.
    if (this.#seat(place, turn)) return undefined
    this.#reclaim(performance.now())
    if (this.#seat(place, turn)) return undefined
    return this.#wait(place, turn, signal)
  }

  /** Its place goes to the next one. */
  leave(place: Place): void {
    if (place.kind === null) return
    this.#holders.delete(place)
    if (place.kind === 'long') this.#longTaken -= 1
    else this.#shortTaken -= 1
    place.kind = null
    this.#letIn()
  }

  /** Those whom no place can become free for in a while hear it at once. */
  #refuseHopeless(): void {
    for (const waiting of [...this.#waiting]) {
      if (this.#isHopeless(waiting.place.caller, waiting.turn)) waiting.refuse(this.#tooBusy())
    }
  }

  async #wait(place: Place, turn: Turn, signal: AbortSignal): Promise<void> {
    if (this.#isHopeless(place.caller, turn)) throw this.#tooBusy()
    const { waitingMax } = this.#options
    // Who has its first rows is inside already.
    if (turn === 'new' && this.#waiting.size >= waitingMax) {
      const places = this.#placesMax
      throw new AppError(
        'too_busy',
        `Too many SQL statements at once: ${places} run and ${waitingMax} wait (EIDER_QUERY_QUEUE_MAX); try again later`,
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
      // Whoever has entered already holds a place, which only its release gives back.
      if (this.#waiting.delete(waiting)) entered.reject(signal.reason)
    })
    try {
      await entered.promise
    } finally {
      stopListening()
    }
  }

  get #placesMax(): number {
    return this.#options.longMax + this.#options.shortMax
  }

  /** Takes a place that is free for this turn. */
  #seat(place: Place, turn: Turn): boolean {
    const kind = this.#freeFor(place.caller, turn)
    if (kind === null) return false
    place.kind = kind
    place.looks = 0
    this.#holders.add(place)
    if (kind === 'long') this.#longTaken += 1
    else {
      this.#shortTaken += 1
      this.#look()
    }
    return true
  }

  #freeFor(caller: Caller, turn: Turn): 'long' | 'short' | null {
    const { longMax, shortMax } = this.#options
    if (this.#longTaken < longMax && this.#longOf(caller) < this.#longMaxOf(caller)) return 'long'
    if (turn === 'long') return null
    // The last one is for those who come: the others may take long, and the next rows cannot be stopped and made again.
    const shortFree = turn === 'new' ? shortMax : shortMax - 1
    return this.#shortTaken < shortFree ? 'short' : null
  }

  #longMaxOf(caller: Caller): number {
    const { longMax, othersMin } = this.#options
    return caller === undefined ? longMax : longMax - othersMin
  }

  /** Counted only where it can matter: most of the time fewer are taken than one caller may have. */
  #longOf(caller: Caller): number {
    if (this.#longTaken < this.#longMaxOf(caller)) return 0
    let count = 0
    for (const one of this.#holders) if (one.caller === caller && one.kind === 'long') count += 1
    return count
  }

  /** As long as places are free: of those whom one of them suits, the caller with the fewest. */
  #letIn(): void {
    while (this.#waiting.size > 0) {
      const next = this.#next()
      if (next === undefined) return
      this.#waiting.delete(next)
      this.#seat(next.place, next.turn)
      next.enter()
    }
  }

  #next(): Waiting | undefined {
    const held = new Map<Caller, number>()
    for (const { caller } of this.#holders) held.set(caller, (held.get(caller) ?? 0) + 1)
    let best: Waiting | undefined
    let bestRank = Number.POSITIVE_INFINITY
    for (const waiting of this.#waiting) {
      const { place, turn } = waiting
      const tries = turn === 'again' ? Math.min(place.tries, TRIES_MAX) : 0
      const rank = (held.get(place.caller) ?? 0) * RANKS + PRECEDENCE[turn] + tries
      // Of equal ones the last to come gets a short place, and the first a long one: where many try, a short statement
      // need not wait until all others have been found to be long.
      if (rank > bestRank || (rank === bestRank && turn !== 'new')) continue
      const kind = this.#freeFor(place.caller, turn)
      if (kind === null || (rank === bestRank && kind !== 'short')) continue
      best = waiting
      bestRank = rank
    }
    return best
  }

  /** True when DuckDB holds every place that could become free, for statements that were ended. */
  #isHopeless(caller: Caller, turn: Turn): boolean {
    const { longMax, shortMax } = this.#options
    const abandoned = this.#stubborn()
    if (abandoned.length === 0) return false
    const long = abandoned.filter((one) => one.kind === 'long')
    const own = long.filter((one) => one.caller === caller)
    const isLongHopeless = long.length >= longMax || own.length >= this.#longMaxOf(caller)
    const shortAbandoned = abandoned.length - long.length
    return isLongHopeless && (turn !== 'new' || shortAbandoned >= shortMax)
  }

  /** Most of the time there are none. */
  #stubborn(): readonly Place[] {
    const found: Place[] = []
    for (const one of this.#holders) if (one.isStubborn) found.push(one)
    return found
  }

  #tooBusy(): AppError {
    const count = this.#stubborn().length
    return new AppError(
      'too_busy',
      `No place is free: DuckDB is still at work on statements that were ended (${count}); try again later`,
    )
  }

  /** Looks again soon, as long as somebody waits or sits in a short place. */
  #look(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      this.#reclaim(performance.now())
      this.#endShort()
      this.#refuseHopeless()
      if (this.#waiting.size > 0 || this.#shortTaken > 0) this.#look()
    }, LOOK_EVERY_MS)
  }

  /** From those whose reader has not come back in a while. */
  #reclaim(nowMs: number): void {
    // A set may lose members, or gain some, while it is gone through.
    for (const place of this.#holders) {
      if (place.parkedMs !== null && nowMs - place.parkedMs >= READING_MS) this.leave(place)
    }
  }

  /** Who has been too long in a short place gets a long one, or is ended where that helps somebody. */
  #endShort(): void {
    let triesMin = Number.POSITIVE_INFINITY
    for (const { place, turn } of this.#waiting) {
      if (turn !== 'long') triesMin = Math.min(triesMin, place.tries)
    }
    for (const place of [...this.#holders]) {
      if (place.kind !== 'short') continue
      place.looks += 1
      if (place.looks < place.looksMax) continue
      if (this.#freeFor(place.caller, 'long') === 'long') {
        this.#shortTaken -= 1
        this.#longTaken += 1
        place.kind = 'long'
        continue
      }
      const patience = triesMin < Math.max(place.tries, 1) ? 1 : PATIENCE
      if (Number.isFinite(triesMin) && place.looks >= place.looksMax * patience) place.end()
    }
    this.#letIn()
  }
}

/** One statement's, for as long as DuckDB computes; between its rows others may have it. */
export class Place {
  readonly caller: Caller
  /** Set by `Places` alone. null: it has none at the moment. */
  kind: 'long' | 'short' | null = null
  looks = 0
  readonly looksMax: number
  /** How often it was too long for a short place. */
  readonly tries: number
  readonly #places: Places
  readonly #onTooLong: () => void
  /** Until its first rows are there, it can be begun again. */
  #canBeEnded: boolean
  #parkedMs: number | null = null
  #abandonedMs: number | null = null

  constructor(places: Places, { caller, turn, tries, onTooLong }: NewStatement) {
    this.#places = places
    this.caller = caller
    this.tries = tries
    this.looksMax = SHORT_LOOKS * 2 ** Math.min(tries, DOUBLINGS_MAX)
    this.#canBeEnded = turn !== 'long'
    this.#onTooLong = onTooLong
  }

  /** Since when it waits for its reader; null: it does not. */
  get parkedMs(): number | null {
    return this.#parkedMs
  }

  get isParked(): boolean {
    return this.#parkedMs !== null
  }

  /** DuckDB goes on with it although nobody waits for it any more. */
  get isStubborn(): boolean {
    return this.#abandonedMs !== null && performance.now() - this.#abandonedMs >= STUBBORN_MS
  }

  /** Its rows are being read. */
  park(): void {
    this.#canBeEnded = false
    this.#parkedMs = performance.now()
    if (this.kind === 'short') this.#places.leave(this)
  }

  /** A promise where it has to wait, having lost its own. @throws as `Places.enter` does */
  resume(signal: AbortSignal): Promise<void> | undefined {
    this.#parkedMs = null
    return this.kind === null ? this.#places.take(this, 'continued', signal) : undefined
  }

  /** Stops a statement that can be begun again. */
  end(): void {
    if (!this.#canBeEnded || this.#abandonedMs !== null) return
    this.#canBeEnded = false
    this.#onTooLong()
  }

  /** Nobody waits for the statement any more, and DuckDB is still at work on it. */
  abandon(): void {
    this.#abandonedMs = performance.now()
  }

  /** For good. */
  release(): void {
    this.#places.leave(this)
  }
}
