import { statfsSync } from 'node:fs'
import type { DiskState } from '../../core/domain/server-state.ts'
import { AppError } from '../../core/errors.ts'
import { MAKE_ROOM } from '../duckdb/database-error.ts'
import { memoryBytesOf } from '../duckdb/memory-watchdog.ts'

const LOOK_AT_DISK_MS = 250

/** Space that a rebuild must leave for the log. */
const REBUILD_SPARE_BYTES = 32 * 1024 ** 2

/** Checks that the data folder's disk has enough free space before writing to it. */
export class DiskSpace {
  readonly #reserveBytes: number
  readonly #directory: string | null
  readonly #freeBytesOf: (directory: string) => number
  #free = Number.POSITIVE_INFINITY
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(given: {
    /** The data folder, or null if nothing is on disk. */
    readonly directory: string | null
    /** Space to keep free, because DuckDB ends the process if it cannot write its log. */
    readonly reserveBytes: number
    /** Returns the free bytes on the folder's disk. By default, asks the operating system. */
    readonly freeBytesOf?: ((directory: string) => number) | undefined
  }) {
    const { directory, reserveBytes, freeBytesOf = freeBytes } = given
    this.#reserveBytes = reserveBytes
    this.#directory = directory
    this.#freeBytesOf = freeBytesOf
  }

  /** Infinity if there is no data folder, or if the system does not report the free space. */
  freeBytes(): number {
    if (this.#directory === null) return this.#free
    const nowMs = performance.now()
    if (nowMs - this.#lookedMs < LOOK_AT_DISK_MS) return this.#free
    this.#lookedMs = nowMs
    try {
      this.#free = this.#freeBytesOf(this.#directory)
    } catch {
      this.#free = Number.POSITIVE_INFINITY
    }
    return this.#free
  }

  /** Returns how much statements may spill: the requested size, but never the reserve. */
  boundedSpill(wanted: string): string {
    const room = this.freeBytes() - this.#reserveBytes
    if (room >= memoryBytesOf(wanted)) return wanted
    return `${Math.max(1, Math.floor(room / 1e6))}MB`
  }

  isFull(): boolean {
    return this.freeBytes() < this.#reserveBytes
  }

  /** @param wantedBytes if known @throws AppError `storage_full` within the reserve */
  check(wantedBytes = 0, keptBytes = this.#reserveBytes): void {
    const refusal = this.refusal(wantedBytes, keptBytes)
    if (refusal !== undefined) throw new AppError('storage_full', refusal)
  }

  /** Copying a table may use most of the reserve. @throws AppError `storage_full` */
  checkForRebuild(wantedBytes: number): void {
    this.check(wantedBytes, Math.min(this.#reserveBytes, REBUILD_SPARE_BYTES))
  }

  /** Why a write is refused; undefined if there is enough space. */
  refusal(wantedBytes = 0, keptBytes = this.#reserveBytes): string | undefined {
    const free = this.freeBytes()
    if (free - wantedBytes >= keptBytes) return undefined
    const wanted = wantedBytes === 0 ? '' : `, ${wholeMegabytes(wantedBytes)} are needed`
    const kept = `${wholeMegabytes(keptBytes)} must stay free (EIDER_DISK_RESERVE)`
    return `The disk of the data folder has ${wholeMegabytes(free)} left${wanted} and ${kept}. ${MAKE_ROOM}`
  }

  state(files: { readonly data: number; readonly log: number }): Omit<DiskState, 'files'> {
    const free = this.freeBytes()
    return {
      free: Number.isFinite(free) ? free : null,
      reserve: this.#reserveBytes,
      ...files,
      full: this.isFull(),
    }
  }
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

function wholeMegabytes(bytes: number): string {
  return `${Math.floor(Math.max(0, bytes) / 1e6)} MB`
}
