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

export interface MeanMetrics extends RetrievalMetrics {
  readonly questionCount: number
  /** The number of questions without a relevant document. They are not part of the means. */
  readonly skippedCount: number
}

/** Unweighted means over questions. All are 0 if there are none. */
export function meanMetrics(questions: readonly (RetrievalMetrics | null)[]): MeanMetrics {
  const counted = questions.filter((metrics) => metrics !== null)
  const mean = (name: keyof RetrievalMetrics) => {
    return counted.length === 0 ? 0 : sum(counted.map((metrics) => metrics[name])) / counted.length
  }
  return {
    ndcg: mean('ndcg'),
    recall: mean('recall'),
    precision: mean('precision'),
    reciprocalRank: mean('reciprocalRank'),
    averagePrecision: mean('averagePrecision'),
    questionCount: counted.length,
    skippedCount: questions.length - counted.length,
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

export interface KnownItemMetrics {
  readonly total: number
  readonly totalFound: number
  readonly retrievedInTop10: number
  /**
   * For each position, counted from 0: the share of questions whose document is there or earlier.
   */
  readonly cumulativeRecall: readonly number[]
}

/** @param positions per question, counted from 0; null if not among the first k */
export function knownItemMetrics(
  positions: readonly (number | null)[],
  k: number,
): KnownItemMetrics {
  const found = positions.filter((position) => position !== null)
  const countAt = new Map<number, number>()
  for (const position of found) countAt.set(position, (countAt.get(position) ?? 0) + 1)
  const cumulativeRecall: number[] = []
  let foundCount = 0
  for (let position = 0; position < k; position += 1) {
    foundCount += countAt.get(position) ?? 0
    cumulativeRecall.push(positions.length === 0 ? 0 : foundCount / positions.length)
  }
  return {
    total: positions.length,
    totalFound: found.length,
    retrievedInTop10: found.filter((position) => position < 10).length,
    cumulativeRecall,
  }
}

/** Statistics for shares of a small number of questions. */

/** The 97.5th percentile of the normal distribution. */
const Z = 1.959963984540054

/** E. B. Wilson, 1927: valid for few questions and shares near 0 and 1. */
export function wilsonInterval(
  successes: number,
  total: number,
): {
  readonly low: number
  readonly high: number
} | null {
  if (total === 0) return null
  const share = successes / total
  const scale = 1 + Z ** 2 / total
  const middle = (share + Z ** 2 / (2 * total)) / scale
  const spread = (Z / scale) * Math.sqrt((share * (1 - share)) / total + Z ** 2 / (4 * total ** 2))
  return { low: Math.max(0, middle - spread), high: Math.min(1, middle + spread) }
}

export interface PairedComparison {
  /** The number of questions that only the second setting answered correctly. */
  readonly wins: number
  /** The number of questions that only the first setting answered correctly. */
  readonly losses: number
  readonly ties: number
  /** McNemar's exact test, two-sided. 1 if no question distinguishes the settings. */
  readonly pValue: number
}

export function pairedComparison(
  pairs: readonly (readonly [first: boolean, second: boolean])[],
): PairedComparison {
  const wins = pairs.filter(([first, second]) => !first && second).length
  const losses = pairs.filter(([first, second]) => first && !second).length
  return { wins, losses, ties: pairs.length - wins - losses, pValue: signTest(wins, losses) }
}

/** The two-sided binomial probability of a split at least this uneven. */
function signTest(wins: number, losses: number): number {
  const total = wins + losses
  const fewer = Math.min(wins, losses)
  let logTerm = -total * Math.LN2
  let sum = Math.exp(logTerm)
  for (let count = 1; count <= fewer; count += 1) {
    logTerm += Math.log((total - count + 1) / count)
    sum += Math.exp(logTerm)
  }
  return Math.min(1, 2 * sum)
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
  /** The mean score at each position, over the questions that have a passage there. */
  readonly relevanceAt: readonly number[]
  readonly firstRelevantPosition: number | null
  readonly reciprocalRank: number | null
  /** The share of questions with a relevant passage. */
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

/** -Σ p ln p: C. E. Shannon, "A mathematical theory of communication", 1948. */
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
