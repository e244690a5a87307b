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
import { LruMap } from '../core/runtime/lru-map.ts'
import { yieldToEventLoop } from '../core/runtime/serial-queue.ts'
import { IvfAccelerator, IvfAdvice } from './ivf/ivf-accelerator.ts'
import { ExactIndex } from './vectors/exact-index.ts'
import { databaseDistance } from './vectors/quantized-rows.ts'
import type { FetchVectors, ScanRunner } from './vectors/scan.ts'
import type { VectorMemory } from './vectors/vector-memory.ts'

/** How many rows of removed vectors are allowed beyond the number of vectors. */
const EMPTY_ROWS_MAX = 20_000

/** The most bytes of vectors that wait for a thread while a cache is loaded. */
const WAITING_BYTES_MAX = 32 * 1024 ** 2

/** Yield to the event loop after this many distances. */
const DISTANCES_PER_TURN = 1_024

interface VectorCacheParts {
  readonly source: VectorSource
  readonly memory: VectorMemory
  readonly pool: ScanRunner
  readonly lookup: VectorLookup
  readonly ids: TableIds
  /** Beyond this many vectors, memory holds only their codes, in a fifth of the bytes. */
  readonly wholeVectorsMax: number
  readonly advisedMin: number
}

/** Loaded once, then notified of each write. After a missed write, it must be discarded. */
export class VectorCache {
  readonly #parts: VectorCacheParts
  readonly #stopping = new AbortController()
  #index: ExactIndex | null = null
  #isWhole = true
  /** Writes that were committed while the vectors are being loaded. */
  #pendingWrites: CommittedWrite[] | null = []
  #accelerator: Accelerator | null = null
  #lastAcceleratorChange: Promise<void> = Promise.resolve()
  #advice: IvfAdvice | null = null
  #commitCount = 0
  #commit: PromiseWithResolvers<void> | null = null

  constructor(parts: VectorCacheParts) {
    this.#parts = parts
  }

  /** Whether memory holds the vectors themselves, not only codes. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Null until all vectors are loaded. */
  get index(): ExactIndex | null {
    return this.#pendingWrites === null ? this.#index : null
  }

  /** @returns false if a write was missed, so the cache must be discarded */
  async load(): Promise<boolean> {
    const { source, ids } = this.#parts
    this.#index = await source.readAll(ids, (rows) => this.#loaded(rows))
    const pending = this.#pendingWrites ?? []
    this.#pendingWrites = null
    return pending.every((write) => this.#apply(write))
  }

  /** Call before a commit that a new transaction may see. */
  beginCommit(): void {
    this.#commitCount += 1
    this.#commit ??= Promise.withResolvers()
  }

  /** @returns false if the cache must be discarded */
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

  /** Returns a function that tells whether a transaction that starts now sees no later write. */
  watch(): () => boolean {
    const count = this.#commitCount
    return () => this.#commitCount === count && !this.#stopping.signal.aborted
  }

  /** @throws AppError `internal` if a chunk was removed */
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
    throw new AppError('internal', 'A chunk was removed during the search')
  }

  /** Returns the distances of those chunks that exist. */
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

  /** Returns the vectors of those chunks that exist. */
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

  /** Releases the accelerator and replaces it. @param make returns null for none */
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

  async acceleratorSettled(): Promise<void> {
    await this.#lastAcceleratorChange
    await this.#accelerator?.settled()
    await this.#advice?.settled()
  }

  /** What searches would gain from an index, as a clause; null if nothing, or not known yet. */
  advice(): string | null {
    const { index } = this
    if (index === null || this.#accelerator !== null) return null
    this.#advice ??= new IvfAdvice(index, this.#parts.advisedMin)
    return this.#advice.advice()
  }

  close(): void {
    void this.#accelerator?.close()
    void this.#advice?.close()
    this.#stopping.abort(new AppError('shutting_down', 'The vectors in memory were released'))
    this.#index?.close()
  }

  #apply({ revision, changed }: CommittedWrite): boolean {
    const index = this.#index
    if (index === null || revision <= index.revision) return index !== null
    if (changed === null || revision !== index.revision + 1) return false
    try {
      index.apply({ ...changed, revision })
      this.#accelerator?.apply({ ...changed, revision })
      // Empty rows are scanned too. If most are empty, a new cache is faster.
      return index.emptyRowCount <= index.count + EMPTY_ROWS_MAX
    } catch {
      // The vectors do not fit, so the database scans them.
      return false
    }
  }

  async #loaded({ revision, dimensions, count, batches }: VectorRows): Promise<ExactIndex> {
    const { signal } = this.#stopping
    const index = this.#newIndex(dimensions, count)
    // Do not start a thread for a few vectors.
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
        // The error is reported below.
        storing.catch(() => {})
        stored.push(storing)
        await stored[stored.length - waitingMax]
      }
      await Promise.all(stored)
      signal.throwIfAborted()
      index.apply({ revision })
      return index
    } catch (error) {
      // No thread may write to memory after it is released.
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
  /** Where inverted lists are saved; if unset, each start trains new ones. */
  readonly derived?: DerivedFiles
}

/** Returns the index requested by CREATE INDEX; null if all vectors are compared. */
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

/** The file's name includes the vectors' number, which changes with the model. */
export function listFileOf({
  id,
  vectorsNumber,
}: Pick<KnowledgeBase, 'id' | 'vectorsNumber'>): string {
  return `lists-${id}-${vectorsNumber}.ivf`
}

const READ_LIMITS: RunLimits = { timeoutMs: 60_000 }

/** Six megabytes at 384 dimensions. */
const CACHED_MAX = 4096

/** A chunk's vector never changes and keys are never reused. */
export class VectorLookup {
  readonly #reader: ColumnReader
  readonly #sql: string
  readonly #cached = new LruMap<bigint, Float32Array>({ sizeMax: CACHED_MAX })

  constructor(reader: ColumnReader, ids: TableIds) {
    this.#reader = reader
    const { vectors } = chunkTables(ids)
    this.#sql = `SELECT chunk_key, vector FROM ${vectors} WHERE chunk_key IN ($keys)`
  }

  /** Vectors of missing keys may be left out. @throws AppError like `SqlEngine.run` */
  async vectorsOf(
    keys: readonly bigint[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<bigint, Float32Array>> {
    const found = new Map<bigint, Float32Array>()
    // Read from memory before any wait, after which they may be gone.
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
