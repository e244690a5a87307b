/**
 * How a vector's distance and a keyword score become one relevance: `convex` (convex combination) scales each by its
 * possible range, `scaled` by the best hundred of the knowledge base, `rrf` (reciprocal rank fusion) uses only the ranks.
 */
export const FUSIONS = ['convex', 'scaled', 'rrf'] as const

export type Fusion = (typeof FUSIONS)[number]

/** By vectors and keywords together, or by one of them. */
export const SEARCH_MODES = ['hybrid', 'vector', 'keyword'] as const

export type SearchMode = (typeof SEARCH_MODES)[number]

export const DEFAULT_FUSION: Fusion = 'convex'

/**
 * How many of the nearest chunks, and of the best keyword hits, take part in `scaled` or `rrf`, plus ties with the last. In
 * a convex combination all take part.
 */
export const PART_CHUNKS = 100

/**
 * How much the first ranks stand out. G. Cormack, C. Clarke, S. Büttcher: Reciprocal Rank Fusion outperforms Condorcet
 * and individual Rank Learning Methods, 2009. Theirs is the sum of 1 / (60 + rank); times 61 the first of all has 1.
 */
export const RRF_K = 60

/** The fusion of that name, in any case. */
export function fusionNamed(name: string): Fusion | undefined {
  const key = name.trim().toLowerCase()
  return FUSIONS.find((fusion) => fusion === key)
}

/** What holds for searches of a knowledge base that do not say otherwise. */
export interface SearchDefaults {
  readonly isHybrid: boolean
  /** The weight of the vectors, 0 to 1; null: it depends on the query text. */
  readonly alpha: number | null
  readonly fusion: Fusion
  /** Whether a convex combination moves the vector of a text towards its first chunks. */
  readonly hasFeedback: boolean
}

/** The terms of a searched text: two lists of one length. */
export interface QueryTerms {
  /** As in the keyword index; distinct. */
  readonly keys: readonly bigint[]
  /** How often each occurs in the text. */
  readonly counts: readonly number[]
}

/** The chunks that contain the quoted phrases of a query. */
export interface PhraseHits {
  /** Ascending. */
  readonly keys: readonly bigint[]
  /** The bonus to each score, in the same order. */
  readonly bonuses: readonly number[]
  /** What they can add at most. */
  readonly bound: number
  /** The query is nothing but phrases: no other chunk is a keyword hit. */
  readonly isFilter: boolean
}

/** The keyword part of a hybrid search. */
export interface KeywordSearch {
  readonly terms: QueryTerms
  /** null: nothing is quoted. */
  readonly phrases: PhraseHits | null
  /** The number of results wanted. */
  readonly count: number
  /**
   * The nearest chunks can be skipped if this many keyword hits beat every chunk without a hit; null: they are always
   * needed.
   */
  readonly enoughCount: number | null
  readonly fusion: Fusion
}

/**
 * Feedback: the query's vector is moved towards those of the chunks that a hybrid search ranks first, as far as they contain
 * a word of the query, and relevances use the moved vector. J. Rocchio: Relevance Feedback in Information Retrieval, 1971.
 */
export const FEEDBACK = {
  /** The number of top results assumed to be relevant. */
  firstCount: 5,
  /** What they weigh together; the text weighs 1. */
  weight: 0.5,
} as const

export interface KeywordHit {
  readonly key: bigint
  /** The BM25 score, by the formula below. */
  readonly score: number
}

/**
 * BM25, of a chunk for a text: with N chunks, df of them with the term, tf the term's occurrences in the chunk and l / L its
 * length over the mean one, both in terms, and qtf the term's occurrences in the text: the sum over the text's terms of
 * qtf · ln(1 + (N - df + 0.5) / (df + 0.5)) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · l / L)).
 *
 * S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the idf is Lucene's, which is
 * never negative. A chunk's score is below (k1 + 1) · the sum over the text's terms of qtf · ln(…), including terms without
 * a chunk: a convex combination divides by that.
 */
export const BM25 = {
  /** How much further occurrences of a term in a chunk add. */
  k1: 1.2,
  /** How much a chunk's length counts. */
  b: 0.75,
  /** Decimals of a score: terms are added in any order, and what is equally good must be equal. */
  scoreDigits: 9,
} as const
