/**
 * How a vector's distance and a keyword score become one relevance: `scaled` uses the numbers themselves, `rrf` (reciprocal
 * rank fusion) their ranks alone.
 */
export const FUSIONS = ['scaled', 'rrf'] as const

export type Fusion = (typeof FUSIONS)[number]

export const DEFAULT_FUSION: Fusion = 'scaled'

/** So many of the nearest chunks and of the best keyword hits take part in the fusion, with those equal to the last. */
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
}
