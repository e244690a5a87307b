import type { MemoryState } from '../../domain/server-state.ts'
import { AppError } from '../../errors.ts'
import type { OpenStatement, OpenStatements } from './open-statements.ts'

const LOOK_EVERY_MS = 100
/** What the program itself may take, beside the engine and the vectors, however little it took when nothing ran. */
const PROGRAM_BYTES_MIN = 300e6
/** Of the engine's limit: how much more it may take. What is free and was not given back must not raise the mark. */
const PROGRAM_SHARE = 0.25
/** Of the engine's limit: so far above the mark at which statements are ended, new ones are refused. */
const REFUSE_SHARE = 0.25
/** Of the machine's memory. The kernel ends whoever needs more than there is. */
const MACHINE_SHARE = 0.9
/** Whoever took less is not what fills the memory. */
const GROWTH_BYTES_MIN = 16e6
/** DuckDB's allocator gives back within so many looks what a statement held. */
const SETTLE_LOOKS = 10
/** By then DuckDB has stopped what was ended. */
const COLLECT_LOOKS = 3
/** Nothing runs any more when nothing ran at so many looks. */
const IDLE_LOOKS = 5
/** It takes 20 ms of the main thread, and 80 where an insert holds much. */
const COLLECT_EVERY_MS = 1_000
/** Memory is given back when nothing runs and so much more is taken than the last time. */
const KEPT_BYTES_MAX = 64e6

export interface WatchedMemory {
  /** Of the process, in bytes. */
  rss(): number
  /** What the engine's buffers hold now. */
  engineBytes(): Promise<number>
  /** What others hold for a reason: vectors. */
  reservedBytes(): number
  /** Gives back to the system what is free. It holds the main thread. */
  collect(): void
  /** The same within some tenths of a second, beside what the main thread does. */
  collectSoon(): void
  /** Lets go of blocks of the file that the engine keeps: only while nothing runs. */
  trim(): Promise<void>
}

export interface MemoryLimits {
  /** Of the engine's buffers (EIDER_MEMORY_LIMIT). */
  readonly engineBytesMax: number
  readonly machineBytes: number
}

/**
 * What SQL functions make does not lie in the engine's buffers, so its own limit does not bound it. While statements run,
 * this looks at the memory of the process, and ends those that fill it before the kernel ends everything.
 *
 * Nobody says whose memory it is. What was added between two looks is shared out among the statements that computed, so
 * whoever always runs while memory grows comes to the top: the largest are ended first, as many as took what is too much.
 */
export class MemoryWatchdog {
  readonly #statements: OpenStatements
  readonly #memory: WatchedMemory
  readonly #limits: MemoryLimits
  readonly #growth = new Map<OpenStatement, number>()
  #timer: ReturnType<typeof setInterval> | null = null
  #rss: number
  #programBytes = PROGRAM_BYTES_MIN
  #restingBytes: number
  /** While results wait for their readers. */
  #idleLooks = 0
  /** While there is no statement. */
  #restLooks = 0
  #interrupted = 0
  #isFull = false
  /** When somebody was ended last. */
  #ended: { readonly rss: number; looks: number } | null = null
  #collectedMs = Number.NEGATIVE_INFINITY

  constructor(statements: OpenStatements, memory: WatchedMemory, limits: MemoryLimits) {
    this.#statements = statements
    this.#memory = memory
    this.#limits = limits
    this.#rss = memory.rss()
    this.#restingBytes = this.#rss
  }

  /** Before each statement. @throws AppError `out_of_memory` while statements have filled the memory */
  admit(): void {
    if (this.#isFull) throw full(this.#rss)
    this.#timer ??= setInterval(() => this.look(), LOOK_EVERY_MS)
  }

  state(): MemoryState {
    return { rss: this.#memory.rss(), limit: this.#limit(), interrupted: this.#interrupted }
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  look(): void {
    const before = this.#rss
    this.#rss = this.#memory.rss()
    if (this.#statements.size === 0) {
      this.#isFull = false
      this.#rest()
      return
    }
    this.#restLooks = 0
    this.#collectWhileParked()
    this.#shareOut(this.#rss - before)
    const limit = this.#limit()
    this.#isFull = this.#rss > limit + this.#limits.engineBytesMax * REFUSE_SHARE
    if (this.#rss <= limit) return
    if (this.#isSettling() || this.#collected(limit)) return
    this.#endLargest(this.#rss - limit)
  }

  /** Rows on their way to a client leave garbage: true when that was all that was too much. */
  #collected(limit: number): boolean {
    const nowMs = performance.now()
    if (nowMs - this.#collectedMs < COLLECT_EVERY_MS) return false
    this.#collectedMs = nowMs
    this.#memory.collect()
    this.#rss = this.#memory.rss()
    return this.#rss <= limit
  }

  #limit(): number {
    const { engineBytesMax, machineBytes } = this.#limits
    const wanted = engineBytesMax + this.#programBytes + this.#memory.reservedBytes()
    return Math.min(wanted, machineBytes * MACHINE_SHARE)
  }

  #shareOut(bytes: number): void {
    const open = [...this.#statements]
    for (const statement of this.#growth.keys()) {
      if (!open.includes(statement)) this.#growth.delete(statement)
    }
    const computing = open.filter(({ place }) => !place.isParked)
    // Rows that are being written as JSON take memory, too.
    const growing = computing.length > 0 ? computing : open
    for (const statement of growing) {
      const grown = (this.#growth.get(statement) ?? 0) + bytes / growing.length
      this.#growth.set(statement, Math.max(0, grown))
    }
  }

  /** As many of the largest as took what is too much. */
  #endLargest(excessBytes: number): void {
    const largest = [...this.#growth]
      .filter(([{ deadline }, bytes]) => bytes >= GROWTH_BYTES_MIN && !deadline.signal.aborted)
      .toSorted(([, first], [, second]) => second - first)
    let expected = 0
    for (const [{ deadline }, bytes] of largest) {
      if (expected >= excessBytes) return
      expected += bytes
      this.#interrupted += 1
      this.#ended = { rss: this.#rss, looks: 0 }
      deadline.abort(interrupted(this.#rss))
    }
  }

  /** What the ended ones held comes back after a while: nobody else has to go meanwhile, unless it grows on. */
  #isSettling(): boolean {
    if (this.#ended === null) return false
    this.#ended.looks += 1
    // A result that was not read to its end lets go of its memory with JavaScript's object for it.
    if (this.#ended.looks === COLLECT_LOOKS) this.#memory.collect()
    return this.#ended.looks <= SETTLE_LOOKS && this.#rss < this.#ended.rss + GROWTH_BYTES_MIN
  }

  /** Results wait for their readers, and nothing computes: what others left goes back. */
  #collectWhileParked(): void {
    const isComputing = [...this.#statements].some(({ place }) => !place.isParked)
    this.#idleLooks = isComputing ? 0 : this.#idleLooks + 1
    if (this.#idleLooks !== IDLE_LOOKS || this.#rss - this.#restingBytes < KEPT_BYTES_MAX) return
    this.#memory.collectSoon()
    this.#restingBytes = this.#memory.rss()
  }

  /** Nothing runs: the watch ends, once what is free has been given back and the rest is known. */
  #rest(): void {
    this.#restLooks += 1
    if (this.#restLooks < IDLE_LOOKS) return
    if (this.#restLooks === IDLE_LOOKS && this.#rss - this.#restingBytes > KEPT_BYTES_MAX) {
      // An insert may be at work all the same, and others wait for this thread: what is given back is seen later.
      this.#memory.collectSoon()
      return
    }
    if (this.#restLooks > IDLE_LOOKS && this.#restLooks < 2 * IDLE_LOOKS) return
    this.#restLooks = 0
    this.#idleLooks = 0
    this.#growth.clear()
    this.close()
    if (Math.abs(this.#rss - this.#restingBytes) < KEPT_BYTES_MAX / 2) return
    this.#restingBytes = this.#rss
    void this.#measureProgram()
  }

  /** What is taken while nothing runs, and is neither the engine's nor reserved, is the program's own. */
  async #measureProgram(): Promise<void> {
    await this.#memory.trim().catch(() => {})
    const engineBytes = await this.#memory.engineBytes().catch(() => null)
    if (engineBytes === null || this.#statements.size > 0) return
    const own = this.#memory.rss() - engineBytes - this.#memory.reservedBytes()
    const most = PROGRAM_BYTES_MIN + this.#limits.engineBytesMax * PROGRAM_SHARE
    this.#programBytes = Math.min(most, Math.max(PROGRAM_BYTES_MIN, own + KEPT_BYTES_MAX))
  }
}

function interrupted(rss: number): AppError {
  return new AppError(
    'out_of_memory',
    `The statement was stopped: it filled the memory of the server (${megabytes(rss)}). EIDER_MEMORY_LIMIT sets how much there may be`,
  )
}

function full(rss: number): AppError {
  return new AppError(
    'out_of_memory',
    `Statements have filled the memory of the server (${megabytes(rss)}); try again when they have been stopped. EIDER_MEMORY_LIMIT sets how much there may be`,
  )
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}
