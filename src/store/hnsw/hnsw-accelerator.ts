import { chunkTables, type TableIds } from '../../core/domain/document.ts'
import {
  fewVectors,
  HNSW_DEFAULTS,
  INDEXED_VECTORS_MIN,
  type IndexPossibility,
  type IndexReport,
} from '../../core/domain/index-definition.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type {
  Accelerator,
  AcceleratorFactory,
  ColumnReader,
  ExactVectors,
  TopKSearch,
  VectorBatch,
  VectorChange,
} from '../../core/domain/ports/retrieval-ports.ts'
import type { MemoryCeiling } from '../../core/runtime/process-limits.ts'
import { memoryBytesOf } from '../duckdb/memory-watchdog.ts'
import type { Extensions } from './extensions.ts'
import { HnswDatabase } from './hnsw-database.ts'
import { HnswIndex } from './hnsw-index.ts'

/** The memory limit for the tables of all graphs. The graphs themselves take additional memory. */
const GRAPHS_MEMORY_LIMIT = '4GiB'

/** Creates graphs, and owns the DuckDB instance that they share. */
export class HnswFactory implements AcceleratorFactory {
  readonly #columns: ColumnReader
  readonly #extensions: Extensions
  readonly #ceiling: MemoryCeiling
  #graphs: Promise<HnswDatabase> | null = null

  constructor(columns: ColumnReader, extensions: Extensions, ceiling: MemoryCeiling) {
    this.#columns = columns
    this.#extensions = extensions
    this.#ceiling = ceiling
  }

  possibility(): IndexPossibility {
    return this.#extensions.possibility()
  }

  create(index: Parameters<AcceleratorFactory['create']>[0], vectors: ExactVectors): Accelerator {
    const graphs = () => this.#openGraphs()
    return new HnswAccelerator({ ...index, columns: this.#columns, graphs, vectors })
  }

  /** Call when all accelerators are closed. */
  async close(): Promise<void> {
    const graphs = await this.#graphs?.catch(() => null)
    await graphs?.close()
  }

  #openGraphs(): Promise<HnswDatabase> {
    this.#graphs ??= this.#opened()
    return this.#graphs
  }

  async #opened(): Promise<HnswDatabase> {
    const extensionPath = this.#extensions.path
    if (extensionPath === null) throw new Error('the extension is no longer there')
    this.#ceiling.raise(memoryBytesOf(GRAPHS_MEMORY_LIMIT))
    try {
      return await HnswDatabase.open({ extensionPath, memoryLimit: GRAPHS_MEMORY_LIMIT })
    } catch (error) {
      this.#ceiling.raise(-memoryBytesOf(GRAPHS_MEMORY_LIMIT))
      this.#extensions.refuse(error)
      throw error
    }
  }
}

const PAGE_ROWS = 1024
const PAGE_LIMITS = { timeoutMs: 60_000 }

interface HnswAcceleratorParts {
  readonly columns: ColumnReader
  /** Opens the shared instance when the first graph is built. */
  readonly graphs: () => Promise<HnswDatabase>
  readonly ids: TableIds
  readonly dimensions: number
  readonly vectors: ExactVectors
  readonly options: Readonly<Record<string, number>>
}

/** In DuckDB's `vss` extension, next to the vectors in memory. Built in the background. */
class HnswAccelerator implements Accelerator {
  readonly #parts: HnswAcceleratorParts
  readonly #closing = new AbortController()
  #graph: HnswIndex | null = null
  #building: Promise<void> | null = null
  #failure: string | null = null

  constructor(parts: HnswAcceleratorParts) {
    this.#parts = parts
    this.#buildWhereDue()
  }

  async search(search: TopKSearch, signal: AbortSignal) {
    return (await this.#graph?.search(search, signal)) ?? null
  }

  apply(change: VectorChange): void {
    const graph = this.#graph
    graph?.apply(change)
    if (graph === null) this.#buildWhereDue()
    else if (graph.isWorn && this.#building === null) {
      // Until the new graph is ready, searches compare all vectors.
      this.#graph = null
      this.#buildWhereDue(graph.close())
    }
  }

  report(): IndexReport {
    const { count } = this.#parts.vectors
    if (this.#failure !== null || this.#graph?.state === 'failed') {
      const reason = this.#failure ?? 'the graph could not be built'
      const detail = `${reason}; all vectors are compared`
      return { state: 'unavailable', vectorCount: count, detail }
    }
    if (this.#graph === null && this.#building === null) return fewVectors(count)
    if (this.#graph?.state !== 'ready') {
      const detail = 'the graph is being built; all vectors are compared meanwhile'
      return { state: 'building', vectorCount: count, detail }
    }
    const waiting = this.#graph.waitingCount
    const size = `${(this.#graph.bytes / 1e6).toFixed(0)} MB`
    const detail = `searches without a condition use the graph of ${size}; ${waiting} vectors wait for it`
    return { state: 'ready', vectorCount: count, detail }
  }

  async settled(): Promise<void> {
    await this.#building
    await this.#graph?.settled()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#graph?.close()
    await this.#building
  }

  #buildWhereDue(closed: Promise<void> = Promise.resolve()): void {
    const isDue = this.#parts.vectors.count >= INDEXED_VECTORS_MIN
    if (!isDue || this.#building !== null || this.#failure !== null) return
    this.#building = closed
      .then(() => this.#build())
      .catch(() => {
        if (this.#closing.signal.aborted) return
        this.#failure = 'the graph could not be built'
      })
      .finally(() => {
        this.#building = null
      })
  }

  async #build(): Promise<void> {
    const { graphs, dimensions, options, vectors } = this.#parts
    const database = await graphs()
    this.#closing.signal.throwIfAborted()
    const chosen = { ...HNSW_DEFAULTS, ...options }
    const { m, ef_construction: efConstruction, ef_search: efSearch } = chosen
    const parameters = { m, efConstruction, efSearch }
    const graph = new HnswIndex({ database, dimensions, parameters })
    // From here on, the graph gets all changes. What it reads later includes the earlier ones.
    this.#graph = graph
    await graph.load(this.#batches(), vectors.revision)
  }

  /**
   * Yields all vectors page by page: building a graph takes minutes, too long for one transaction.
   */
  async *#batches(): AsyncGenerator<VectorBatch, void, void> {
    const { columns, ids } = this.#parts
    const sql = `SELECT chunk_key, vector FROM ${chunkTables(ids).vectors}
      WHERE chunk_key > $after ORDER BY chunk_key LIMIT ${PAGE_ROWS}`
    let after: bigint | undefined = -1n
    while (after !== undefined) {
      const page: BoundSql = { sql, values: { after } }
      after = undefined
      for await (const batch of columns.columns(page, PAGE_LIMITS, this.#closing.signal)) {
        const [keys, vectors] = [batch.keys(0), batch.floats(1)]
        after = keys.at(-1)
        yield { keys: keys.slice(), vectors: vectors.slice() }
      }
    }
  }
}
