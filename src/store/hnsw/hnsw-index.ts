import type {
  TopKSearch,
  VectorBatch,
  VectorChange,
} from '../../core/domain/ports/retrieval-ports.ts'
import type { NearestChunk } from '../../core/domain/ports/search-ports.ts'
import { AppError } from '../../core/errors.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import {
  type FoundRow,
  HnswTable,
  type HnswTableOptions,
  type NumberedVector,
} from './hnsw-database.ts'

/** Vectors in a table without a graph at a time. */
const STAGED_MAX = 256
/** Recent vectors compared besides the graph: beyond this, comparing all vectors is faster. */
const RECENT_MAX = 256
/** Beyond this share and number of removed vectors, the graph should be rebuilt. */
const REMOVED_SHARE_MAX = 0.15
const REMOVED_MIN = 100
/** Rows that one search may ask the graph for. */
const FETCHED_MAX = 4096
/** Maximum running and waiting searches; beyond it, an exact search is quicker than waiting. */
const SEARCHES_MAX = 4

/**
 * The vectors of one knowledge base in a graph (HNSW, Malkov and Yashunin, 2016) of DuckDB's `vss` extension. New
 * vectors are searched one by one until the graph has them; removed ones stay in the graph and are left out of what it
 * finds.
 */
export class HnswIndex {
  readonly #options: HnswTableOptions
  readonly #closing = new AbortController()
  /** The rows of the current vectors. */
  readonly #rows = new Map<number, number>()
  readonly #recent: DeltaBuffer
  /** Keys that changed during the load, which then reads old vectors. */
  #changedKeys: Set<number> | null = null
  #table: HnswTable | null = null
  readonly #removed = new Set<number>()
  #nextRow = 0
  /** Rows from here on are not in the graph. */
  #indexedTo = 0
  /** Rows in the graph, including removed ones. */
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

  /** Current vectors. */
  get count(): number {
    return this.#rows.size
  }

  /** As of the last change: an index whose revision differs from its table's is stale. */
  get revision(): number {
    return this.#revision
  }

  /**
   * About: of the vectors in the graph, once more in its table, and of those that wait. Computed, as what the extension
   * says of itself (1.5.5) is what it set aside, the same for one vector and for thousands, and for any `M`.
   */
  get bytes(): number {
    const vectorBytes = this.#options.dimensions * Float32Array.BYTES_PER_ELEMENT
    const nodeBytes = nodeBytesOf(this.#options.parameters)
    return this.#indexedCount * (2 * vectorBytes + nodeBytes) + this.#recent.count * vectorBytes
  }

  /** Vectors that the graph does not have yet. */
  get waitingCount(): number {
    return this.#recent.count
  }

  /** After this many removed vectors, a new graph would be better. */
  get isWorn(): boolean {
    const { size } = this.#removed
    return size >= REMOVED_MIN && size > REMOVED_SHARE_MAX * this.#indexedCount
  }

  /** `failed`: every search returns null, permanently. */
  get state(): 'building' | 'ready' | 'failed' {
    if (this.#failure !== null) return 'failed'
    return this.#isLoaded ? 'ready' : 'building'
  }

  /**
   * Builds the graph, some 500 vectors of 384 numbers a second. Changes of later revisions may be applied meanwhile.
   * @throws AppError `shutting_down` when it is closed; DuckDB's error when memory does not suffice
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

  /** Applies one commit; searches see it right away. @throws AppError `dimension_mismatch` */
  apply({ removedKeys, keys, vectors, revision }: VectorChange): void {
    this.#closing.signal.throwIfAborted()
    const added = keys ?? new BigInt64Array()
    const numbers = vectors ?? new Float32Array()
    if (numbers.length !== added.length * this.#options.dimensions) {
      const sizes = `${added.length} keys and ${numbers.length} numbers`
      throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
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
   * The nearest `k`, or all, nearest first; rarely is a nearer one missing. Distances are float32.
   * @param search.queryVector of unit length
   * @returns null if the graph cannot tell: compare all vectors
   */
  async search(search: TopKSearch, signal: AbortSignal): Promise<readonly NearestChunk[] | null> {
    signal.throwIfAborted()
    const { queryVector, k } = search
    const table = this.#table
    // Adding to a graph blocks its searches.
    const isAddedTo = this.#recent.count > RECENT_MAX
    const isBusy = this.#searchCount >= SEARCHES_MAX
    if (table === null || this.state !== 'ready' || isAddedTo || isBusy) return null
    this.#checkDimensions(queryVector)
    this.#searchCount += 1
    try {
      // Vectors moved into the graph meanwhile are in this list or in the graph's results.
      const before = this.#recent.all()
      const found = await this.#found(table, search)
      signal.throwIfAborted()
      if (found === null) return null
      const recent = this.#recent.measured(before, queryVector)
      return nearestOf([...found, ...recent].filter(this.#isThere), k)
    } catch (error) {
      // A graph released meanwhile: not a failure of the search.
      if (this.#closing.signal.aborted) return null
      throw error
    } finally {
      this.#searchCount -= 1
    }
  }

  /** How DuckDB runs a search; null before there is a graph. */
  async plan(queryVector: Float32Array, k: number): Promise<string | null> {
    return (await this.#table?.plan(queryVector, k)) ?? null
  }

  /** Resolves when the graph has all current vectors, or the index has failed. */
  async settled(): Promise<void> {
    while (this.#isWorking) await this.#work
  }

  /** Ends background work and releases the graph. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(new AppError('shutting_down', 'The index in memory is let go'))
    await Promise.all([this.#loading, this.settled()])
    const table = this.#table
    this.#table = null
    this.#rows.clear()
    // A graph that cannot be dropped goes with its instance.
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
    const sizes = `the index has ${dimensions}, the query vector ${queryVector.length}`
    throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
  }

  /** At least `k` current vectors, or all; null: the graph gave fewer. */
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

  /** One at a time, until there is nothing left to do. */
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
      // In the same step as the last check for work: a later change restarts it.
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
      // It may hang, so it is not awaited.
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
        // Vectors removed while they were added are in the graph now.
        if (!this.#recent.remove(row)) this.#removed.add(row)
      }
      this.#closing.signal.throwIfAborted()
    })
  }
}

/** A key, a level and, at four bytes a link, `2 M` links below and `M` on each of the `1 / (M - 1)` levels above. */
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

/** Vectors that no graph has yet, searched one by one. Their rows ascend in the order in which they come. */
export class DeltaBuffer {
  readonly #vectors = new Map<number, NumberedVector>()
  #listed: readonly NumberedVector[] | null = null

  get count(): number {
    return this.#vectors.size
  }

  /** This row and later ones; ascending by row. */
  all(): readonly NumberedVector[] {
    this.#listed ??= [...this.#vectors.values()]
    return this.#listed
  }

  add(vectors: readonly NumberedVector[]): void {
    this.#listed = null
    for (const one of vectors) this.#vectors.set(one.row, one)
  }

  /** @returns false if it was missing */
  remove(row: number): boolean {
    this.#listed = null
    return this.#vectors.delete(row)
  }

  /** The recent vectors before and since, with their cosine distances. */
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
