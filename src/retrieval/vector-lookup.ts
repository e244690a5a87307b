import { chunkTables, type TableIds } from '../core/domain/document.ts'
import type { RunLimits } from '../core/domain/ports/engine-ports.ts'
import type { ColumnReader } from '../core/domain/ports/retrieval-ports.ts'

const READ_LIMITS: RunLimits = { timeoutMs: 60_000 }

/** Six megabytes at 384 dimensions. */
const CACHED_MAX = 4096

/** A chunk's vector never changes and keys are never reused. */
export class VectorLookup {
  readonly #reader: ColumnReader
  readonly #sql: string
  readonly #cached = new Map<bigint, Float32Array>()

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
