import { SerialQueue } from '../../core/runtime/serial-queue.ts'

interface WriteBehindOptions<Row> {
  readonly write: (rows: readonly Row[]) => Promise<void>
  /** How long rows wait for others. */
  readonly writeMs: number
  /** The pause after a failed write, for example because the disk is full. */
  readonly retryMs: number
  /** The most that waits in memory if nothing can be written. After that, the oldest are dropped. */
  readonly sizeMax: number
  readonly sizeOf: (row: Row) => number
}

/** Keeps rows in memory for a moment and writes them together: each write costs a transaction. */
export class WriteBehind<Row> {
  readonly #options: WriteBehindOptions<Row>
  readonly #waiting = new Set<Row>()
  #size = 0
  readonly #writes = new SerialQueue()
  #timer: ReturnType<typeof setTimeout> | null = null
  #isClosed = false

  constructor(options: WriteBehindOptions<Row>) {
    this.#options = options
  }

  /** Rows that are not written yet. */
  get waiting(): Iterable<Row> {
    return this.#waiting
  }

  add(row: Row): void {
    const { sizeMax, sizeOf, writeMs } = this.#options
    this.#waiting.add(row)
    this.#size += sizeOf(row)
    for (const oldest of this.#waiting) {
      if (this.#size <= sizeMax) break
      this.#forget(oldest)
    }
    this.#writeIn(writeMs)
  }

  /** Resolves when all rows so far are written. After an error of the write, they wait again. */
  flush(): Promise<void> {
    return this.#writes.run(async () => {
      const rows = [...this.#waiting]
      if (rows.length === 0) return
      await this.#options.write(rows)
      for (const row of rows) this.#forget(row)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    // A full disk must not prevent closing.
    await this.flush().catch(() => {})
  }

  #forget(row: Row): void {
    if (this.#waiting.delete(row)) this.#size -= this.#options.sizeOf(row)
  }

  #writeIn(ms: number): void {
    if (this.#isClosed || this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.flush().catch(() => this.#writeIn(this.#options.retryMs))
    }, ms)
    this.#timer.unref()
  }
}
