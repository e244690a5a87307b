import { BM25 } from '../../core/domain/hybrid-search.ts'
import { type SearchedTerms, scorersOf } from './term-scorer.ts'

/** Keys whose scores are added up at once: they stay in a core's cache. */
const WINDOW_KEYS = 8192

/**
 * The `count` chunks with the highest BM25, and all that equal the last of them; best first. The scores are
 * those of `keywordScoresSql`, which adds in any order: they are equal when rounded.
 * @param search.allowed ascending keys of the chunks among which to search; null: all
 */
export function keywordHits(
  search: SearchedTerms & { readonly count: number; readonly allowed: Uint32Array | null },
): readonly ScoredKey[] {
  const terms = scorersOf(search)
  const best = new BestScores(search.count)
  const scores = new Float64Array(WINDOW_KEYS)
  const allowed = search.allowed === null ? null : new AllowedKeys(search.allowed)
  for (;;) {
    let first = Number.POSITIVE_INFINITY
    for (const term of terms) first = Math.min(first, term.nextKey)
    if (first === Number.POSITIVE_INFINITY) return best.all()
    for (const term of terms) term.addTo(scores, first)
    if (allowed === null) best.addWindow(scores, first)
    else allowed.offer({ scores, first }, best)
    scores.fill(0)
  }
}

/** Walks through the allowed keys as the windows come. */
class AllowedKeys {
  readonly #keys: Uint32Array
  #index = 0

  constructor(keys: Uint32Array) {
    this.#keys = keys
  }

  offer(
    { scores, first }: { readonly scores: Float64Array; readonly first: number },
    best: BestScores,
  ): void {
    for (; this.#index < this.#keys.length; this.#index += 1) {
      const key = this.#keys[this.#index] ?? 0
      const slot = key - first
      if (slot >= scores.length) return
      if (slot >= 0) best.add(key, scores[slot] ?? 0)
    }
  }
}

/** Keys as `keywordHits` reads them: ascending, and only those that a term's list can hold. */
export function ascendingKeys(keys: BigInt64Array): Uint32Array {
  // The lower and the upper half of each key: a processor that DuckDB runs on has the lower one first.
  const halves = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2)
  const ascending = new Uint32Array(keys.length)
  let size = 0
  let isSorted = true
  let last = -1
  for (let index = 0; index < keys.length; index += 1) {
    if (halves[2 * index + 1] !== 0) continue
    const key = halves[2 * index] ?? 0
    if (key < last) isSorted = false
    last = key
    ascending[size] = key
    size += 1
  }
  const all = ascending.subarray(0, size)
  return isSorted ? all : all.sort()
}

/** The keys in both lists, each ascending. */
export function commonKeys(one: Uint32Array, other: Uint32Array): Uint32Array {
  const common = new Uint32Array(Math.min(one.length, other.length))
  let size = 0
  let index = 0
  for (const key of one) {
    while (index < other.length && (other[index] ?? 0) < key) index += 1
    if (other[index] !== key || index >= other.length) continue
    common[size] = key
    size += 1
  }
  return common.subarray(0, size)
}

const SCALE = 10 ** BM25.scoreDigits

/** What rounding can add to a score. */
const ROUNDING = 1 / SCALE

export interface ScoredKey {
  readonly key: number
  readonly score: number
}

/** Keeps the highest scores, and those equal to the lowest of them. */
export class BestScores {
  readonly #count: number
  /** The highest scores as a heap: the lowest is first, and no other is less than the one at half its position. */
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

  /** Replaces the smallest one. */
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
