/**
 * How vector distance and keyword score are combined into one relevance: `convex` (convex
 * combination) scales each by its possible range, `scaled` by the range of the knowledge base's
 * best hundred, `rrf` (reciprocal rank fusion) uses only the ranks.
 */
export const FUSIONS = ['convex', 'scaled', 'rrf'] as const

export type Fusion = (typeof FUSIONS)[number]

export const SEARCH_MODES = ['hybrid', 'vector', 'keyword'] as const

export type SearchMode = (typeof SEARCH_MODES)[number]

export const DEFAULT_FUSION: Fusion = 'convex'

/** Of nearest chunks and best keyword hits, plus ties. A convex combination uses all. */
export const PART_CHUNKS = 100

/**
 * The constant k of reciprocal rank fusion: the smaller, the more the first ranks stand out. G.
 * Cormack, C. Clarke, S. Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual Rank
 * Learning Methods, 2009. The paper sums 1 / (60 + rank); Eider multiplies that by 61, so that the
 * best hit scores 1.
 */
export const RRF_K = 60

/** The fusion with this name, ignoring case. */
export function fusionNamed(name: string): Fusion | undefined {
  const key = name.trim().toLowerCase()
  return FUSIONS.find((fusion) => fusion === key)
}

export interface SearchDefaults {
  readonly isHybrid: boolean
  /** The weight of the vectors, 0 to 1; null if it depends on the query text. */
  readonly alpha: number | null
  readonly fusion: Fusion
  /** Whether a convex combination moves the query vector towards its top chunks. */
  readonly hasFeedback: boolean
}

/** The terms of a query, as two lists of equal length. */
export interface QueryTerms {
  /** Distinct term keys, as in the keyword index. */
  readonly keys: readonly bigint[]
  /** How often each term occurs in the query. */
  readonly counts: readonly number[]
}

/** The chunks that contain the quoted phrases of a query. */
export interface PhraseHits {
  readonly keys: readonly bigint[]
  /** The score bonus of each chunk, in the same order. */
  readonly bonuses: readonly number[]
  /** The largest possible bonus. */
  readonly bound: number
  /** Whether the query consists only of phrases, so that only these chunks are keyword hits. */
  readonly isFilter: boolean
}

export interface KeywordSearch {
  readonly terms: QueryTerms
  /** null if nothing is quoted. */
  readonly phrases: PhraseHits | null
  readonly count: number
  /** This many hits beat every chunk without a hit; null: vector search is always needed. */
  readonly enoughCount: number | null
  readonly fusion: Fusion
}

/** Moves the query vector towards top chunks by their query words. J. Rocchio, 1971. */
export const FEEDBACK = {
  /** How many top results are assumed to be relevant. */
  firstCount: 5,
  /** Their combined weight; the query's own weight is 1. */
  weight: 0.5,
} as const

export interface KeywordHit {
  readonly key: bigint
  /** The BM25 score, see `BM25`. */
  readonly score: number
}

/**
 * The BM25 score of a chunk: with N chunks, df chunks that contain a term, tf occurrences of the
 * term in the chunk, l / L the chunk's length relative to the mean length, both in terms, and qtf
 * occurrences of the term in the query, the sum over the query's terms of qtf · ln(1 + (N - df +
 * 0.5) / (df + 0.5)) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · l / L)).
 *
 * S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the idf
 * is Lucene's, which is never negative. A score is always below (k1 + 1) · the sum over the query's
 * terms of qtf · ln(…), including terms without a chunk. A convex combination divides by that
 * bound.
 */
export const BM25 = {
  /** How much repeated occurrences of a term in a chunk add. */
  k1: 1.2,
  /** How strongly a chunk's length counts. */
  b: 0.75,
  /** Rounded, so that equal matches get equal scores in any order of addition. */
  scoreDigits: 9,
} as const

/** Whether `enoughCount` of these hits beat chunks whose score adds nothing. @param best best first */
export function areEnoughHits(best: readonly KeywordHit[], search: KeywordSearch): boolean {
  const { enoughCount, fusion, count } = search
  const isAnyScoreGood = fusion === 'convex' || best.length < count
  const least = isAnyScoreGood ? 0 : (best.at(-1)?.score ?? 0)
  return enoughCount === 0 || (best[(enoughCount ?? 0) - 1]?.score ?? 0) > least
}
