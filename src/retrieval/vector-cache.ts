import { chunkTables, type TableIds } from '../core/domain/document.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import type { RunLimits } from '../core/domain/ports/engine-ports.ts'
import type {
  Accelerator,
  AcceleratorFactory,
  ColumnReader,
  CommittedWrite,
  DerivedFiles,
  VectorRows,
  VectorSource,
} from '../core/domain/ports/retrieval-ports.ts'
import type { NearestChunk } from '../core/domain/ports/search-ports.ts'
import { AppError } from '../core/errors.ts'
import { yieldToEventLoop } from '../core/runtime/serial-queue.ts'
import { IvfAccelerator, IvfAdvice } from './ivf/ivf-accelerator.ts'
import { ExactIndex } from './vectors/exact-index.ts'
import { databaseDistance } from './vectors/quantized-rows.ts'
import type { FetchVectors, ScanRunner } from './vectors/scan.ts'
import type { VectorMemory } from './vectors/vector-memory.ts'

/** Rows of removed vectors allowed beyond the number of vectors. */
const EMPTY_ROWS_MAX = 20_000

/** Vectors that wait for a thread while a cache is loaded. */
const WAITING_BYTES_MAX = 32 * 1024 ** 2

/** Distances computed before the event loop gets its turn. */
const DISTANCES_PER_TURN = 1_024

export interface VectorCacheParts {
  readonly source: VectorSource
  readonly memory: VectorMemory
  readonly pool: ScanRunner
  readonly lookup: VectorLookup
  readonly ids: TableIds
  /** Beyond this many vectors, memory holds only their codes, a fifth of the bytes. */
  readonly wholeVectorsMax: number
  /** Fewer vectors get no advice. */
  readonly advisedMin: number
}

/**
 * The vectors of one knowledge base in memory, as in its table: loaded once, then notified of each write after its commit
 * and before its answer. A cache that has missed one must be discarded.
 */
export class VectorCache {
  readonly #parts: VectorCacheParts
  readonly #stopping = new AbortController()
  #index: ExactIndex | null = null
  #isWhole = true
  /** Writes committed while the vectors were loaded. */
  #pendingWrites: CommittedWrite[] | null = []
  #accelerator: Accelerator | null = null
  #lastAcceleratorChange: Promise<void> = Promise.resolve()
  #advice: IvfAdvice | null = null
  #commitCount = 0
  #commit: PromiseWithResolvers<void> | null = null

  constructor(parts: VectorCacheParts) {
    this.#parts = parts
  }

  /** Memory holds the vectors themselves, not only their codes. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** null until all vectors are there. */
  get index(): ExactIndex | null {
    return this.#pendingWrites === null ? this.#index : null
  }

  /**
   * Reads all vectors.
   * @returns false if a write was missed meanwhile: the cache must be discarded
   * @throws AppError `out_of_memory`; the reason of the stop
   */
  async load(): Promise<boolean> {
    const { source, ids } = this.#parts
    this.#index = await source.readAll(ids, (rows) => this.#loaded(rows))
    const pending = this.#pendingWrites ?? []
    this.#pendingWrites = null
    return pending.every((write) => this.#apply(write))
  }

  /** A write is about to be committed: a new transaction may see it. */
  beginCommit(): void {
    this.#commitCount += 1
    this.#commit ??= Promise.withResolvers()
  }

  /** @returns false when the cache must be thrown away */
  endCommit(write: CommittedWrite | null): boolean {
    this.#commit?.resolve()
    this.#commit = null
    if (write === null) return true
    if (this.#pendingWrites === null) return this.#apply(write)
    this.#pendingWrites.push(write)
    return true
  }

  /** Resolves when no write is being committed. */
  async settled(): Promise<void> {
    while (this.#commit !== null) await this.#commit.promise
  }

  /** Returns whether still no later write is visible to a transaction that has just started. */
  watch(): () => boolean {
    const count = this.#commitCount
    return () => this.#commitCount === count && !this.#stopping.signal.aborted
  }

  /**
   * The same chunks with the distances that DuckDB measures, the nearest first by these.
   * @throws AppError `internal` when one is gone
   */
  async withDistances(
    queryVector: Float32Array,
    near: readonly NearestChunk[],
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[]> {
    const keys = near.map(({ key }) => key)
    const exact = await this.distancesOf(keys, queryVector, signal)
    if (exact.length === near.length) {
      return exact.toSorted((one, other) => one.distance - other.distance)
    }
    throw new AppError('internal', 'A chunk went while it was searched')
  }

  /** The distances of the chunks that exist. */
  async distancesOf(
    keys: readonly bigint[],
    queryVector: Float32Array,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[]> {
    const exact: NearestChunk[] = []
    for (let start = 0; start < keys.length; start += DISTANCES_PER_TURN) {
      if (start > 0) await yieldToEventLoop()
      signal.throwIfAborted()
      const batch = keys.slice(start, start + DISTANCES_PER_TURN)
      const vectors = this.#isWhole ? null : await this.vectorsOf(batch, signal)
      for (const key of batch) {
        const vector = vectors === null ? this.#index?.viewOf(key) : vectors.get(key)
        if (vector === undefined) continue
        exact.push({ key, distance: databaseDistance(vector, queryVector) })
      }
    }
    return exact
  }

  /** The existing ones. */
  async vectorsOf(
    keys: readonly bigint[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<bigint, Float32Array>> {
    const index = this.#isWhole ? this.#index : null
    if (index === null) return this.#parts.lookup.vectorsOf(keys, signal)
    const found = keys.map((key) => [key, index.viewOf(key)?.slice()] as const)
    return new Map(found.flatMap(([key, vector]) => (vector === undefined ? [] : [[key, vector]])))
  }

  /** The index from CREATE INDEX, if any. */
  get accelerator(): Accelerator | null {
    return this.#accelerator
  }

  /** Another one replaces it, once it is released. @param make null: none */
  setAccelerator(make: (index: ExactIndex) => Accelerator | null): void {
    const before = [this.#accelerator, this.#advice]
    this.#accelerator = null
    this.#advice = null
    const turn = this.#lastAcceleratorChange.then(async () => {
      for (const one of before) await one?.close()
      if (this.#stopping.signal.aborted || this.#lastAcceleratorChange !== turn) return
      this.#accelerator = this.index === null ? null : make(this.index)
    })
    this.#lastAcceleratorChange = turn
  }

  /** Resolves when the accelerator is built. */
  async acceleratorSettled(): Promise<void> {
    await this.#lastAcceleratorChange
    await this.#accelerator?.settled()
    await this.#advice?.settled()
  }

  /** What an index would gain for searches that compare all vectors: a clause. null: nothing, or not known yet. */
  advice(): string | null {
    const { index } = this
    if (index === null || this.#accelerator !== null) return null
    this.#advice ??= new IvfAdvice(index, this.#parts.advisedMin)
    return this.#advice.advice()
  }

  close(): void {
    void this.#accelerator?.close()
    void this.#advice?.close()
    this.#stopping.abort(new AppError('shutting_down', 'The vectors in memory are let go'))
    this.#index?.close()
  }

  #apply({ revision, changed }: CommittedWrite): boolean {
    const index = this.#index
    if (index === null || revision <= index.revision) return index !== null
    if (changed === null || revision !== index.revision + 1) return false
    try {
      index.apply({ ...changed, revision })
      this.#accelerator?.apply({ ...changed, revision })
      // Empty rows are scanned as well: if most are empty, a new cache is quicker.
      return index.emptyRowCount <= index.count + EMPTY_ROWS_MAX
    } catch {
      // The database scans what does not fit.
      return false
    }
  }

  async #loaded({ revision, dimensions, count, batches }: VectorRows): Promise<ExactIndex> {
    const { signal } = this.#stopping
    const index = this.#newIndex(dimensions, count)
    // Few are in memory before a thread has started.
    const isLarge = count * dimensions > this.#parts.memory.sharing.inlineBytesMax
    const stored: Promise<void>[] = []
    try {
      for await (const batch of batches) {
        signal.throwIfAborted()
        if (!isLarge) {
          index.apply({ ...batch, revision })
          continue
        }
        const waitingMax = Math.max(2, Math.floor(WAITING_BYTES_MAX / batch.vectors.byteLength))
        const storing = index.applyInThread({ ...batch, revision })
        // Failures are reported below.
        storing.catch(() => {})
        stored.push(storing)
        await stored[stored.length - waitingMax]
      }
      await Promise.all(stored)
      signal.throwIfAborted()
      index.apply({ revision })
      return index
    } catch (error) {
      // No thread may write to memory that was released.
      await Promise.allSettled(stored)
      index.close()
      throw error
    }
  }

  #newIndex(dimensions: number, count: number): ExactIndex {
    const { memory, pool, lookup, wholeVectorsMax } = this.#parts
    this.#isWhole = count <= wholeVectorsMax
    if (this.#isWhole) return new ExactIndex({ memory, pool, dimensions })
    const fetchVectors: FetchVectors = (keys, signal) => lookup.vectorsOf(keys, signal)
    return new ExactIndex({ memory, pool, dimensions, fetchVectors })
  }
}

export interface AcceleratorDeps {
  readonly hnsw: AcceleratorFactory
  /** Where inverted lists are kept; unset: each start trains its own. */
  readonly derived?: DerivedFiles
}

/** The index that CREATE INDEX asked for; null: all vectors are compared. */
export function acceleratorOf(
  kb: KnowledgeBase,
  index: ExactIndex,
  { hnsw, derived }: AcceleratorDeps,
): Accelerator | null {
  const { id, projectId, vectorsNumber, dimensions, vectorIndex: definition } = kb
  if (definition === null || definition.type === 'exact' || dimensions === null) return null
  const { options } = definition
  if (definition.type === 'ivf') {
    const name = listFileOf(kb)
    const file = derived && {
      read: () => derived.read(name),
      write: (bytes: Uint8Array) => derived.write(name, bytes),
    }
    return new IvfAccelerator(index, options, file)
  }
  if (!hnsw.possibility().possible) return null
  return hnsw.create({ ids: { id, projectId, vectorsNumber }, dimensions, options }, index)
}

/** Other vectors have another number. */
export function listFileOf({
  id,
  vectorsNumber,
}: Pick<KnowledgeBase, 'id' | 'vectorsNumber'>): string {
  return `lists-${id}-${vectorsNumber}.ivf`
}

const READ_LIMITS: RunLimits = { timeoutMs: 60_000 }

/** Six megabytes of 384 dimensions. */
const CACHED_MAX = 4096

/**
 * Single vectors from their table, by key. Those read last stay in memory: a chunk's vector never changes, and a key is
 * never reused.
 */
export class VectorLookup {
  readonly #reader: ColumnReader
  readonly #sql: string
  readonly #cached = new Map<bigint, Float32Array>()

  constructor(reader: ColumnReader, ids: TableIds) {
    this.#reader = reader
    const { vectors } = chunkTables(ids)
    this.#sql = `SELECT chunk_key, vector FROM ${vectors} WHERE chunk_key IN ($keys)`
  }

  /** A key that is gone may be left out. @throws AppError as `SqlEngine.run` does */
  async vectorsOf(
    keys: readonly bigint[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<bigint, Float32Array>> {
    const found = new Map<bigint, Float32Array>()
    // Taken before any wait: it may be gone from memory after it.
    for (const key of keys) {
      const vector = this.#cached.get(key)
      if (vector !== undefined) found.set(key, vector)
    }
    const missing = keys.filter((key) => !found.has(key))
    if (missing.length === 0) return found
    for (const [key, vector] of await this.#fetched(missing, signal)) {
      found.set(key, vector)
      this.#cached.set(key, vector)
    }
    for (const key of this.#cached.keys()) {
      if (this.#cached.size <= CACHED_MAX) break
      this.#cached.delete(key)
    }
    return found
  }

  async #fetched(keys: readonly bigint[], signal: AbortSignal) {
    const vectors = new Map<bigint, Float32Array>()
    const select = { sql: this.#sql, values: { keys } }
    for await (const batch of this.#reader.columns(select, READ_LIMITS, signal)) {
      const floats = batch.floats(1)
      const dimensions = floats.length / batch.rowCount
      for (const [index, key] of batch.keys(0).entries()) {
        vectors.set(key, floats.slice(index * dimensions, (index + 1) * dimensions))
      }
    }
    return vectors
  }
}
