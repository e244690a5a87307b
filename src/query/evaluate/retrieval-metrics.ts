import { AppError } from '../../core/errors.ts'
import { sum } from '../../core/json.ts'

/** The quality of one question's ranking. Each number is between 0 and 1, and higher is better. */
export interface RetrievalMetrics {
  /**
   * The DCG@k of the ranking divided by that of the best possible one. The gain is the document's
   * grade, not 2^grade - 1, and the discount at rank r is log2(r + 1): Järvelin and Kekäläinen,
   * "Cumulated gain-based evaluation of IR techniques", TOIS 2002, as in trec_eval (`ndcg_cut`) and
   * BEIR.
   */
  readonly ndcg: number
  /** The share of all relevant documents that are among the first k. */
  readonly recall: number
  /** The number of relevant documents among the first k, divided by k even if fewer were found. */
  readonly precision: number
  /** 1 / the rank of the first relevant document, or 0 if that is beyond k. The mean is MRR@k. */
  readonly reciprocalRank: number
  /** Over relevant documents, the mean precision at their rank (0 beyond k), as `map_cut`. */
  readonly averagePrecision: number
}

/**
 * @param ranking document ids, best first; duplicates are dropped and later ids move up
 * @param gradesById the grade by document; above 0 means relevant, and a missing or negative grade
 * counts as 0
 * @param k how many documents to consider
 * @returns null if no document is relevant
 * @throws AppError `invalid_request` if k is not a positive integer or a grade is not finite
 */
export function metricsOf(
  ranking: readonly string[],
  gradesById: ReadonlyMap<string, number>,
  k: number,
): RetrievalMetrics | null {
  refuseWrong(gradesById, k)
  const grades = [...gradesById.values()].filter((grade) => grade > 0)
  if (grades.length === 0) return null
  const found = [...new Set(ranking)].slice(0, k).map((id) => Math.max(0, gradesById.get(id) ?? 0))
  const hitRanks = found.flatMap((grade, index) => (grade > 0 ? [index + 1] : []))
  const best = grades.toSorted((first, second) => second - first).slice(0, k)
  const precisions = hitRanks.map((rank, index) => (index + 1) / rank)
  const [firstRank] = hitRanks
  return {
    ndcg: Math.min(1, gainOf(found, best) / gainOf(best, best)),
    recall: hitRanks.length / grades.length,
    precision: hitRanks.length / k,
    reciprocalRank: firstRank === undefined ? 0 : 1 / firstRank,
    averagePrecision: sum(precisions) / grades.length,
  }
}

/** Discounted cumulated gain relative to the best grade, so sums of huge grades stay finite. */
function gainOf(grades: readonly number[], best: readonly number[]): number {
  const unit = best[0] ?? 1
  return sum(grades.map((grade, index) => grade / unit / Math.log2(index + 2)))
}

function refuseWrong(gradesById: ReadonlyMap<string, number>, k: number): void {
  if (!Number.isSafeInteger(k) || k < 1) {
    throw new AppError('invalid_request', `k must be a whole number from 1, found ${k}`)
  }
  for (const [id, grade] of gradesById) {
    if (Number.isFinite(grade)) continue
    throw new AppError('invalid_request', `The grade of ${id} must be a finite number`)
  }
}

/** A passage counts as relevant from this score. */
const RELEVANT_SCORE = 0.5

/** The quality of a ranking, according to a model's scores of its passages. */
export interface ModelScoredRanking {
  /** In the order of the passages. */
  readonly scores: readonly number[]
  /** The mean score; 0 without passages. */
  readonly relevance: number
  /** Counted from 0; null if no passage is relevant. */
  readonly firstRelevantPosition: number | null
  /** 1 / the rank of the first relevant passage; 0 if there is none. */
  readonly reciprocalRank: number
  /** The number of relevant passages among the first k, divided by k even if fewer were found. */
  readonly precision: number
  /** Shannon entropy of the shares of scores, in nats: 0 to ln n. null if all are 0. */
  readonly entropy: number | null
  /** Relative to the best order of the same passages. null if all scores are 0. */
  readonly ndcg: number | null
}

/** @param scores of the ranked passages, each between 0 and 1, at most k */
export function modelScoredRanking(scores: readonly number[], k: number): ModelScoredRanking {
  const relevant = scores.flatMap((score, index) => (score >= RELEVANT_SCORE ? [index] : []))
  const [first = null] = relevant
  const ids = scores.map((_, index) => String(index))
  const grades = new Map(scores.map((score, index) => [String(index), score]))
  return {
    scores,
    relevance: scores.length === 0 ? 0 : sum(scores) / scores.length,
    firstRelevantPosition: first,
    reciprocalRank: first === null ? 0 : 1 / (first + 1),
    precision: relevant.length / k,
    entropy: entropyOf(scores),
    ndcg: metricsOf(ids, grades, k)?.ndcg ?? null,
  }
}

/** -Σ p ln p: C. E. Shannon, "A mathematical theory of communication", 1948. */
function entropyOf(scores: readonly number[]): number | null {
  const total = sum(scores)
  if (total === 0) return null
  const shares = scores.map((score) => score / total).filter((share) => share > 0)
  return -sum(shares.map((share) => share * Math.log(share)))
}
