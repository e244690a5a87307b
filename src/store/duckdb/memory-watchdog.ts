import { totalmem } from 'node:os'
import type { MemoryState } from '../../core/domain/server-state.ts'
import { AppError } from '../../core/errors.ts'
import type { MemoryCeiling } from '../../core/runtime/process-limits.ts'
import type { OpenStatements } from './open-statements.ts'

const LOOK_EVERY_MS = 100
/** The server counts as idle after this many checks without a running statement. */
const IDLE_LOOKS = 5
/** Free memory when nothing runs and this many more bytes are in use than after the last time. */
const KEPT_BYTES_MAX = 64e6
/** Without a container limit: bytes for the program itself, its models and JavaScript's heap. */
const PROGRAM_BYTES = 1e9
/** Memory that functions use outside the engine's buffers, as a share of the engine's limit. */
const FUNCTIONS_SHARE = 0.25
/** The usable share of the machine's memory. The kernel kills a process that takes more. */
const MACHINE_SHARE = 0.9
/** If memory is full for more checks than this, the cause is not the peak of a single statement. */
const FULL_LOOKS = 5

export interface WatchedMemory {
  /** The resident memory of the process, in bytes. */
  rss(): number
  /**
   * Starts to return free memory to the system. Takes some tenths of a second, off the main thread.
   */
  collectSoon(): void
  trim(): Promise<void>
  /** Ends unread results to free their memory. */
  makeRoom(): Promise<unknown>
  readonly ceiling: Pick<MemoryCeiling, 'isSet' | 'raisedBytes' | 'keepReserve' | 'state'>
  /** When the kernel sets no limit and the process must be restarted. */
  onFull(error: AppError): void
}

export interface MemoryLimits {
  /** The limit for the engine's buffers in bytes (EIDER_MEMORY_LIMIT). */
  readonly engineBytesMax: number
  readonly machineBytes: number
}

/**
 * Without a container limit it requests restarts (docs/decisions/0021-memory-of-the-process.md).
 */
export class MemoryWatchdog {
  readonly #statements: OpenStatements
  readonly #memory: WatchedMemory
  readonly #limits: MemoryLimits
  #timer: ReturnType<typeof setInterval> | null = null
  #restingBytes: number
  #idleLooks = 0
  #fullLooks = 0
  #failed = 0
  #isMakingRoom = false

  constructor(statements: OpenStatements, memory: WatchedMemory, limits: MemoryLimits) {
    this.#statements = statements
    this.#memory = memory
    this.#limits = limits
    this.#restingBytes = memory.rss()
  }

  /** Call before each statement. */
  start(): void {
    this.#timer ??= setInterval(() => this.look(), LOOK_EVERY_MS)
  }

  /** Call when a statement failed for lack of memory. */
  noteFailure(): void {
    this.#failed += 1
  }

  state(): MemoryState {
    const { data, start, limit } = this.#memory.ceiling.state()
    return { rss: this.#memory.rss(), data, start, limit, interrupted: this.#failed }
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  look(): void {
    const rss = this.#memory.rss()
    this.#replaceWhenFull(rss)
    // Unread results keep their memory. At the limit Bun would abort, because the main thread
    // cannot allocate.
    const isAnyUnread = [...this.#statements].some(({ place }) => place.isParked)
    if (this.#memory.ceiling.keepReserve(isAnyUnread)) void this.#makeRoom()
    // A result that waits for its reader uses no CPU.
    const isComputing = [...this.#statements].some(({ place }) => !place.isParked)
    this.#idleLooks = isComputing ? 0 : this.#idleLooks + 1
    if (this.#idleLooks < IDLE_LOOKS) return
    if (this.#idleLooks === IDLE_LOOKS && rss - this.#restingBytes > KEPT_BYTES_MAX) {
      // Not awaited, because an insert may be running.
      this.#memory.collectSoon()
      if (this.#statements.size === 0) void this.#memory.trim().catch(() => {})
    }
    if (this.#idleLooks < 2 * IDLE_LOOKS) return
    this.#restingBytes = rss
    if (this.#statements.size === 0) this.close()
  }

  async #makeRoom(): Promise<void> {
    if (this.#isMakingRoom) return
    this.#isMakingRoom = true
    try {
      await this.#memory.makeRoom()
    } finally {
      this.#isMakingRoom = false
    }
  }

  #replaceWhenFull(rss: number): void {
    const { ceiling, onFull } = this.#memory
    if (ceiling.isSet) return
    const { engineBytesMax, machineBytes } = this.#limits
    const wanted = engineBytesMax * (1 + FUNCTIONS_SHARE) + PROGRAM_BYTES + ceiling.raisedBytes
    const isFull = rss > Math.min(wanted, machineBytes * MACHINE_SHARE)
    this.#fullLooks = isFull ? this.#fullLooks + 1 : 0
    if (this.#fullLooks !== FULL_LOOKS) return
    const held = `Statements have filled the memory of the server (${Math.round(rss / 1e6)} MB)`
    onFull(new AppError('out_of_memory', `${held}; EIDER_MEMORY_LIMIT sets how much there may be`))
  }
}

// Parses memory sizes in settings: `512MB`, `4GiB`, or `60%` of the machine's memory.

/** DuckDB has no percentages. `60%` is of the machine's memory or the container's limit. */
export function memoryLimitOf(setting: string): string {
  const share = shareOf(setting)
  if (share === undefined) return setting
  const mebibytes = Math.floor((machineBytes() * share) / 1024 ** 2)
  return `${Math.max(mebibytes, 64)}MiB`
}

const UNITS: Readonly<Record<string, number>> = {
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

/** Returns the size in bytes. */
export function memoryBytesOf(setting: string): number {
  const share = shareOf(setting)
  if (share !== undefined) return Math.floor(machineBytes() * share)
  const [, amount = '0', unit = 'MB'] = /^(\d+(?:\.\d+)?)(\w+)$/.exec(setting) ?? []
  return Math.floor(Number(amount) * (UNITS[unit] ?? 0))
}

/** Returns the percentage as a number from 0 to 1. */
function shareOf(setting: string): number | undefined {
  const share = /^(\d+(?:\.\d+)?)%$/.exec(setting)?.[1]
  return share === undefined ? undefined : Number(share) / 100
}

/** The machine's memory, or the container's limit if that is lower. */
export function machineBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
