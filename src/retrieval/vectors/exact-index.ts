import type { ExactVectors, VectorChange } from '../../core/domain/ports/retrieval-ports.ts'
import type { NearestChunk } from '../../core/domain/ports/search-ports.ts'
import { AppError } from '../../core/errors.ts'
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

export interface ExactIndexOptions {
  readonly memory: VectorMemory
  readonly pool: ScanRunner
  /** 1 to `VECTOR_LIMITS.dimensionsMax`. */
  readonly dimensions: number
  /**
   * Reads the vectors of candidates if memory holds only their codes, a fifth of the bytes.
   * Without it memory holds the floats as well.
   */
  readonly fetchVectors?: FetchVectors
}

export interface VectorSearch {
  readonly queryVector: Float32Array
  readonly k: number
  /** Only among these; unknown keys do no harm. An array is recognised by identity: it must not be changed. */
  readonly allowedKeys?: BigInt64Array
  /** Only these rows of the index, if `allowedKeys` is not set; null: all of them. */
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
  /** Current vectors. */
  count(): number
  rowOf(key: bigint): number | undefined
  /** The nearest `k` of all, exactly. */
  nearest(
    search: Pick<VectorSearch, 'queryVector' | 'k'>,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[]>
}

/** Follows the rows of an index. */
export interface RowObserver {
  /** Rows with a new vector, and rows without one now, from the current change on. */
  rowsChanged(rows: { readonly stored: Iterable<number>; readonly removed: Iterable<number> }): void
  /** The memory of the rows is released next. */
  closed(reason: unknown): void
}

interface Stored {
  readonly rows: Int32Array
  readonly task: StoreTask
  readonly result: StoreResult
}

/**
 * The cached vectors of one knowledge base in shared memory, searched by threads. It finds what the
 * exact scan finds, in float64: the nearest first, of equally near ones the smaller key.
 */
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

  /** @throws AppError `dimension_mismatch` for dimensions out of bounds */
  constructor(options: ExactIndexOptions) {
    const { dimensions, memory } = options
    const { dimensionsMax } = VECTOR_LIMITS
    if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > dimensionsMax) {
      const sizes = `an index takes 1 to ${dimensionsMax}, not ${dimensions}`
      throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
    }
    this.#options = options
    this.#shape = rowShape(dimensions, options.fetchVectors === undefined)
    this.#rows = new RowTable(memory, this.#shape)
    this.#chosen = new ChosenRowsByKeys(this.#rows, this.#keyRows)
    this.#kernel = memory.kernel
  }

  /** Current vectors. */
  get count(): number {
    return this.#keyRows.size
  }

  /** As of the last change: an index whose revision differs from its table's is stale. */
  get revision(): number {
    return this.#revision
  }

  /** Of memory, including unused. */
  get bytes(): number {
    return this.#rows.bytes
  }

  /** Empty rows that are scanned. If they are most of all, rebuild the index. */
  get emptyRowCount(): number {
    return this.#rows.rowCount - this.count
  }

  /**
   * Applies one commit, whole or not at all. Running searches see the rows from before.
   * @throws AppError `out_of_memory`, `dimension_mismatch`, `internal` for a vector that is not of
   * unit length
   */
  apply(change: VectorChange): void {
    const { rows, task } = this.#taken(change)
    this.#finish(change, { rows, task, result: runTask(this.#kernel, task) })
  }

  /**
   * The same in another thread, for vectors with new keys, before the first search. The caller waits for all of them
   * before it closes the index.
   */
  async applyInThread(change: VectorChange): Promise<void> {
    const { rows, task } = this.#taken(change)
    const result = await this.#options.pool.run(task, null)
    this.#finish(change, { rows, task, result })
  }

  #taken({ keys: given, vectors = new Float32Array() }: VectorChange) {
    this.#closing.signal.throwIfAborted()
    const keys = numbersOfKeys(given ?? new BigInt64Array())
    if (vectors.length !== keys.length * this.#options.dimensions) {
      const sizes = `${keys.length} keys and ${vectors.length} numbers`
      throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
    }
    const rows = this.#rows.take(keys.length, this.#snapshots.oldest)
    const addedAt = this.#snapshots.current + 1
    const places = { shape: this.#shape, ...this.#rows.listParts(rows) }
    const task: StoreTask = { kind: 'store', ...places, keys, vectors, addedAt }
    return { rows, task }
  }

  /** No search sees these rows before the snapshot advances. */
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
   * The nearest `k` of all, or of those allowed, or fewer.
   * @throws AppError `dimension_mismatch`, `sql_invalid_search` for a vector without a direction or
   * a `k` that is not a count, or more than `VECTOR_LIMITS.neighboursMax`, `too_busy`, `shutting_down`,
   * `internal` when threads keep ending
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

  /** From here on, this one follows the rows, alone. */
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

  /** A view of a vector in memory, valid until the next change. undefined: gone, or only its codes are there. */
  viewOf(key: bigint): Float32Array | undefined {
    const row = this.#shape.holdsFloats ? this.#keyRows.get(Number(key)) : undefined
    if (row === undefined) return undefined
    const { extent, first } = this.#rows.extentOf(row)
    const { floats } = extentLayout(extent, this.#shape.stride)
    const address = floats + (row - first) * this.#shape.stride * 4
    return new Float32Array(this.#options.memory.memory.buffer, address, this.#options.dimensions)
  }

  /** Releases the memory; running searches end with `shutting_down`. */
  close(): void {
    const reason = new AppError('shutting_down', 'The vector index is closed')
    this.#closing.abort(reason)
    this.#observer?.closed(reason)
    this.#rows.release()
  }

  /** The rows of a failed change: in a block reused from another index, their content is arbitrary. */
  #giveBack(rows: Int32Array): void {
    for (const row of rows) {
      this.#kernel.removeRow(this.#open(row), 0)
      this.#rows.free(row, 0)
    }
  }

  /** @returns its row, if the key exists */
  #remove(key: number, removedAt: number): readonly number[] {
    const row = this.#keyRows.get(key)
    if (row === undefined) return []
    this.#kernel.removeRow(this.#open(row), removedAt)
    this.#keyRows.delete(key)
    this.#rows.free(row, removedAt)
    return [row]
  }

  /** Its number within its extent, which the kernel has open now. */
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

  /** One scan for each idle thread that would have enough work. */
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
      // The other parts of a failed search are useless.
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
