import { foundDocuments } from '../../evaluation/found-documents.ts'
import type { Evaluation } from './evaluation.ts'
import { foundDocumentIds, meanSeconds } from './evaluation-searches.ts'
import { type EvaluationTable, evaluationTable } from './evaluation-table.ts'
import { answeredQuestions } from './test-table.ts'

const QUESTIONS_MAX = 10_000

const MEANS = {
  total: 'BIGINT',
  total_found: 'BIGINT',
  retrieved_in_top_10: 'BIGINT',
  cumulative_recall: 'VARCHAR',
  avg_query_time: 'DOUBLE',
} as const

const PER_QUESTION = {
  question: 'VARCHAR',
  doc_id: 'VARCHAR',
  position: 'BIGINT',
  query_time: 'DOUBLE',
} as const

export function documentsColumns(isPerQuestion: boolean): EvaluationTable {
  return isPerQuestion ? evaluationTable(PER_QUESTION, []) : evaluationTable(MEANS, [])
}

/**
 * How often the document of a question is among the first k chunks, and how far down.
 * @throws AppError `invalid_request` for a test table that cannot be used, those of a search
 */
export async function evaluatedDocuments(
  { table, plan, isPerQuestion }: Evaluation,
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const { k, deps } = plan
  const questions = await answeredQuestions(table, { deps, questionsMax: QUESTIONS_MAX, signal })
  const texts = questions.map(({ question }) => question)
  const searched = await foundDocumentIds(texts, plan, signal)
  const rows = questions.map(({ question, documentId }, index) => {
    const { found = [], seconds = null } = searched[index] ?? {}
    const position = found.indexOf(documentId)
    return {
      question,
      doc_id: documentId,
      position: position === -1 ? null : position,
      query_time: seconds,
    }
  })
  if (isPerQuestion) return evaluationTable(PER_QUESTION, rows)
  const { total, totalFound, retrievedInTop10, cumulativeRecall } = foundDocuments(
    rows.map(({ position }) => position),
    k,
  )
  const row = {
    total,
    total_found: totalFound,
    retrieved_in_top_10: retrievedInTop10,
    cumulative_recall: JSON.stringify({ ...cumulativeRecall }),
    avg_query_time: meanSeconds(searched),
  }
  return evaluationTable(MEANS, [row])
}
