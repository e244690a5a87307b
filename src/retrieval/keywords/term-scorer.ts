import { BM25 } from '../../core/domain/hybrid-search.ts'

const SCALE = 10 ** BM25.scoreDigits

/** The chunks with one term: three lists of equal length. */
export interface PostingList {
  /** Ascending. */
  readonly keys: Uint32Array
  /** How often the chunk has the term. */
  readonly frequencies: Uint16Array
  /** All terms of the chunk, with repetitions. */
  readonly termCounts: Uint16Array
}

/** All chunks of a knowledge base. */
export interface Corpus {
  readonly chunkCount: number
  readonly meanTermCount: number
}

/** The terms of a searched text. */
export interface SearchedTerms {
  /** One per term, empty if no chunk has it. */
  readonly lists: readonly PostingList[]
  /** How often the text has each. */
  readonly counts: readonly number[]
  readonly corpus: Corpus
  /** null: nothing is quoted. */
  readonly phrases: PhrasePostings | null
}

/** The chunks with the quoted phrases, and therefore with all their terms. */
export interface PhrasePostings {
  /** Ascending. */
  readonly keys: Uint32Array
  /** The bonus to each score. */
  readonly bonuses: Float64Array
  /** The most they can add. */
  readonly bound: number
  /** Other chunks have no score. */
  readonly isFilter: boolean
}

/** The parts of a score, chunk by chunk. */
export interface Scorer {
  /** Infinity: none. */
  readonly nextKey: number
  /** @param scores of the keys from the first one on; of those keys all are added */
  addTo(scores: Float64Array, first: number): void
}

/** In a fixed order: scores are sums, and only equal then. */
export function scorersOf(terms: SearchedTerms): readonly Scorer[] {
  const { phrases } = terms
  return [...termScorers(terms), ...(phrases === null ? [] : [new PhraseScorer(phrases)])]
}

/** One for each term, in their order. */
function termScorers({ lists, counts, corpus }: SearchedTerms): readonly TermScorer[] {
  return lists.map((list, index) => new TermScorer(list, counts[index] ?? 1, corpus))
}

/** The chunks of one term in turn, with what it adds to their scores. */
class TermScorer implements Scorer {
  readonly #list: PostingList
  /** The score of a chunk of mean length with the term once. */
  readonly weight: number
  readonly #meanTermCount: number
  #index = 0

  constructor(list: PostingList, count: number, { chunkCount, meanTermCount }: Corpus) {
    const having = list.keys.length
    this.#list = list
    this.weight = count * Math.log(1 + (chunkCount - having + 0.5) / (having + 0.5))
    this.#meanTermCount = meanTermCount
  }

  get nextKey(): number {
    return this.#list.keys[this.#index] ?? Number.POSITIVE_INFINITY
  }

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

  /** The same for one chunk: 0 without the term. */
  scoreOf(key: number): number {
    const { keys, frequencies, termCounts } = this.#list
    const { k1, b } = BM25
    const place = keyIndex(key, keys)
    if (place === -1) return 0
    const frequency = frequencies[place] ?? 0
    const share = (b * (termCounts[place] ?? 0)) / this.#meanTermCount
    return (this.weight * frequency * (k1 + 1)) / (frequency + k1 * (1 - b + share))
  }
}

class PhraseScorer implements Scorer {
  readonly #phrases: PhrasePostings
  #index = 0

  constructor(phrases: PhrasePostings) {
    this.#phrases = phrases
  }

  get nextKey(): number {
    return this.#phrases.keys[this.#index] ?? Number.POSITIVE_INFINITY
  }

  addTo(scores: Float64Array, first: number): void {
    const { keys, bonuses } = this.#phrases
    for (; this.#index < keys.length; this.#index += 1) {
      const slot = (keys[this.#index] ?? 0) - first
      if (slot >= scores.length) return
      // A chunk added since its phrases were found, or removed since, has no score of terms.
      if ((scores[slot] ?? 0) > 0) scores[slot] = (scores[slot] ?? 0) + (bonuses[this.#index] ?? 0)
    }
  }

  scoreOf(key: number): number {
    return this.#phrases.bonuses[keyIndex(key, this.#phrases.keys)] ?? 0
  }
}

/** -1: missing. @param keys ascending */
function keyIndex(key: number, keys: Uint32Array): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((keys[middle] ?? 0) < key) low = middle + 1
    else high = middle
  }
  return keys[low] === key ? low : -1
}

/** An upper bound for every score: each term at its highest frequency. */
export function scoreBound(terms: SearchedTerms): number {
  const weights = termScorers(terms).reduce((sum, { weight }) => sum + weight, 0)
  return Math.round((weights * (BM25.k1 + 1) + (terms.phrases?.bound ?? 0)) * SCALE) / SCALE
}

/** The scores that `keywordHits` gives them. */
export function scoresOfKeys(terms: SearchedTerms, keys: readonly number[]): readonly number[] {
  const scorers = termScorers(terms)
  const { phrases } = terms
  const phraseScorer = phrases === null ? null : new PhraseScorer(phrases)
  return keys.map((key) => {
    if (phrases?.isFilter === true && keyIndex(key, phrases.keys) === -1) return 0
    const score = scorers.reduce((sum, scorer) => sum + scorer.scoreOf(key), 0)
    const bonus = score > 0 ? (phraseScorer?.scoreOf(key) ?? 0) : 0
    return Math.round((score + bonus) * SCALE) / SCALE
  })
}
