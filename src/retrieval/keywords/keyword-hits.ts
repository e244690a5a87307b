import { BestScores, type ScoredKey } from './best-scores.ts'
import { type SearchedTerms, scorersOf } from './term-scorer.ts'

/** Keys whose scores are added up at once: they stay in a core's cache. */
const WINDOW_KEYS = 8192

/**
 * The `count` chunks with the highest BM25, and all that are equal to the last of them; the best first. The scores are
 * those of `keywordScoresSql`, which adds up in any order: rounded they are equal.
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

/** The keys that are in both, each ascending. */
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
