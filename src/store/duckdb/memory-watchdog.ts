import { totalmem } from 'node:os'
import type { MemoryState } from '../../core/domain/server-state.ts'
import { AppError } from '../../core/errors.ts'
import type { MemoryCeiling } from '../../core/runtime/process-limits.ts'
import type { OpenStatements } from './open-statements.ts'

const LOOK_EVERY_MS = 100
/** Nothing runs if this many checks found nothing running. */
const IDLE_LOOKS = 5
/** Memory is released when nothing runs and this much more is in use than last time. */
const KEPT_BYTES_MAX = 64e6
/** Without a ceiling: the program itself, with models and JavaScript's heap. */
const PROGRAM_BYTES = 1e9
/** A share of the engine's limit, for functions' memory outside of its buffers. */
const FUNCTIONS_SHARE = 0.25
/** A share of the machine's memory. The kernel ends a process that needs more. */
const MACHINE_SHARE = 0.9
/** Longer than this, it is not one statement's peak. */
const FULL_LOOKS = 5

export interface WatchedMemory {
  /** Memory of the process, in bytes. */
  rss(): number
  /** Returns free memory to the system within some tenths of a second, besides the main thread's work. */
  collectSoon(): void
  /** Releases blocks of the file that the engine keeps, but only while nothing runs. */
  trim(): Promise<void>
  /** Ends unread results. */
  makeRoom(): Promise<unknown>
  readonly ceiling: Pick<MemoryCeiling, 'isSet' | 'raisedBytes' | 'keepReserve' | 'state'>
  /** Called if the system has no ceiling and the process has outgrown its memory: it must be replaced. */
  onFull(error: AppError): void
}

export interface MemoryLimits {
  /** For the engine's buffers (EIDER_MEMORY_LIMIT). */
  readonly engineBytesMax: number
  readonly machineBytes: number
}

/**
 * Gives back what statements left when they are over. Where the kernel keeps no ceiling, it also has the process replaced
 * before the kernel ends it (docs/decisions/0021-memory-of-the-process.md).
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

  /** Before each statement. */
  start(): void {
    this.#timer ??= setInterval(() => this.look(), LOOK_EVERY_MS)
  }

  /** A statement ended because it needed more memory. */
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
    // Their memory stays in use. At the ceiling any allocation may fail, and Bun aborts if the main thread's does.
    const isAnyUnread = [...this.#statements].some(({ place }) => place.isParked)
    if (this.#memory.ceiling.keepReserve(isAnyUnread)) void this.#makeRoom()
    // Results that wait for their readers compute nothing.
    const isComputing = [...this.#statements].some(({ place }) => !place.isParked)
    this.#idleLooks = isComputing ? 0 : this.#idleLooks + 1
    if (this.#idleLooks < IDLE_LOOKS) return
    if (this.#idleLooks === IDLE_LOOKS && rss - this.#restingBytes > KEPT_BYTES_MAX) {
      // Not awaited: an insert may be running.
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

// Sizes in settings: `512MB`, `4GiB`, or `60%` of the machine's memory.

/**
 * A size in DuckDB's notation, which has no percentages: `60%` is that share of the machine's memory, or of the container's
 * if that has less.
 */
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

/** The same size in bytes. */
export function memoryBytesOf(setting: string): number {
  const share = shareOf(setting)
  if (share !== undefined) return Math.floor(machineBytes() * share)
  const [, amount = '0', unit = 'MB'] = /^(\d+(?:\.\d+)?)(\w+)$/.exec(setting) ?? []
  return Math.floor(Number(amount) * (UNITS[unit] ?? 0))
}

/** 0 to 1. */
function shareOf(setting: string): number | undefined {
  const share = /^(\d+(?:\.\d+)?)%$/.exec(setting)?.[1]
  return share === undefined ? undefined : Number(share) / 100
}

/** The memory of the machine, or of the container if that has less. */
export function machineBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
