import type { FoundRow, NumberedVector } from './hnsw-table.ts'

/** Vectors that no graph has yet, searched one by one. Their rows ascend in the order in which they come. */
export class DeltaBuffer {
  readonly #vectors = new Map<number, NumberedVector>()
  #listed: readonly NumberedVector[] | null = null

  get count(): number {
    return this.#vectors.size
  }

  /** They and none that come later; ascending by row. */
  all(): readonly NumberedVector[] {
    this.#listed ??= [...this.#vectors.values()]
    return this.#listed
  }

  add(vectors: readonly NumberedVector[]): void {
    this.#listed = null
    for (const one of vectors) this.#vectors.set(one.row, one)
  }

  /** @returns false when it was not there */
  remove(row: number): boolean {
    this.#listed = null
    return this.#vectors.delete(row)
  }

  /** Those that were there before and those that have come since, with their cosine distances. */
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
