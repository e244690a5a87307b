import { AppError } from '../../../core/errors.ts'
import { sum } from '../../../core/json.ts'

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
