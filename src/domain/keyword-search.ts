/** What a hybrid search looks for besides its vector. */
export interface KeywordSearch {
  /** Of the text, as the keyword index has them; distinct. */
  readonly terms: readonly bigint[]
  /** What a chunk must hold word for word, in any case. */
  readonly phrases: readonly string[]
  /** So many of the best. */
  readonly count: number
  /**
   * Nearest chunks need not be found where the best by words have so many that are better than the last of them, or than
   * nothing while they are fewer than `count`; null: the nearest are needed in any case.
   */
  readonly enoughCount: number | null
}

export interface KeywordHit {
  readonly key: bigint
  /** The BM25 score, by the formula below. */
  readonly score: number
}

/**
 * BM25, of a chunk for a text: with N chunks, df of them with the term, tf the term's occurrences in the chunk and l / L its
 * length over the mean one, both in terms: the sum over the text's terms of
 * ln(1 + (N - df + 0.5) / (df + 0.5)) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · l / L)).
 *
 * S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the idf is Lucene's, which is
 * never negative.
 */
export const BM25 = {
  /** How much a term's further occurrences in a chunk add. */
  k1: 1.2,
  /** How much a chunk's length counts. */
  b: 0.75,
  /** Decimals of a score: terms are added in any order, and what is equally good must be equal. */
  scoreDigits: 9,
} as const
