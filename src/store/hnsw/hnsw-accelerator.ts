import { chunkTables, type TableIds } from '../../domain/chunk-tables.ts'
import { HNSW_DEFAULTS, INDEXED_VECTORS_MIN } from '../../domain/index-definition.ts'
import { type Accelerator, fewVectors } from '../../retrieval/accelerator.ts'
import type { ExactIndex, VectorChange } from '../../retrieval/vectors/exact-index.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import { vectorRowsOf } from '../duckdb/vector-rows.ts'
import type { HnswDatabase } from './hnsw-database.ts'
import { HnswIndex, type VectorBatch } from './hnsw-index.ts'
import type { IndexReport } from './index-states.ts'

const PAGE_ROWS = 1024
/** Searches that measure the recall, by one of so many vectors. */
const QUESTIONS = 100
const QUESTION_ROWS = 50
const NEIGHBOURS = 10
const PAGE_LIMITS = { timeoutMs: 60_000 }

export interface HnswAcceleratorParts {
  readonly engine: StoredEngine
  /** Opened for the first graph. */
  readonly graphs: () => Promise<HnswDatabase>
  readonly ids: TableIds
  readonly dimensions: number
  /** The copy of the vectors. */
  readonly index: ExactIndex
  readonly options: Readonly<Record<string, number>>
}

/** A graph (HNSW) of DuckDB's `vss` extension beside the copy of the vectors, built in the background. */
export class HnswAccelerator implements Accelerator {
  readonly #parts: HnswAcceleratorParts
  readonly #closing = new AbortController()
  #graph: HnswIndex | null = null
  #building: Promise<void> | null = null
  #failure: string | null = null
  /** Vectors by which its recall is measured. */
  readonly #questions: Float32Array[] = []
  #recall: number | null = null

  constructor(parts: HnswAcceleratorParts) {
    this.#parts = parts
    this.#buildWhereDue()
  }

  async search(
    search: { readonly queryVector: Float32Array; readonly k: number },
    signal: AbortSignal,
  ) {
    return (await this.#graph?.search(search, signal)) ?? null
  }

  apply(change: VectorChange): void {
    if (this.#graph === null) this.#buildWhereDue()
    else this.#graph.apply(change)
  }

  report(): IndexReport {
    const { count } = this.#parts.index
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
    const size = `${(this.#graph.bytes / 1024 ** 2).toFixed(0)} MiB`
    const recall = this.#recall === null ? '' : `, recall@10 ${this.#recall.toFixed(3)} on its own`
    const detail = `searches without a condition use the graph of ${size}${recall}; ${waiting} vectors wait for it`
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

  #buildWhereDue(): void {
    const isDue = this.#parts.index.count >= INDEXED_VECTORS_MIN
    if (!isDue || this.#building !== null || this.#failure !== null) return
    this.#building = this.#build()
      .catch(() => {
        if (this.#closing.signal.aborted) return
        this.#failure = 'the graph could not be built'
      })
      .finally(() => {
        this.#building = null
      })
  }

  async #build(): Promise<void> {
    const { graphs, dimensions, options, index } = this.#parts
    const database = await graphs()
    this.#closing.signal.throwIfAborted()
    const {
      m,
      ef_construction: efConstruction,
      ef_search: efSearch,
    } = {
      ...HNSW_DEFAULTS,
      ...options,
    }
    const graph = new HnswIndex({
      database,
      dimensions,
      parameters: { m, efConstruction, efSearch },
    })
    // From here on it hears of all changes; what it reads afterwards holds those before.
    this.#graph = graph
    await graph.load(this.#batches(), index.revision)
    this.#recall = await this.#measured(graph)
  }

  #takeQuestions(vectors: Float32Array, dimensions: number): void {
    const step = QUESTION_ROWS * dimensions
    for (let at = 0; at < vectors.length && this.#questions.length < QUESTIONS; at += step) {
      this.#questions.push(vectors.slice(at, at + dimensions))
    }
  }

  /** The share of the nearest ten that it finds for some of its vectors. null: nothing could be asked. */
  async #measured(graph: HnswIndex): Promise<number | null> {
    const { index } = this.#parts
    const { signal } = this.#closing
    let wanted = 0
    let found = 0
    for (const queryVector of this.#questions.splice(0)) {
      const search = { queryVector, k: NEIGHBOURS }
      const near = await graph.search(search, signal)
      if (near === null) continue
      const keys = new Set(near.map(({ key }) => key))
      const exact = await index.search(search, signal)
      wanted += exact.length
      found += exact.filter(({ key }) => keys.has(key)).length
    }
    return wanted === 0 ? null : found / wanted
  }

  /** All vectors, page by page: a graph takes minutes, and no transaction stays open meanwhile. */
  async *#batches(): AsyncGenerator<VectorBatch, void, void> {
    const { engine, ids, dimensions } = this.#parts
    const sql = `SELECT chunk_key, vector FROM ${chunkTables(ids).vectors}
      WHERE chunk_key > $after ORDER BY chunk_key LIMIT ${PAGE_ROWS}`
    let after: bigint | undefined = -1n
    while (after !== undefined) {
      const page = { sql, values: { after } }
      after = undefined
      for await (const chunk of engine.chunks(page, PAGE_LIMITS, this.#closing.signal)) {
        const { keys, vectors } = vectorRowsOf(chunk)
        this.#takeQuestions(vectors, dimensions)
        after = keys.at(-1)
        yield { keys: keys.slice(), vectors: vectors.slice() }
      }
    }
  }
}
