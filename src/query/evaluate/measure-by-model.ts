import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { type EvaluationModel, MODEL_CALLS_AT_ONCE } from './evaluation-model.ts'
import { type Evaluation, meanSeconds, type Ranking, rankChunks } from './evaluation-run.ts'
import { type Columns, type EvaluationTable, tableOf } from './evaluation-table.ts'
import { relevancePrompt } from './metrics/evaluation-prompts.ts'
import {
  type MeanRelevance,
  type ModelScoredRanking,
  meanRelevance,
  modelScoredRanking,
} from './metrics/model-scored-ranking.ts'
import { readQuestions } from './test-set.ts'

/** Each of them takes k calls of the model. */
const QUESTIONS_MAX = 1000

const MEANS: Columns<MeanRelevance & { readonly seconds: number }> = {
  avg_relevancy: ['DOUBLE', ({ relevance }) => relevance],
  avg_relevance_score_by_k: ['VARCHAR', ({ relevanceAt }) => JSON.stringify(relevanceAt)],
  avg_first_relevant_position: ['DOUBLE', ({ firstRelevantPosition }) => firstRelevantPosition],
  mean_mrr: ['DOUBLE', ({ reciprocalRank }) => reciprocalRank],
  hit_at_k: ['DOUBLE', ({ hitRate }) => hitRate],
  bin_precision_at_k: ['DOUBLE', ({ precision }) => precision],
  avg_entropy: ['DOUBLE', ({ entropy }) => entropy],
  avg_ndcg: ['DOUBLE', ({ ndcg }) => ndcg],
  avg_query_time: ['DOUBLE', ({ seconds }) => seconds],
}

interface ScoredQuestion extends ModelScoredRanking {
  readonly question: string
  readonly seconds: number | null
}

const PER_QUESTION: Columns<ScoredQuestion> = {
  question: ['VARCHAR', ({ question }) => question],
  relevancy: ['DOUBLE', ({ relevance }) => relevance],
  relevance_scores: ['VARCHAR', ({ scores }) => JSON.stringify(scores)],
  first_relevant_position: ['BIGINT', ({ firstRelevantPosition }) => firstRelevantPosition],
  reciprocal_rank: ['DOUBLE', ({ reciprocalRank }) => reciprocalRank],
  precision_at_k: ['DOUBLE', ({ precision }) => precision],
  entropy: ['DOUBLE', ({ entropy }) => entropy],
  ndcg: ['DOUBLE', ({ ndcg }) => ndcg],
  query_time: ['DOUBLE', ({ seconds }) => seconds],
}

export function modelColumns(isPerQuestion: boolean): EvaluationTable {
  return isPerQuestion ? tableOf(PER_QUESTION, []) : tableOf(MEANS, [])
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
  if (!isPerQuestion) {
    return tableOf(MEANS, [{ ...meanRelevance(scored), seconds: meanSeconds(rankings) }])
  }
  const rows = scored.map((metrics, index) => {
    const seconds = rankings[index]?.seconds ?? null
    return { ...metrics, question: questions[index] ?? '', seconds }
  })
  return tableOf(PER_QUESTION, rows)
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
