import type { ExactVectors, VectorChange } from '../../core/domain/ports/retrieval-ports.ts'
import type { NearestChunk } from '../../core/domain/ports/search-ports.ts'
import { AppError, dimensionMismatch } from '../../core/errors.ts'
import { type Kernel, openExtent } from '../kernel/kernel.ts'
import { extentLayout, type RowShape, rowShape, VECTOR_LIMITS } from '../kernel/memory-layout.ts'
import { QuantizedRows, unitQueryVector } from './quantized-rows.ts'
import {
  type ChosenRows,
  ChosenRowsByKeys,
  KeyRows,
  numbersOfKeys,
  RowTable,
  Snapshots,
  scanParts,
} from './row-table.ts'
import {
  type FetchVectors,
  nearestOf,
  rescored,
  runTask,
  type ScanResult,
  type ScanRunner,
  type ScanTask,
  type StoreResult,
  type StoreTask,
  scanBytesOf,
} from './scan.ts'
import type { VectorMemory } from './vector-memory.ts'

interface ExactIndexOptions {
  readonly memory: VectorMemory
  readonly pool: ScanRunner
  /** 1 to `VECTOR_LIMITS.dimensionsMax`. */
  readonly dimensions: number
  /** If memory holds only codes, a fifth of the bytes. If unset, it holds floats as well. */
  readonly fetchVectors?: FetchVectors
}

export interface VectorSearch {
  readonly queryVector: Float32Array
  readonly k: number
  /** Unknown keys are ignored. The array must not change: it is recognized by identity. */
  readonly allowedKeys?: BigInt64Array
  /** Searches only these rows of the index, unless `allowedKeys` is set; null: all. */
  readonly rows?: Int32Array | null
}

/** The internals of an exact index, for an index that keeps lists of its rows. */
export interface IndexRows {
  readonly memory: VectorMemory
  readonly pool: ScanRunner
  readonly shape: RowShape
  readonly dimensions: number
  readonly rows: RowTable
  readonly codes: QuantizedRows
  count(): number
  rowOf(key: bigint): number | undefined
  /** Returns exactly the nearest `k` of all. */
  nearest(
    search: Pick<VectorSearch, 'queryVector' | 'k'>,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[]>
}

export interface RowObserver {
  /** Called after each change with the rows that got a vector and the rows that lost theirs. */
  rowsChanged(rows: { readonly stored: Iterable<number>; readonly removed: Iterable<number> }): void
  /** Called before the memory of the rows is released. */
  closed(reason: unknown): void
}

interface Stored {
  readonly rows: Int32Array
  readonly task: StoreTask
  readonly result: StoreResult
}

/** Threads find the same as an exact scan in float64: nearest first, ties by key. */
export class ExactIndex implements ExactVectors {
  readonly #options: ExactIndexOptions
  readonly #shape: RowShape
  readonly #rows: RowTable
  readonly #keyRows = new KeyRows()
  readonly #kernel: Kernel
  readonly #snapshots = new Snapshots()
  readonly #closing = new AbortController()
  #observer: RowObserver | null = null
  #revision = 0
  readonly #chosen: ChosenRowsByKeys

  /** @throws AppError `dimension_mismatch` for dimensions outside the limits */
  constructor(options: ExactIndexOptions) {
    const { dimensions, memory } = options
    const { dimensionsMax } = VECTOR_LIMITS
    if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > dimensionsMax) {
      throw dimensionMismatch(`an index takes 1 to ${dimensionsMax}, not ${dimensions}`)
    }
    this.#options = options
    this.#shape = rowShape(dimensions, options.fetchVectors === undefined)
    this.#rows = new RowTable(memory, this.#shape)
    this.#chosen = new ChosenRowsByKeys(this.#rows, this.#keyRows)
    this.#kernel = memory.kernel
  }

  get count(): number {
    return this.#keyRows.size
  }

  /** The revision of the last change. If the table's revision differs, the index is outdated. */
  get revision(): number {
    return this.#revision
  }

  /** The bytes of its memory, including unused parts. */
  get bytes(): number {
    return this.#rows.bytes
  }

  /** The number of empty rows that are scanned. If most are empty, rebuild the index. */
  get emptyRowCount(): number {
    return this.#rows.rowCount - this.count
  }

  /**
   * Applies one commit, completely or not at all. Running searches see the previous rows.
   * @throws AppError `out_of_memory`, `dimension_mismatch`, `internal` for a vector whose length is
   * not 1
   */
  apply(change: VectorChange): void {
    const { rows, task } = this.#taken(change)
    this.#finish(change, { rows, task, result: runTask(this.#kernel, task) })
  }

  /** For vectors with new keys before the first search. Wait for all before closing. */
  async applyInThread(change: VectorChange): Promise<void> {
    const { rows, task } = this.#taken(change)
    const result = await this.#options.pool.run(task, null)
    this.#finish(change, { rows, task, result })
  }

  #taken({ keys: given, vectors = new Float32Array() }: VectorChange) {
    this.#closing.signal.throwIfAborted()
    const keys = numbersOfKeys(given ?? new BigInt64Array())
    if (vectors.length !== keys.length * this.#options.dimensions) {
      throw dimensionMismatch(`${keys.length} keys and ${vectors.length} numbers`)
    }
    const rows = this.#rows.take(keys.length, this.#snapshots.oldest)
    const addedAt = this.#snapshots.current + 1
    const places = { shape: this.#shape, ...this.#rows.listParts(rows) }
    const task: StoreTask = { kind: 'store', ...places, keys, vectors, addedAt }
    return { rows, task }
  }

  /** Searches do not see these rows until the snapshot advances. */
  #finish(change: VectorChange, { rows, task: { keys }, result }: Stored): void {
    if (result.refusedKey !== null) {
      this.#giveBack(rows)
      throw new AppError(
        'internal',
        `The vector of chunk ${result.refusedKey} is not of unit length`,
      )
    }
    const next = this.#snapshots.current + 1
    const removed: number[] = []
    for (const key of numbersOfKeys(change.removedKeys ?? new BigInt64Array())) {
      removed.push(...this.#remove(key, next))
    }
    for (const [index, key] of keys.entries()) {
      removed.push(...this.#remove(key, next))
      this.#keyRows.set(key, rows[index] ?? 0)
    }
    this.#snapshots.advance()
    this.#revision = change.revision
    this.#observer?.rowsChanged({ stored: rows, removed })
  }

  /**
   * Returns the nearest `k` of all or of the allowed ones, or fewer if there are fewer.
   * @throws AppError `dimension_mismatch`; `sql_invalid_search` for a zero vector, or a `k` that is
   * not a positive integer or exceeds `VECTOR_LIMITS.neighboursMax`; `too_busy`, `shutting_down`,
   * `internal` if threads keep crashing
   */
  async search(search: VectorSearch, signal: AbortSignal): Promise<readonly NearestChunk[]> {
    const stopped = AbortSignal.any([signal, this.#closing.signal])
    stopped.throwIfAborted()
    const queryVector = unitQueryVector(search.queryVector, this.#options.dimensions)
    const { allowedKeys } = search
    const chosen =
      allowedKeys === undefined
        ? this.#listed(search.rows ?? null)
        : this.#chosen.of(allowedKeys, this.#snapshots.current)
    const k = this.#possibleCount(search.k, chosen)
    if (k === 0) return []
    const snapshot = this.#snapshots.enter()
    try {
      const tasks = this.#tasks({ queryVector, k, snapshot }, chosen)
      return await this.#nearest(await this.#scanAll(tasks, stopped), { queryVector, k }, stopped)
    } finally {
      this.#snapshots.leave(snapshot)
    }
  }

  /** Makes this the only observer of the rows from now on. */
  attach(observer: RowObserver): IndexRows {
    this.#observer = observer
    const { memory, pool, dimensions } = this.#options
    const [shape, rows] = [this.#shape, this.#rows]
    const codes = new QuantizedRows({ memory, shape, rows })
    return {
      ...{ memory, pool, shape, dimensions, rows, codes },
      count: () => this.count,
      rowOf: (key) => this.#keyRows.get(Number(key)),
      nearest: (search, signal) => this.search(search, signal),
    }
  }

  /** Valid until the next change. Undefined if removed, or if memory holds only the code. */
  viewOf(key: bigint): Float32Array | undefined {
    const row = this.#shape.holdsFloats ? this.#keyRows.get(Number(key)) : undefined
    if (row === undefined) return undefined
    const { extent, first } = this.#rows.extentOf(row)
    const { floats } = extentLayout(extent, this.#shape.stride)
    const address = floats + (row - first) * this.#shape.stride * 4
    return new Float32Array(this.#options.memory.memory.buffer, address, this.#options.dimensions)
  }

  /** Frees the memory. Running searches end with `shutting_down`. */
  close(): void {
    const reason = new AppError('shutting_down', 'The vector index is closed')
    this.#closing.abort(reason)
    this.#observer?.closed(reason)
    this.#rows.release()
  }

  /** Returns the rows of a failed change, whose memory may now belong to another index. */
  #giveBack(rows: Int32Array): void {
    for (const row of rows) {
      this.#kernel.removeRow(this.#open(row), 0)
      this.#rows.free(row, 0)
    }
  }

  /** @returns its row if the key exists */
  #remove(key: number, removedAt: number): readonly number[] {
    const row = this.#keyRows.get(key)
    if (row === undefined) return []
    this.#kernel.removeRow(this.#open(row), removedAt)
    this.#keyRows.delete(key)
    this.#rows.free(row, removedAt)
    return [row]
  }

  /** Opens a row's extent in the kernel. Returns the row's number within it. */
  #open(row: number): number {
    const { extent, first } = this.#rows.extentOf(row)
    openExtent(this.#kernel, this.#shape, extent)
    return row - first
  }

  #listed(rows: Int32Array | null): ChosenRows | null {
    return rows && { rows, whole: this.#rows.listParts(rows) }
  }

  #possibleCount(k: number, chosen: ChosenRows | null): number {
    const { neighboursMax } = VECTOR_LIMITS
    const possible = Math.min(k, chosen === null ? this.count : chosen.rows.length)
    if (Number.isInteger(k) && k >= 0 && possible <= neighboursMax) return possible
    const message = `A vector search gives 0 to ${neighboursMax} neighbours, not ${k}`
    throw new AppError('sql_invalid_search', message)
  }

  /** Returns one scan for each idle thread that is worth using. */
  #tasks(
    search: Pick<ScanTask, 'queryVector' | 'k' | 'snapshot'>,
    chosen: ChosenRows | null,
  ): readonly ScanTask[] {
    const { memory, pool } = this.#options
    const { partBytesMin } = memory.sharing
    const shape = this.#shape
    const parts = scanParts(this.#rows, chosen, { shape, partBytesMin, partsMax: pool.idleCount })
    return parts.map((part) => ({ kind: 'scan', ...search, ...part, shape }))
  }

  async #scanAll(tasks: readonly ScanTask[], signal: AbortSignal): Promise<readonly ScanResult[]> {
    const [only] = tasks
    const { pool, memory } = this.#options
    if (only !== undefined && tasks.length === 1) {
      const isShort = scanBytesOf(only) <= memory.sharing.inlineBytesMax
      return [isShort ? runTask(this.#kernel, only) : await pool.run(only, signal)]
    }
    const failed = new AbortController()
    const stopped = AbortSignal.any([signal, failed.signal])
    try {
      return await Promise.all(tasks.map((task) => pool.run(task, stopped)))
    } catch (error) {
      // The remaining parts of a failed search are useless.
      failed.abort(error)
      throw error
    }
  }

  async #nearest(
    results: readonly ScanResult[],
    search: Pick<ScanTask, 'queryVector' | 'k'>,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[]> {
    const { fetchVectors } = this.#options
    if (fetchVectors === undefined) return nearestOf(results, search.k)
    const candidates = results.flatMap((one) => (one.kind === 'candidates' ? one.candidates : []))
    return rescored(candidates, { ...search, fetchVectors }, signal)
  }
}
