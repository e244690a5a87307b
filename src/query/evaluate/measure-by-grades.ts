import { quote } from '../../core/domain/identifier.ts'
import { AppError } from '../../core/errors.ts'
import { runComposedSelect } from '../select/views.ts'
import {
  type Evaluation,
  meanSeconds,
  type Ranking,
  rankChunks,
  rankDocuments,
} from './evaluation-run.ts'
import { type EvaluationTable, evaluationTable } from './evaluation-table.ts'
import {
  knownItemMetrics,
  meanMetrics,
  metricsOf,
  type RetrievalMetrics,
} from './metrics/retrieval-metrics.ts'
import {
  type GradedQuestion,
  quotedColumn,
  readGradedQuestions,
  readKnownItems,
} from './test-set.ts'

const QUESTIONS_MAX = 10_000

const GRADED_MEANS = {
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

const GRADED_QUESTION = {
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

export function gradesColumns(isPerQuestion: boolean): EvaluationTable {
  return isPerQuestion ? evaluationTable(GRADED_QUESTION, []) : evaluationTable(GRADED_MEANS, [])
}

/**
 * nDCG, recall, precision, MRR and MAP of the first k documents, by people's grades.
 * @throws AppError `invalid_request` for a test table that cannot be used, those of a search
 */
export async function measureByGrades(
  evaluation: Evaluation,
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const { testSet, k, isPerQuestion, deps } = evaluation
  const graded = await readGradedQuestions(testSet, deps, signal, QUESTIONS_MAX)
  const unknownCount = await unknownDocumentCount(evaluation, signal)
  const questions = graded.map(({ question }) => question)
  const rankings = await rankDocuments(questions, evaluation, signal)
  const measured = graded.map((question, index) => measureQuestion(question, rankings[index], k))
  if (isPerQuestion) return evaluationTable(GRADED_QUESTION, measured.map(questionRow))
  const means = meanMetrics(measured.map(({ metrics }) => metrics))
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
    avg_query_time: meanSeconds(rankings),
  }
  return evaluationTable(GRADED_MEANS, [row])
}

interface MeasuredQuestion {
  readonly graded: GradedQuestion
  readonly ranking: Ranking
  /** null: no document is relevant. */
  readonly metrics: RetrievalMetrics | null
}

function measureQuestion(
  graded: GradedQuestion,
  ranking: Ranking | undefined,
  k: number,
): MeasuredQuestion {
  if (ranking === undefined) throw new Error('each question is searched')
  return { graded, ranking, metrics: metricsOf(ranking.items, graded.grades, k) }
}

function questionRow({ graded, ranking, metrics }: MeasuredQuestion) {
  return {
    question: graded.question,
    relevant_documents: [...graded.grades.values()].filter((grade) => grade > 0).length,
    ndcg_at_k: metrics?.ndcg ?? null,
    recall_at_k: metrics?.recall ?? null,
    precision_at_k: metrics?.precision ?? null,
    reciprocal_rank: metrics?.reciprocalRank ?? null,
    average_precision: metrics?.averagePrecision ?? null,
    found_documents: JSON.stringify(ranking.items),
    query_time: ranking.seconds,
  }
}

/**
 * Relevant documents that the knowledge base does not hold, so that no search can find them.
 * @throws AppError `invalid_request` when it holds none of them: the ids do not fit
 */
async function unknownDocumentCount(
  { testSet, kb, deps }: Evaluation,
  signal: AbortSignal,
): Promise<number> {
  const [document, grade] = [quotedColumn(testSet, 'document'), quotedColumn(testSet, 'grade')]
  const sql = `WITH judged AS (
      SELECT DISTINCT CAST(${document} AS VARCHAR) AS id FROM ${testSet.source}
      WHERE TRY_CAST(CAST(${grade} AS VARCHAR) AS DOUBLE) > 0)
    SELECT count(*) AS judged, count(*) FILTER (known.id IS NULL) AS missing,
      min(judged.id) AS example
    FROM judged LEFT JOIN (SELECT DISTINCT id FROM ${quote(kb.projectName)}.${quote(kb.name)}) known
      ON known.id = judged.id`
  const request = { sql, database: testSet.database, params: {} }
  const { batches } = await runComposedSelect(request, deps, signal)
  const rows: (readonly unknown[])[] = []
  for await (const batch of batches) rows.push(...batch)
  const [judged, missing, example] = rows[0] ?? []
  if (Number(judged) === 0 || Number(missing) < Number(judged)) return Number(missing)
  const message = `None of the ${judged} relevant documents of ${testSet.shownName} is in ${kb.name}`
  throw new AppError('invalid_request', `${message}: it has no id '${example}', for one`)
}

const KNOWN_ITEM_MEANS = {
  total: 'BIGINT',
  total_found: 'BIGINT',
  retrieved_in_top_10: 'BIGINT',
  cumulative_recall: 'VARCHAR',
  avg_query_time: 'DOUBLE',
} as const

const KNOWN_ITEM = {
  question: 'VARCHAR',
  doc_id: 'VARCHAR',
  position: 'BIGINT',
  query_time: 'DOUBLE',
} as const

export function knownItemColumns(isPerQuestion: boolean): EvaluationTable {
  return isPerQuestion ? evaluationTable(KNOWN_ITEM, []) : evaluationTable(KNOWN_ITEM_MEANS, [])
}

/**
 * How often the document of a question is among the first k chunks, and how far down.
 * @throws AppError `invalid_request` for a test table that cannot be used, those of a search
 */
export async function measureKnownItems(
  evaluation: Evaluation,
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const { testSet, k, isPerQuestion, deps } = evaluation
  const items = await readKnownItems(testSet, deps, signal, QUESTIONS_MAX)
  const questions = items.map(({ question }) => question)
  const rankings = await rankChunks(questions, evaluation, signal, 'id')
  const rows = items.map(({ question, documentId }, index) => {
    const { items: documents = [], seconds = null } = rankings[index] ?? {}
    const position = documents.indexOf(documentId)
    return {
      question,
      doc_id: documentId,
      position: position === -1 ? null : position,
      query_time: seconds,
    }
  })
  if (isPerQuestion) return evaluationTable(KNOWN_ITEM, rows)
  const positions = rows.map(({ position }) => position)
  const { total, totalFound, retrievedInTop10, cumulativeRecall } = knownItemMetrics(positions, k)
  const row = {
    total,
    total_found: totalFound,
    retrieved_in_top_10: retrievedInTop10,
    cumulative_recall: JSON.stringify({ ...cumulativeRecall }),
    avg_query_time: meanSeconds(rankings),
  }
  return evaluationTable(KNOWN_ITEM_MEANS, [row])
}
