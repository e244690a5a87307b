import { BM25 } from '../../domain/hybrid-search.ts'

const SCALE = 10 ** BM25.scoreDigits

/** The chunks that hold one term: three lists of one length. */
export interface PostingList {
  /** Ascending. */
  readonly keys: Uint32Array
  /** How often the term stands among the chunk's terms. */
  readonly frequencies: Uint16Array
  /** All terms of the chunk, each as often as it stands there. */
  readonly termCounts: Uint16Array
}

/** All chunks of a knowledge base. */
export interface Corpus {
  readonly chunkCount: number
  readonly meanTermCount: number
}

/** The terms of a searched text. */
export interface SearchedTerms {
  /** One for each term, empty where no chunk holds it. */
  readonly lists: readonly PostingList[]
  /** How often each stands in the text. */
  readonly counts: readonly number[]
  readonly corpus: Corpus
}

/** One for each term, in their order: scores are sums, and these are equal only in one order. */
export function termScorers({ lists, counts, corpus }: SearchedTerms): readonly TermScorer[] {
  return lists.map((list, index) => new TermScorer(list, counts[index] ?? 1, corpus))
}

/** The chunks of one term in turn, with what it adds to their scores. */
export class TermScorer {
  readonly #list: PostingList
  /** What the term adds to a chunk of mean length that holds it once. */
  readonly weight: number
  readonly #meanTermCount: number
  #index = 0

  constructor(list: PostingList, count: number, { chunkCount, meanTermCount }: Corpus) {
    const having = list.keys.length
    this.#list = list
    this.weight = count * Math.log(1 + (chunkCount - having + 0.5) / (having + 0.5))
    this.#meanTermCount = meanTermCount
  }

  /** Infinity: there is none. */
  get nextKey(): number {
    return this.#list.keys[this.#index] ?? Number.POSITIVE_INFINITY
  }

  /** @param scores of the keys from the first one on; of those keys all are added */
  addTo(scores: Float64Array, first: number): void {
    const { keys, frequencies, termCounts } = this.#list
    const { k1, b } = BM25
    const mean = this.#meanTermCount
    const weight = this.weight
    let index = this.#index
    for (; index < keys.length; index += 1) {
      const slot = (keys[index] ?? 0) - first
      if (slot >= scores.length) break
      const frequency = frequencies[index] ?? 0
      const saturation = frequency + k1 * (1 - b + (b * (termCounts[index] ?? 0)) / mean)
      scores[slot] = (scores[slot] ?? 0) + (weight * frequency * (k1 + 1)) / saturation
    }
    this.#index = index
  }

  /** The same for one chunk: 0 where it does not hold the term. */
  scoreOf(key: number): number {
    const { keys, frequencies, termCounts } = this.#list
    const { k1, b } = BM25
    let low = 0
    let high = keys.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((keys[middle] ?? 0) < key) low = middle + 1
      else high = middle
    }
    if (keys[low] !== key) return 0
    const frequency = frequencies[low] ?? 0
    const share = (b * (termCounts[low] ?? 0)) / this.#meanTermCount
    return (this.weight * frequency * (k1 + 1)) / (frequency + k1 * (1 - b + share))
  }
}

/** What no chunk's score reaches: each term as often as can be. */
export function scoreBound(terms: SearchedTerms): number {
  const weights = termScorers(terms).reduce((sum, { weight }) => sum + weight, 0)
  return Math.round(weights * (BM25.k1 + 1) * SCALE) / SCALE
}

/** The scores that `keywordHits` gives them. @param allowed ascending keys of those that may have one; null: all */
export function scoresOfKeys(
  terms: SearchedTerms,
  keys: readonly number[],
  allowed: Uint32Array | null,
): readonly number[] {
  const scorers = termScorers(terms)
  const among = allowed === null ? null : new Set(allowed)
  return keys.map((key) => {
    if (among?.has(key) === false) return 0
    const score = scorers.reduce((sum, scorer) => sum + scorer.scoreOf(key), 0)
    return Math.round(score * SCALE) / SCALE
  })
}
