import { metricsOf } from './retrieval-metrics.ts'

/** From this score on, a passage counts as relevant. */
const RELEVANT_SCORE = 0.5

/** What a model's scores of a question's passages say about their ranking. */
export interface ModelScoredRanking {
  /** The scores as they were given, the first passage's first. */
  readonly scores: readonly number[]
  /** The mean score; 0 without passages. */
  readonly relevance: number
  /** From 0; null: no passage is relevant. */
  readonly firstRelevantPosition: number | null
  /** 1 / the rank of the first relevant passage; 0 without one. */
  readonly reciprocalRank: number
  /** Relevant passages among the first k, of k, however few were found. */
  readonly precision: number
  /**
   * Shannon's entropy in nats of the scores as shares of their sum: 0 if one passage has all the relevance, ln n if n
   * passages have the same. null: all scores are 0.
   */
  readonly entropy: number | null
  /**
   * nDCG of the scores against the best order of these same passages: 1 if they are in the model's order. It says nothing
   * about passages that were not found. null: all scores are 0.
   */
  readonly ndcg: number | null
}

/** @param scores of the passages as they were ranked, in [0, 1], at most k */
export function modelScoredRanking(scores: readonly number[], k: number): ModelScoredRanking {
  const relevant = scores.flatMap((score, index) => (score >= RELEVANT_SCORE ? [index] : []))
  const [first = null] = relevant
  const ids = scores.map((_, index) => String(index))
  const grades = new Map(scores.map((score, index) => [String(index), score]))
  return {
    scores,
    relevance: mean(scores) ?? 0,
    firstRelevantPosition: first,
    reciprocalRank: first === null ? 0 : 1 / (first + 1),
    precision: relevant.length / k,
    entropy: entropyOf(scores),
    ndcg: metricsOf(ids, grades, k)?.ndcg ?? null,
  }
}

/** Unweighted means over questions; null if no question has the value. */
export interface MeanRelevance {
  readonly relevance: number | null
  /** The mean score at each position, over the questions that found a passage there. */
  readonly relevanceAt: readonly number[]
  readonly firstRelevantPosition: number | null
  readonly reciprocalRank: number | null
  /** The share of the questions with a relevant passage. */
  readonly hitRate: number | null
  readonly precision: number | null
  readonly entropy: number | null
  readonly ndcg: number | null
}

export function meanRelevance(questions: readonly ModelScoredRanking[]): MeanRelevance {
  const over = (value: (ranking: ModelScoredRanking) => number | null) =>
    mean(present(questions, value))
  const depth = questions.reduce((most, { scores }) => Math.max(most, scores.length), 0)
  return {
    relevance: over((ranking) => ranking.relevance),
    relevanceAt: Array.from({ length: depth }, (_, position) => {
      return over(({ scores }) => scores[position] ?? null) ?? 0
    }),
    firstRelevantPosition: over((ranking) => ranking.firstRelevantPosition),
    reciprocalRank: over((ranking) => ranking.reciprocalRank),
    hitRate: over((ranking) => (ranking.firstRelevantPosition === null ? 0 : 1)),
    precision: over((ranking) => ranking.precision),
    entropy: over((ranking) => ranking.entropy),
    ndcg: over((ranking) => ranking.ndcg),
  }
}

function present<T>(items: readonly T[], value: (item: T) => number | null): readonly number[] {
  return items.map(value).filter((number) => number !== null)
}

/** C. E. Shannon, "A mathematical theory of communication", 1948: -Σ p ln p. */
function entropyOf(scores: readonly number[]): number | null {
  const total = scores.reduce((sum, score) => sum + score, 0)
  if (total === 0) return null
  const shares = scores.map((score) => score / total).filter((share) => share > 0)
  return shares.reduce((sum, share) => sum - share * Math.log(share), 0)
}

function mean(values: readonly number[]): number | null {
  if (values.length === 0) return null
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
