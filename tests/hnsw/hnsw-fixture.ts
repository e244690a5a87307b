import { join } from 'node:path'
import { version } from '@duckdb/node-api'
import { Glob } from 'bun'
import type { VectorBatch } from '../../src/core/domain/ports/retrieval-ports.ts'
import { HnswDatabase } from '../../src/store/hnsw/hnsw-database.ts'
import { HnswIndex } from '../../src/store/hnsw/hnsw-index.ts'

export const DIMENSIONS = 32

const NEVER = new AbortController().signal

/**
 * @throws if `npm run extensions` has not run, because these tests need the file that it downloads
 */
export function extensionPath(): string {
  const directory = Bun.env.EIDER_EXTENSION_DIR ?? join(import.meta.dir, '../../extensions')
  const files = new Glob(`${version()}/*/vss.duckdb_extension`)
  for (const file of files.scanSync(directory)) return join(directory, file)
  throw new Error(`There is no vss extension in ${directory}: npm run extensions`)
}

export function openDatabase(): Promise<HnswDatabase> {
  return HnswDatabase.open({ extensionPath: extensionPath(), memoryLimit: '256MB' })
}

/** A graph of vectors, and the exact result of each search to compare with. */
export class HnswFixture {
  readonly index: HnswIndex
  readonly vectors = new Map<number, Float32Array>()
  #seed = 7
  #revision = 1

  constructor(database: HnswDatabase) {
    const parameters = { m: 16, efConstruction: 64, efSearch: 128 }
    this.index = new HnswIndex({ database, dimensions: DIMENSIONS, parameters })
  }

  /** Draws new vectors for these keys. */
  batch(from: number, count: number): VectorBatch {
    const keys = BigInt64Array.from({ length: count }, (_, index) => BigInt(from + index))
    const vectors = new Float32Array(count * DIMENSIONS)
    for (let index = 0; index < count; index++) {
      const vector = this.vector()
      vectors.set(vector, index * DIMENSIONS)
      this.vectors.set(from + index, vector)
    }
    return { keys, vectors }
  }

  load(...batches: readonly VectorBatch[]): Promise<void> {
    return this.index.load(yielded(batches), 1)
  }

  add(from: number, count: number): void {
    this.#revision += 1
    this.index.apply({ ...this.batch(from, count), revision: this.#revision })
  }

  remove(keys: readonly number[]): void {
    for (const key of keys) this.vectors.delete(key)
    this.#revision += 1
    this.index.apply({
      removedKeys: BigInt64Array.from(keys, BigInt),
      revision: this.#revision,
    })
  }

  vector(): Float32Array {
    const vector = Float32Array.from({ length: DIMENSIONS }, () => this.#random() - 0.5)
    const length = Math.hypot(...vector)
    return vector.map((value) => value / length)
  }

  search(queryVector: Float32Array, k: number) {
    return this.index.search({ queryVector, k }, NEVER)
  }

  /**
   * Returns the share of the true ten nearest that a search finds, averaged over some questions.
   * @param isLeft true if a search may be left to others, which counts as if they had found all
   * @throws if a search returns a wrong number of rows, a removed one, or no answer
   */
  async recall(isLeft = false): Promise<number> {
    const k = Math.min(10, this.vectors.size)
    let foundCount = 0
    for (let question = 0; question < 20; question++) {
      const queryVector = this.vector()
      const found = await this.search(queryVector, 10)
      if (found === null && isLeft) {
        foundCount += k
        continue
      }
      const keys = new Set(found?.map(({ key }) => Number(key)))
      if (found?.length !== k || keys.size !== k) throw new Error(`${found?.length} of ${k}`)
      foundCount += this.nearest(queryVector, k).filter((key) => keys.has(key)).length
      for (const key of keys) if (!this.vectors.has(key)) throw new Error(`${key} is gone`)
    }
    return foundCount / (20 * k)
  }

  nearest(queryVector: Float32Array, k: number): readonly number[] {
    const product = (vector: Float32Array) => {
      return vector.reduce((sum, value, index) => sum + value * (queryVector[index] ?? 0), 0)
    }
    return [...this.vectors]
      .map(([key, vector]) => ({ key, nearness: product(vector) }))
      .sort((one, other) => other.nearness - one.nearness)
      .slice(0, k)
      .map(({ key }) => key)
  }

  #random(): number {
    this.#seed = (this.#seed * 1_103_515_245 + 12_345) & 0x7fff_ffff
    return this.#seed / 0x7fff_ffff
  }
}

async function* yielded(batches: readonly VectorBatch[]) {
  yield* batches
}
