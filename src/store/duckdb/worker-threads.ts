import { availableParallelism } from 'node:os'
import type { DuckDBConnection } from '@duckdb/node-api'

/** The thread that calls DuckDB counts as an external one, and computes too. */
const START_THREADS = 'SET GLOBAL external_threads = 1'
export const END_THREADS = "SET GLOBAL external_threads = current_setting('threads')"

const CHECK_EVERY_MS = 3
/** What takes longer may have work for several threads. */
const LONG_MS = 3
/** A check that finds long work adds this, and others subtract one. */
const LONG_SCORE = 2
/** The threads start here, after three checks in a row, and end at zero. */
const START_SCORE = 6
/** From here, they end after half a second without long work. */
const SCORE_MAX = 150

interface RunningWork {
  readonly since: number
  readonly longMs: number
  /** Whether it computes now. A result that waits for its reader does not. */
  readonly isComputing: () => boolean
}

/**
 * DuckDB's own threads, which exist only while something takes long. If one of them takes the only
 * task of a short statement, the thread that called DuckDB spins until that ends. The tasks of a
 * running statement are also taken by threads that start later.
 */
export class WorkerThreads {
  readonly #lease: <T>(work: (connection: DuckDBConnection) => Promise<T>) => Promise<T>
  readonly #running = new Set<RunningWork>()
  readonly #cores = availableParallelism()
  #timer: ReturnType<typeof setTimeout> | null = null
  #score = 0
  #areStarted = false
  #isChanging = false

  /** @param lease not one that calls `begin` */
  constructor(lease: <T>(work: (connection: DuckDBConnection) => Promise<T>) => Promise<T>) {
    this.#lease = lease
  }

  /** Call when work begins. @returns a function to call when it has ended */
  begin({
    longMs = LONG_MS,
    isComputing = () => true,
  }: Partial<Pick<RunningWork, 'longMs' | 'isComputing'>> = {}): () => void {
    const work = { since: performance.now(), longMs, isComputing }
    this.#running.add(work)
    this.#timer ??= this.#checkSoon()
    return () => this.#running.delete(work)
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#running.clear()
  }

  #checkSoon(): ReturnType<typeof setTimeout> {
    const dueAt = performance.now() + CHECK_EVERY_MS
    return setTimeout(() => this.#check(dueAt), CHECK_EVERY_MS).unref()
  }

  #check(dueAt: number): void {
    this.#timer = null
    const now = performance.now()
    const computing = [...this.#running].filter((work) => work.isComputing())
    // Many statements keep the cores busy, and a late check says nothing about their length.
    const isLong =
      now - dueAt < CHECK_EVERY_MS &&
      computing.length <= 2 * this.#cores &&
      computing.some(({ since, longMs }) => now - since > longMs)
    this.#score = isLong
      ? Math.min(SCORE_MAX, this.#score + LONG_SCORE)
      : Math.max(0, this.#score - 1)
    const areWanted = this.#score >= (this.#areStarted ? 1 : START_SCORE)
    if (areWanted !== this.#areStarted) void this.#change(areWanted)
    if (computing.length > 0 || this.#areStarted) this.#timer = this.#checkSoon()
  }

  async #change(areWanted: boolean): Promise<void> {
    if (this.#isChanging) return
    this.#isChanging = true
    this.#areStarted = areWanted
    try {
      await this.#lease((connection) => connection.run(areWanted ? START_THREADS : END_THREADS))
    } catch {
      // Only speed depends on it, and the database may be closing.
    } finally {
      this.#isChanging = false
    }
  }
}
