import { chunkTables, type TableIds } from '../../core/domain/chunk.ts'
import type { RunLimits } from '../../core/domain/ports/engine-ports.ts'
import type { ColumnReader } from '../../core/domain/ports/retrieval-ports.ts'

const READ_LIMITS: RunLimits = { timeoutMs: 60_000 }

/** Six megabytes of 384 dimensions. */
const CACHED_MAX = 4096

/**
 * Single vectors from their table, by key. Those read last stay in memory: a chunk's vector never changes, and a key is
 * never given again.
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
    // Taken before any wait: what is in memory now may not be there after it.
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
