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
  /** BM25, see domain/bm25.ts. */
  readonly score: number
}
