import { AppError } from '../../core/errors.ts'
import { sum } from '../../core/json.ts'

/** How good the ranking of one question is: each number is in [0, 1], larger is better. */
export interface RetrievalMetrics {
  /**
   * DCG@k of the ranking by DCG@k of the best possible one. The gain of a document is its grade,
   * not 2^grade - 1, and the discount of rank r is log2(r + 1): Järvelin and Kekäläinen, "Cumulated
   * gain-based evaluation of IR techniques", TOIS 2002, as trec_eval (`ndcg_cut`) and BEIR compute
   * it.
   */
  readonly ndcg: number
  /** Relevant documents among the first k, of all relevant ones. */
  readonly recall: number
  /** Relevant documents among the first k, of k, however few the ranking has. */
  readonly precision: number
  /** 1 / the rank of the first relevant document; 0 beyond k. Its mean is MRR@k. */
  readonly reciprocalRank: number
  /**
   * The mean over all relevant documents of the precision at their rank; 0 for those beyond k, as
   * trec_eval's `map_cut`. Its mean is MAP@k.
   */
  readonly averagePrecision: number
}

/**
 * @param ranking document ids, best first; repeated ones are dropped, and later ones move up
 * @param gradesById document → grade; a document is relevant when its grade is above 0, and one
 * without a grade is not; a negative grade counts as 0
 * @param k how many documents from the front count
 * @returns null without a relevant document: nothing can be found
 * @throws AppError `invalid_request` for a k below 1 or not whole, and a grade that is not finite
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
  /** Questions that the means are over. */
  readonly questionCount: number
  /** Questions without a relevant document: they are in no mean. */
  readonly skippedCount: number
}

/** Unweighted means over questions; all 0 without any. */
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

/** Discounted cumulated gain in units of the best grade, so that the sum of huge grades stays finite. */
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

/** How often a question's one right document was found, and at which rank. */
export interface KnownItemMetrics {
  /** Questions. */
  readonly total: number
  readonly totalFound: number
  readonly retrievedInTop10: number
  /** The share of questions whose document is at this position (from 0) or earlier. */
  readonly cumulativeRecall: readonly number[]
}

/**
 * @param positions of the right document per question, from 0; null: not among the first k
 * @param k positions examined
 */
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

/** How sure the shares are that few questions give. */

/** The 97.5th percentile of the normal distribution. */
const Z = 1.959963984540054

/** E. B. Wilson's interval (1927), 95 %: it holds for few questions and for shares near 0 and 1. null: of nothing. */
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

/** Two settings over the same questions. */
export interface PairedComparison {
  /** Questions that only the second one answers rightly. */
  readonly wins: number
  /** Only the first one. */
  readonly losses: number
  readonly ties: number
  /**
   * McNemar's exact test, two-sided: the probability of a difference of at least this size if both are equally good. 1: no
   * question distinguishes them.
   */
  readonly pValue: number
}

export function pairedComparison(
  pairs: readonly (readonly [first: boolean, second: boolean])[],
): PairedComparison {
  const wins = pairs.filter(([first, second]) => !first && second).length
  const losses = pairs.filter(([first, second]) => first && !second).length
  return { wins, losses, ties: pairs.length - wins - losses, pValue: signTest(wins, losses) }
}

/** The probability that one side of a coin comes up at most this often in n throws, for either side. */
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
