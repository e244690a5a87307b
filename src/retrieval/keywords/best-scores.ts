import { BM25 } from '../../core/domain/hybrid-search.ts'

const SCALE = 10 ** BM25.scoreDigits

/** What rounding can add to a score. */
const ROUNDING = 1 / SCALE

export interface ScoredKey {
  readonly key: number
  readonly score: number
}

/** Keeps the highest scores, and those that are equal to the least of them. */
export class BestScores {
  readonly #count: number
  /** The highest scores as a heap: the least of them is the first, and no other is less than the one at half its place. */
  readonly #heap: Float64Array
  #size = 0
  readonly #keys: number[] = []
  readonly #scores: number[] = []

  constructor(count: number) {
    this.#count = count
    this.#heap = new Float64Array(count + 1)
  }

  /** @param scores of the keys from the first one on; 0: none */
  addWindow(scores: Float64Array, first: number): void {
    for (let slot = 0; slot < scores.length; slot += 1) {
      const score = scores[slot] ?? 0
      if (score > 0) this.add(first + slot, score)
    }
  }

  /** @param score 0: none */
  add(key: number, score: number): void {
    const least = this.#size < this.#count ? 0 : (this.#heap[1] ?? 0)
    if (score <= 0 || score + ROUNDING < least) return
    const rounded = Math.round(score * SCALE) / SCALE
    if (rounded < least) return
    this.#keys.push(key)
    this.#scores.push(rounded)
    if (this.#size < this.#count) this.#rise(rounded)
    else if (rounded > least) this.#sink(rounded)
  }

  /** The best first. */
  all(): readonly ScoredKey[] {
    const least = this.#size < this.#count ? 0 : (this.#heap[1] ?? 0)
    const best: ScoredKey[] = []
    for (const [index, key] of this.#keys.entries()) {
      const score = this.#scores[index] ?? 0
      if (score >= least) best.push({ key, score })
    }
    return best.sort((one, other) => other.score - one.score || one.key - other.key)
  }

  #rise(score: number): void {
    this.#size += 1
    let place = this.#size
    while (place > 1) {
      const parent = place >> 1
      const above = this.#heap[parent] ?? 0
      if (above <= score) break
      this.#heap[place] = above
      place = parent
    }
    this.#heap[place] = score
  }

  /** In the place of the least one. */
  #sink(score: number): void {
    let place = 1
    for (;;) {
      let child = place * 2
      if (child > this.#size) break
      if (child < this.#size && (this.#heap[child + 1] ?? 0) < (this.#heap[child] ?? 0)) child += 1
      const below = this.#heap[child] ?? 0
      if (below >= score) break
      this.#heap[place] = below
      place = child
    }
    this.#heap[place] = score
  }
}
