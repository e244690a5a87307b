import { BM25 } from '../../core/domain/hybrid-search.ts'

const SCALE = 10 ** BM25.scoreDigits

/** The chunks with one term, as three lists of equal length. */
export interface PostingList {
  /** Ascending. */
  readonly keys: Uint32Array
  /** How often the chunk contains the term. */
  readonly frequencies: Uint16Array
  readonly termCounts: Uint16Array
}

export interface Corpus {
  readonly chunkCount: number
  readonly meanTermCount: number
}

export interface SearchedTerms {
  /** One list per term; empty if no chunk has the term. */
  readonly lists: readonly PostingList[]
  /** How often the text contains each term. */
  readonly counts: readonly number[]
  readonly corpus: Corpus
  /** Null if nothing is quoted. */
  readonly phrases: PhrasePostings | null
}

export interface PhrasePostings {
  /** Ascending. */
  readonly keys: Uint32Array
  /** The bonus for each chunk's score. */
  readonly bonuses: Float64Array
  /** The largest bonus. */
  readonly bound: number
  /** Whether all other chunks get the score 0. */
  readonly isFilter: boolean
}

/** A part of the score, computed chunk by chunk. */
interface Scorer {
  /** Infinity if there is none. */
  readonly nextKey: number
  /** Adds to the scores. @param scores of the keys from `first` on */
  addTo(scores: Float64Array, first: number): void
}

/** Returns scorers in a fixed order, because the order of additions changes the rounding. */
export function scorersOf(terms: SearchedTerms): readonly Scorer[] {
  const { phrases } = terms
  return [...termScorers(terms), ...(phrases === null ? [] : [new PhraseScorer(phrases)])]
}

function termScorers({ lists, counts, corpus }: SearchedTerms): readonly TermScorer[] {
  return lists.map((list, index) => new TermScorer(list, counts[index] ?? 1, corpus))
}

class TermScorer implements Scorer {
  readonly #list: PostingList
  /** The score of a chunk of average length that contains the term once. */
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
    const { keys } = this.#list
    let index = this.#index
    for (; index < keys.length; index += 1) {
      const slot = (keys[index] ?? 0) - first
      if (slot >= scores.length) break
      scores[slot] = (scores[slot] ?? 0) + this.#scoreAt(index)
    }
    this.#index = index
  }

  /** The term's part of one chunk's score; 0 if the chunk does not contain it. */
  scoreOf(key: number): number {
    const index = keyIndex(key, this.#list.keys)
    return index === -1 ? 0 : this.#scoreAt(index)
  }

  #scoreAt(index: number): number {
    const { frequencies, termCounts } = this.#list
    const { k1, b } = BM25
    const frequency = frequencies[index] ?? 0
    const share = (b * (termCounts[index] ?? 0)) / this.#meanTermCount
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
      // A chunk that was added or removed since its phrases were found has no score for terms.
      if ((scores[slot] ?? 0) > 0) scores[slot] = (scores[slot] ?? 0) + (bonuses[this.#index] ?? 0)
    }
  }

  scoreOf(key: number): number {
    return this.#phrases.bonuses[keyIndex(key, this.#phrases.keys)] ?? 0
  }
}

/** Returns -1 if it is missing. @param keys ascending */
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

/** Returns an upper bound for all scores, with each term at its highest frequency. */
export function scoreBound(terms: SearchedTerms): number {
  const weights = termScorers(terms).reduce((sum, { weight }) => sum + weight, 0)
  return Math.round((weights * (BM25.k1 + 1) + (terms.phrases?.bound ?? 0)) * SCALE) / SCALE
}

/** Returns the scores that `keywordHits` would compute for these keys. */
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
