import { quote } from '../../domain/identifier.ts'
import { AppError } from '../../errors.ts'
import {
  meanMetrics,
  metricsOf,
  type RetrievalMetrics,
} from '../../evaluation/retrieval-metrics.ts'
import { runComposedSelect } from '../select/composed-select.ts'
import type { Evaluation } from './evaluation.ts'
import {
  meanSeconds,
  rankedDocuments,
  type SearchedQuestion,
  type SearchPlan,
} from './evaluation-searches.ts'
import { type EvaluationTable, evaluationTable } from './evaluation-table.ts'
import { type GradedQuestion, gradedQuestions, quotedColumn, type TestTable } from './test-table.ts'

const QUESTIONS_MAX = 10_000

const MEANS = {
  questions: 'BIGINT',
  skipped_questions: 'BIGINT',
  unknown_documents: 'BIGINT',
  k: 'BIGINT',
  ndcg_at_k: 'DOUBLE',
  recall_at_k: 'DOUBLE',
  precision_at_k: 'DOUBLE',
  mrr: 'DOUBLE',
  map_at_k: 'DOUBLE',
  avg_query_time: 'DOUBLE',
} as const

const PER_QUESTION = {
  question: 'VARCHAR',
  relevant_documents: 'BIGINT',
  ndcg_at_k: 'DOUBLE',
  recall_at_k: 'DOUBLE',
  precision_at_k: 'DOUBLE',
  reciprocal_rank: 'DOUBLE',
  average_precision: 'DOUBLE',
  found_documents: 'VARCHAR',
  query_time: 'DOUBLE',
} as const

export function judgmentsColumns(isPerQuestion: boolean): EvaluationTable {
  return isPerQuestion ? evaluationTable(PER_QUESTION, []) : evaluationTable(MEANS, [])
}

/**
 * nDCG, recall, precision, MRR and MAP of the first k documents, by people's grades.
 * @throws AppError `invalid_request` for a test table that cannot be used, those of a search
 */
export async function evaluatedJudgments(
  { table, plan, isPerQuestion }: Evaluation,
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const { k, deps } = plan
  const questions = await gradedQuestions(table, { deps, questionsMax: QUESTIONS_MAX, signal })
  const unknownCount = await unknownDocumentCount(table, plan, signal)
  const texts = questions.map(({ question }) => question)
  const searched = await rankedDocuments(texts, plan, signal)
  const rated = questions.map((graded, index) => ratedQuestion(graded, searched[index], k))
  if (isPerQuestion) return evaluationTable(PER_QUESTION, rated.map(questionRow))
  const means = meanMetrics(rated.map(({ metrics }) => metrics))
  const row = {
    questions: means.questionCount,
    skipped_questions: means.skippedCount,
    unknown_documents: unknownCount,
    k,
    ndcg_at_k: means.ndcg,
    recall_at_k: means.recall,
    precision_at_k: means.precision,
    mrr: means.reciprocalRank,
    map_at_k: means.averagePrecision,
    avg_query_time: meanSeconds(searched),
  }
  return evaluationTable(MEANS, [row])
}

interface RatedQuestion {
  readonly graded: GradedQuestion
  readonly searched: SearchedQuestion<string>
  /** null: no document is relevant. */
  readonly metrics: RetrievalMetrics | null
}

function ratedQuestion(
  graded: GradedQuestion,
  searched: SearchedQuestion<string> | undefined,
  k: number,
): RatedQuestion {
  if (searched === undefined) throw new Error('each question is searched')
  return { graded, searched, metrics: metricsOf(searched.found, graded.judgments, k) }
}

function questionRow({ graded, searched, metrics }: RatedQuestion) {
  return {
    question: graded.question,
    relevant_documents: [...graded.judgments.values()].filter((grade) => grade > 0).length,
    ndcg_at_k: metrics?.ndcg ?? null,
    recall_at_k: metrics?.recall ?? null,
    precision_at_k: metrics?.precision ?? null,
    reciprocal_rank: metrics?.reciprocalRank ?? null,
    average_precision: metrics?.averagePrecision ?? null,
    found_documents: JSON.stringify(searched.found),
    query_time: searched.seconds,
  }
}

/**
 * Relevant documents that the knowledge base does not have: they cannot be found.
 * @throws AppError `invalid_request` when it has none of them: the ids are others
 */
async function unknownDocumentCount(
  table: TestTable,
  { kb, deps }: SearchPlan,
  signal: AbortSignal,
): Promise<number> {
  const [document, grade] = [quotedColumn(table, 'document'), quotedColumn(table, 'grade')]
  const sql = `WITH judged AS (
      SELECT DISTINCT CAST(${document} AS VARCHAR) AS id FROM ${table.source}
      WHERE TRY_CAST(CAST(${grade} AS VARCHAR) AS DOUBLE) > 0)
    SELECT count(*) AS judged, count(*) FILTER (known.id IS NULL) AS missing,
      min(judged.id) AS example
    FROM judged LEFT JOIN (SELECT DISTINCT id FROM ${quote(kb.projectName)}.${quote(kb.name)}) known
      ON known.id = judged.id`
  const request = { sql, database: table.database, params: {} }
  const { batches } = await runComposedSelect(request, deps, signal)
  const rows: (readonly unknown[])[] = []
  for await (const batch of batches) rows.push(...batch)
  const [judged, missing, example] = rows[0] ?? []
  if (Number(judged) === 0 || Number(missing) < Number(judged)) return Number(missing)
  const message = `None of the ${judged} relevant documents of ${table.shownName} is in ${kb.name}`
  throw new AppError('invalid_request', `${message}: it has no id '${example}', for one`)
}
