/**
 * The vectors of the texts that were asked for last; the one not used for the longest time goes
 * first.
 */
export class RecentVectors {
  readonly #vectors = new Map<string, Float32Array>()
  readonly #countMax: number

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  /** A copy, which the caller may change. */
  get(text: string): Float32Array | undefined {
    const vector = this.#vectors.get(text)
    if (vector === undefined) return undefined
    this.#vectors.delete(text)
    this.#vectors.set(text, vector)
    return vector.slice()
  }

  add(text: string, vector: Float32Array): void {
    this.#vectors.delete(text)
    this.#vectors.set(text, vector.slice())
    if (this.#vectors.size <= this.#countMax) return
    // A Map keeps its keys in the order in which they were set.
    for (const oldest of this.#vectors.keys()) {
      this.#vectors.delete(oldest)
      return
    }
  }
}
