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

/** Keeps this many scores before the low ones are dropped. */
const SCORES_MIN = 128

class BestScores {
  readonly #count: number
  #hits: ScoredKey[] = []
  /** Lower scores are not among the best. */
  #least = 0
  #hitsMax: number

  constructor(count: number) {
    this.#count = count
    this.#hitsMax = Math.max(SCORES_MIN, 2 * count)
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
    if (score <= 0 || score + ROUNDING < this.#least) return
    const rounded = Math.round(score * SCALE) / SCALE
    if (rounded < this.#least) return
    this.#hits.push({ key, score: rounded })
    if (this.#hits.length < this.#hitsMax) return
    this.#dropLow()
    // Many may be equal to the last of the best.
    this.#hitsMax = Math.max(this.#hitsMax, 2 * this.#hits.length)
  }

  all(): readonly ScoredKey[] {
    this.#dropLow()
    return this.#hits.sort((one, other) => other.score - one.score || one.key - other.key)
  }

  #dropLow(): void {
    const scores = Float64Array.from(this.#hits, ({ score }) => score).sort()
    this.#least = scores[scores.length - this.#count] ?? 0
    this.#hits = this.#hits.filter(({ score }) => score >= this.#least)
  }
}
