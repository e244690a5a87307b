import type {
  TopKSearch,
  VectorBatch,
  VectorChange,
} from '../../core/domain/ports/retrieval-ports.ts'
import type { NearestChunk } from '../../core/domain/ports/search-ports.ts'
import { AppError, dimensionMismatch } from '../../core/errors.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import {
  type FoundRow,
  HnswTable,
  type HnswTableOptions,
  type NumberedVector,
} from './hnsw-database.ts'

/** Move this many vectors at a time into a table without a graph. */
const STAGED_MAX = 256
/** How many vectors outside the graph to compare. With more, comparing all vectors is faster. */
const RECENT_MAX = 256
/** Rebuild the graph if more than this share and number of its vectors were removed. */
const REMOVED_SHARE_MAX = 0.15
const REMOVED_MIN = 100
/** The most rows that one search may request from the graph. */
const FETCHED_MAX = 4096
/** The most running and waiting searches. With more, an exact search is faster than waiting. */
const SEARCHES_MAX = 4

/**
 * The vectors of one knowledge base in a graph (HNSW; Malkov and Yashunin, 2016) of DuckDB's `vss`
 * extension. New vectors are compared one by one until the graph contains them. Removed vectors
 * stay in the graph and are filtered out of its results.
 */
export class HnswIndex {
  readonly #options: HnswTableOptions
  readonly #closing = new AbortController()
  /** The graph's row number for the key of each current vector. */
  readonly #rows = new Map<number, number>()
  readonly #recent: DeltaBuffer
  /** Keys that changed during the load, which reads outdated vectors for them. */
  #changedKeys: Set<number> | null = null
  #table: HnswTable | null = null
  readonly #removed = new Set<number>()
  #nextRow = 0
  /** Rows from this number on are not in the graph. */
  #indexedTo = 0
  /** The number of rows in the graph, including removed ones. */
  #indexedCount = 0
  #revision = 0
  #searchCount = 0
  #isLoaded = false
  #failure: unknown = null
  #loading: Promise<void> = Promise.resolve()
  #work: Promise<void> = Promise.resolve()
  #isWorking = false

  constructor(options: HnswTableOptions) {
    this.#options = options
    this.#recent = new DeltaBuffer()
  }

  get count(): number {
    return this.#rows.size
  }

  /**
   * The revision of the last change. If the knowledge base's revision differs, the index is stale.
   */
  get revision(): number {
    return this.#revision
  }

  /**
   * Estimated memory: the vectors in the graph, their copy in its table, and waiting vectors.
   * Computed, because the extension (1.5.5) only reports the memory it reserved, which is the same
   * for one vector as for thousands, and for any `M`.
   */
  get bytes(): number {
    const vectorBytes = this.#options.dimensions * Float32Array.BYTES_PER_ELEMENT
    const nodeBytes = nodeBytesOf(this.#options.parameters)
    return this.#indexedCount * (2 * vectorBytes + nodeBytes) + this.#recent.count * vectorBytes
  }

  /** The number of vectors not yet in the graph. */
  get waitingCount(): number {
    return this.#recent.count
  }

  /** Whether enough vectors were removed to make a rebuild worthwhile. */
  get isWorn(): boolean {
    const { size } = this.#removed
    return size >= REMOVED_MIN && size > REMOVED_SHARE_MAX * this.#indexedCount
  }

  /** If `failed`, all searches return null from now on. */
  get state(): 'building' | 'ready' | 'failed' {
    if (this.#failure !== null) return 'failed'
    return this.#isLoaded ? 'ready' : 'building'
  }

  /**
   * Builds the graph, about 500 vectors of 384 dimensions per second. Changes can be applied in the
   * meantime.
   * @throws AppError `shutting_down` if it is closed; DuckDB's error if there is not enough memory
   */
  async load(batches: AsyncIterable<VectorBatch>, revision: number): Promise<void> {
    this.#closing.signal.throwIfAborted()
    this.#revision = revision
    this.#changedKeys = new Set()
    const loading = this.#load(batches)
    this.#loading = loading.catch(() => {})
    try {
      await loading
    } catch (error) {
      this.#failure ??= error
      throw error
    } finally {
      this.#changedKeys = null
    }
    this.#isLoaded = true
    this.#workInBackground()
  }

  /** Applies one commit. Searches see it at once. @throws AppError `dimension_mismatch` */
  apply({ removedKeys, keys, vectors, revision }: VectorChange): void {
    this.#closing.signal.throwIfAborted()
    const added = keys ?? new BigInt64Array()
    const numbers = vectors ?? new Float32Array()
    if (numbers.length !== added.length * this.#options.dimensions) {
      throw dimensionMismatch(`${added.length} keys and ${numbers.length} numbers`)
    }
    for (const key of [...(removedKeys ?? []), ...added]) {
      this.#remove(Number(key))
      this.#changedKeys?.add(Number(key))
    }
    this.#add(added, numbers)
    this.#revision = revision
    if (this.#isLoaded) this.#workInBackground()
  }

  /**
   * Returns the nearest `k` chunks, nearest first, rarely missing one. Distances are float32.
   * @param search.queryVector must have length 1
   * @returns null if the graph cannot answer and all vectors must be compared
   */
  async search(search: TopKSearch, signal: AbortSignal): Promise<readonly NearestChunk[] | null> {
    signal.throwIfAborted()
    const { queryVector, k } = search
    const table = this.#table
    // Adding to a graph blocks searches in it.
    const isAddedTo = this.#recent.count > RECENT_MAX
    const isBusy = this.#searchCount >= SEARCHES_MAX
    if (table === null || this.state !== 'ready' || isAddedTo || isBusy) return null
    this.#checkDimensions(queryVector)
    this.#searchCount += 1
    try {
      // Taken before the search: vectors that then move into the graph are in this list, in the
      // graph's results, or in both.
      const before = this.#recent.all()
      const found = await this.#found(table, search)
      signal.throwIfAborted()
      if (found === null) return null
      const recent = this.#recent.measured(before, queryVector)
      return nearestOf([...found, ...recent].filter(this.#isThere), k)
    } catch (error) {
      // The graph was closed in the meantime, so the search did not fail.
      if (this.#closing.signal.aborted) return null
      throw error
    } finally {
      this.#searchCount -= 1
    }
  }

  /** Returns DuckDB's plan for a search, or null before the graph exists. */
  async plan(queryVector: Float32Array, k: number): Promise<string | null> {
    return (await this.#table?.plan(queryVector, k)) ?? null
  }

  /** Resolves when the graph contains all current vectors, or the index has failed. */
  async settled(): Promise<void> {
    while (this.#isWorking) await this.#work
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(new AppError('shutting_down', 'The index in memory was released'))
    await Promise.all([this.#loading, this.settled()])
    const table = this.#table
    this.#table = null
    this.#rows.clear()
    // If dropping fails, the table disappears with its instance.
    await table?.drop().catch(() => {})
  }

  readonly #isThere = ({ row, key }: FoundRow): boolean => this.#rows.get(key) === row

  #add(keys: BigInt64Array, vectors: Float32Array, isNew: (key: number) => boolean = () => true) {
    const { dimensions } = this.#options
    const added = Array.from(keys, Number).flatMap((key, index) => {
      if (!isNew(key)) return []
      const row = this.#nextRow++
      this.#rows.set(key, row)
      return [{ row, key, vector: vectors.slice(index * dimensions, (index + 1) * dimensions) }]
    })
    this.#recent.add(added)
  }

  #remove(key: number): void {
    const row = this.#rows.get(key)
    if (row === undefined) return
    this.#rows.delete(key)
    if (row >= this.#indexedTo) {
      this.#recent.remove(row)
      return
    }
    this.#removed.add(row)
  }

  #checkDimensions(queryVector: Float32Array): void {
    const { dimensions } = this.#options
    if (queryVector.length === dimensions) return
    throw dimensionMismatch(`the index has ${dimensions}, the query vector ${queryVector.length}`)
  }

  /** Returns at least `k` current vectors, or all of them; null if the graph returned fewer. */
  async #found(
    table: HnswTable,
    { queryVector, k }: { readonly queryVector: Float32Array; readonly k: number },
  ): Promise<readonly FoundRow[] | null> {
    let fetchedCount = this.#removed.size === 0 ? k : 2 * k + 16
    while (fetchedCount <= FETCHED_MAX) {
      if (k === 0 || this.#indexedThereCount === 0) return []
      const found = await table.nearest(queryVector, fetchedCount)
      const there = found.filter(this.#isThere)
      if (there.length >= Math.min(k, this.#indexedThereCount)) return there
      if (found.length < fetchedCount) return null
      fetchedCount *= 4
    }
    return null
  }

  /** Does one step of work at a time until nothing is left to do. */
  #workInBackground(): void {
    if (this.#isWorking || this.#failure !== null) return
    this.#isWorking = true
    this.#work = this.#maintain().catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#failure = error
    })
  }

  async #maintain(): Promise<void> {
    try {
      while (!this.#closing.signal.aborted && this.#table !== null && this.#recent.count > 0) {
        await this.#indexRecent(this.#table)
      }
    } finally {
      // Reset in the same turn as the last check for work, so that a later change starts it again.
      this.#isWorking = false
    }
  }

  get #indexedThereCount(): number {
    return this.#indexedCount - this.#removed.size
  }

  async #load(batches: AsyncIterable<VectorBatch>): Promise<void> {
    const { signal } = this.#closing
    const table = await HnswTable.create(this.#options)
    this.#table = table
    const isUnchanged = (key: number) => this.#changedKeys?.has(key) === false
    const iterator = batches[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await abortable(iterator.next(), signal)
        if (done === true) break
        this.#add(value.keys, value.vectors, isUnchanged)
        while (this.#recent.count > 0) await this.#indexRecent(table)
      }
      while (this.#recent.count > 0) await this.#indexRecent(table)
    } finally {
      // Not awaited, because it may hang.
      iterator.return?.()?.catch(() => {})
    }
  }

  /** Moves the oldest recent vectors into the graph. */
  async #indexRecent(table: HnswTable): Promise<void> {
    const oldest = this.#recent.all().slice(0, STAGED_MAX)
    await table.insert(oldest, (slice) => {
      this.#indexedTo = (slice.at(-1)?.row ?? 0) + 1
      this.#indexedCount += slice.length
      for (const { row } of slice) {
        // A vector that was removed while it was added is now in the graph, so record it as
        // removed.
        if (!this.#recent.remove(row)) this.#removed.add(row)
      }
      this.#closing.signal.throwIfAborted()
    })
  }
}

/** A key, a level, and four bytes per link: `2 M` on the lowest level, `M` on those above. */
function nodeBytesOf({ m }: HnswTableOptions['parameters']): number {
  return 16 + 2 * m * 4 + Math.ceil((4 + m * 4) / (m - 1))
}

function nearestOf(found: readonly FoundRow[], k: number): readonly NearestChunk[] {
  const byKey = new Map(found.map((one) => [one.key, one]))
  return [...byKey.values()]
    .sort((one, other) => one.distance - other.distance || one.key - other.key)
    .slice(0, k)
    .map(({ key, distance }) => ({ key: BigInt(key), distance }))
}

/** Not in the graph yet, searched one by one. Row numbers ascend in order of arrival. */
class DeltaBuffer {
  readonly #vectors = new Map<number, NumberedVector>()
  #listed: readonly NumberedVector[] | null = null

  get count(): number {
    return this.#vectors.size
  }

  /** Returns all vectors in row order. */
  all(): readonly NumberedVector[] {
    this.#listed ??= [...this.#vectors.values()]
    return this.#listed
  }

  add(vectors: readonly NumberedVector[]): void {
    this.#listed = null
    for (const one of vectors) this.#vectors.set(one.row, one)
  }

  /** @returns false if the row is not here */
  remove(row: number): boolean {
    this.#listed = null
    return this.#vectors.delete(row)
  }

  /** Returns the earlier and the current recent vectors with their cosine distances. */
  measured(before: readonly NumberedVector[], queryVector: Float32Array): readonly FoundRow[] {
    const last = before.at(-1)?.row ?? -1
    const since = this.all().filter(({ row }) => row > last)
    return [...before, ...since].map(({ row, key, vector }) => {
      return { row, key, distance: Math.max(0, 1 - product(vector, queryVector)) }
    })
  }
}

function product(one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0)
  return sum
}
