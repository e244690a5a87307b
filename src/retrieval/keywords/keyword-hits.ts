import { BM25 } from '../../core/domain/hybrid-search.ts'
import { type SearchedTerms, scorersOf } from './term-scorer.ts'

/** Scores are added up for this many keys at a time, which fit in a core's cache. */
const WINDOW_KEYS = 8192

/**
 * Best first with ties. Rounded scores equal `keywordScoresSql`. @param search.allowed ascending
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

/** Goes through the allowed keys window by window. */
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

/** Keys for `keywordHits`: ascending, and limited to those that a term's list can contain. */
export function ascendingKeys(keys: BigInt64Array): Uint32Array {
  // The lower and upper half of each key. All platforms of DuckDB are little-endian.
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

/** Returns the keys that are in both ascending lists. */
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

/** The most that rounding can add to a score. */
const ROUNDING = 1 / SCALE

export interface ScoredKey {
  readonly key: number
  readonly score: number
}

class BestScores {
  readonly #count: number
  /** A min-heap of the highest scores. */
  readonly #heap: Float64Array
  #size = 0
  readonly #keys: number[] = []
  readonly #scores: number[] = []

  constructor(count: number) {
    this.#count = count
    this.#heap = new Float64Array(count + 1)
  }

  /** @param scores of the keys from `first` on; 0 means no score */
  addWindow(scores: Float64Array, first: number): void {
    for (let slot = 0; slot < scores.length; slot += 1) {
      const score = scores[slot] ?? 0
      if (score > 0) this.add(first + slot, score)
    }
  }

  /** @param score 0 means no score */
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

  /** Moves a score that replaced the lowest down to its place. */
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
