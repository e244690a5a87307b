import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { type EvaluationModel, MODEL_CALLS_AT_ONCE } from './evaluation-model.ts'
import { type Evaluation, meanSeconds, type Ranking, rankChunks } from './evaluation-run.ts'
import { type EvaluationTable, evaluationTable } from './evaluation-table.ts'
import { relevancePrompt } from './metrics/evaluation-prompts.ts'
import {
  type ModelScoredRanking,
  meanRelevance,
  modelScoredRanking,
} from './metrics/model-scored-ranking.ts'
import { readQuestions } from './test-set.ts'

/** Each of them takes k calls of the model. */
const QUESTIONS_MAX = 1000

const MEANS = {
  avg_relevancy: 'DOUBLE',
  avg_relevance_score_by_k: 'VARCHAR',
  avg_first_relevant_position: 'DOUBLE',
  mean_mrr: 'DOUBLE',
  hit_at_k: 'DOUBLE',
  bin_precision_at_k: 'DOUBLE',
  avg_entropy: 'DOUBLE',
  avg_ndcg: 'DOUBLE',
  avg_query_time: 'DOUBLE',
} as const

const PER_QUESTION = {
  question: 'VARCHAR',
  relevancy: 'DOUBLE',
  relevance_scores: 'VARCHAR',
  first_relevant_position: 'BIGINT',
  reciprocal_rank: 'DOUBLE',
  precision_at_k: 'DOUBLE',
  entropy: 'DOUBLE',
  ndcg: 'DOUBLE',
  query_time: 'DOUBLE',
} as const

export function modelColumns(isPerQuestion: boolean): EvaluationTable {
  return isPerQuestion ? evaluationTable(PER_QUESTION, []) : evaluationTable(MEANS, [])
}

/**
 * How relevant a model finds the first k chunks of each question.
 * @throws AppError `invalid_request` for a test table that cannot be used, `provider_failed` and
 * `provider_refused` of the model, those of a search
 */
export async function measureByModel(
  evaluation: Evaluation,
  model: EvaluationModel,
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const { testSet, k, isPerQuestion, deps } = evaluation
  const questions = await readQuestions(testSet, deps, signal, QUESTIONS_MAX)
  const rankings = await rankChunks(questions, evaluation, signal, 'content')
  const scores = await scorePassages(questions, rankings, model, signal)
  const scored = scores.map((own) => modelScoredRanking(own, k))
  if (!isPerQuestion) return meansRow(scored, meanSeconds(rankings))
  const rows = scored.map((metrics, index) => ({
    question: questions[index] ?? '',
    relevancy: metrics.relevance,
    relevance_scores: JSON.stringify(metrics.scores),
    first_relevant_position: metrics.firstRelevantPosition,
    reciprocal_rank: metrics.reciprocalRank,
    precision_at_k: metrics.precision,
    entropy: metrics.entropy,
    ndcg: metrics.ndcg,
    query_time: rankings[index]?.seconds ?? null,
  }))
  return evaluationTable(PER_QUESTION, rows)
}

function meansRow(scored: readonly ModelScoredRanking[], seconds: number): EvaluationTable {
  const means = meanRelevance(scored)
  const row = {
    avg_relevancy: means.relevance,
    avg_relevance_score_by_k: JSON.stringify(means.relevanceAt),
    avg_first_relevant_position: means.firstRelevantPosition,
    mean_mrr: means.reciprocalRank,
    hit_at_k: means.hitRate,
    bin_precision_at_k: means.precision,
    avg_entropy: means.entropy,
    avg_ndcg: means.ndcg,
    avg_query_time: seconds,
  }
  return evaluationTable(MEANS, [row])
}

/** For each question the scores of its passages, in their order. */
async function scorePassages(
  questions: readonly string[],
  rankings: readonly Ranking[],
  model: EvaluationModel,
  signal: AbortSignal,
): Promise<readonly (readonly number[])[]> {
  const pairs = questions.flatMap((question, index) => {
    return (rankings[index]?.items ?? []).map((passage) => ({ index, question, passage }))
  })
  const bounds = { concurrencyMax: MODEL_CALLS_AT_ONCE, signal }
  const scored = await mapConcurrent(pairs, bounds, async ({ index, question, passage }, lane) => {
    const score = await model.askUntilRead(relevancePrompt(question, passage), lane)
    return { index, score }
  })
  const scores = questions.map((): number[] => [])
  for (const { index, score } of scored) scores[index]?.push(score)
  return scores
}
