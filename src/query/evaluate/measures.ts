import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { mapConcurrent, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { checkedSearch, searchChunks, searchDocuments } from '../search/chunk-search.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { runComposedSelect } from '../select/views.ts'
import type { EvaluationSearch, EvaluationVersion } from './evaluate-options.ts'
import { relevancePrompt } from './evaluation-prompts.ts'
import type { EvaluationTable } from './evaluation-table.ts'
import { type EvaluationModel, MODEL_CALLS_AT_ONCE } from './generate-questions.ts'
import { gradedQuestions, readTestRows, type TestRow, type TestSet } from './question-set.ts'
import { metricsOf, modelScoredRanking } from './retrieval-metrics.ts'

const QUESTIONS_MAX = 10_000
/** A limit, because each question takes k model calls. */
const JUDGED_QUESTIONS_MAX = 1000

/** The columns of a question, by version. */
export const QUESTION_TYPES = {
  judgments: {
    question: 'VARCHAR',
    relevant_documents: 'BIGINT',
    ndcg_at_k: 'DOUBLE',
    recall_at_k: 'DOUBLE',
    precision_at_k: 'DOUBLE',
    reciprocal_rank: 'DOUBLE',
    average_precision: 'DOUBLE',
    found_documents: 'VARCHAR',
    query_time: 'DOUBLE',
  },
  doc_id: {
    question: 'VARCHAR',
    doc_id: 'VARCHAR',
    position: 'BIGINT',
    query_time: 'DOUBLE',
  },
  llm_relevancy: {
    question: 'VARCHAR',
    relevancy: 'DOUBLE',
    relevance_scores: 'VARCHAR',
    first_relevant_position: 'BIGINT',
    reciprocal_rank: 'DOUBLE',
    precision_at_k: 'DOUBLE',
    entropy: 'DOUBLE',
    ndcg: 'DOUBLE',
    query_time: 'DOUBLE',
  },
} as const satisfies Readonly<Record<EvaluationVersion, EvaluationTable['types']>>

export interface Measured {
  readonly rows: EvaluationTable['rows']
  /** Parameters of the means, besides the rows. */
  readonly values: Readonly<Record<string, BoundValue>>
}

/** nDCG, recall, precision, MRR and MAP of the first k. @throws AppError `invalid_request` */
export async function measureByGrades(
  evaluation: Evaluation,
  signal: AbortSignal,
): Promise<Measured> {
  const { testSet, k } = evaluation
  const graded = gradedQuestions(await readTestRows(testSet, 'judgments', TEST_ROWS_MAX), testSet)
  if (graded.size > QUESTIONS_MAX) throw tooManyQuestions(testSet, QUESTIONS_MAX)
  const unknown = await unknownDocumentCount(graded, evaluation, signal)
  const rankings = await rank([...graded.keys()], evaluation, 'documents', signal)
  const rows = [...graded].map(([question, grades], index) => {
    const { items = [], seconds = null } = rankings[index] ?? {}
    const metrics = metricsOf(items, grades, k)
    return {
      question,
      relevant_documents: relevantIds(grades).length,
      ndcg_at_k: metrics?.ndcg ?? null,
      recall_at_k: metrics?.recall ?? null,
      precision_at_k: metrics?.precision ?? null,
      reciprocal_rank: metrics?.reciprocalRank ?? null,
      average_precision: metrics?.averagePrecision ?? null,
      found_documents: JSON.stringify(items),
      query_time: seconds,
    }
  })
  return { rows, values: { unknown, k } }
}

const TEST_ROWS_MAX = 1_000_000

function tooManyQuestions({ shownName }: TestSet, most: number): AppError {
  const found = `The test table ${shownName} has more than ${most} questions`
  return new AppError('invalid_request', `${found}: name a view of some of them`)
}

function relevantIds(grades: ReadonlyMap<string, number>): readonly string[] {
  return [...grades].flatMap(([id, grade]) => (grade > 0 ? [id] : []))
}

/** No search can find these. @throws AppError if all are missing: the ids do not match */
async function unknownDocumentCount(
  graded: ReadonlyMap<string, ReadonlyMap<string, number>>,
  { testSet, kb, deps }: Evaluation,
  signal: AbortSignal,
): Promise<number> {
  const ids = [...new Set([...graded.values()].flatMap(relevantIds))]
  const sql = `SELECT count(*), min(id) FROM (SELECT unnest(from_json(:ids, '["VARCHAR"]')) AS id)
    WHERE id NOT IN (SELECT id FROM ${quote(kb.projectName)}.${quote(kb.name)})`
  const request = { sql, database: kb.projectName, params: { ids: JSON.stringify(ids) } }
  const { batches } = await runComposedSelect(request, deps, signal)
  const rows: (readonly unknown[])[] = []
  for await (const batch of batches) rows.push(...batch)
  const [missing, example] = rows[0] ?? []
  if (ids.length === 0 || Number(missing) < ids.length) return Number(missing)
  const what = `None of the ${ids.length} relevant documents of ${testSet.shownName} is in ${kb.name}`
  throw new AppError('invalid_request', `${what}: it has no id '${example}', for one`)
}

/** Among the first k chunks, and at which rank. @throws AppError `invalid_request` */
export async function measureKnownItems(
  evaluation: Evaluation,
  signal: AbortSignal,
): Promise<Measured> {
  const asked = await questionRows(evaluation, 'doc_id', QUESTIONS_MAX)
  const rankings = await rank(
    asked.map(({ question }) => question),
    evaluation,
    'ids',
    signal,
  )
  const rows = asked.map(({ question, document }, index) => {
    const { items = [], seconds = null } = rankings[index] ?? {}
    const position = items.indexOf(document)
    const found = position === -1 ? null : position
    return { question, doc_id: document, position: found, query_time: seconds }
  })
  return { rows, values: { k: evaluation.k } }
}

async function questionRows(
  { testSet }: Evaluation,
  version: EvaluationVersion,
  most: number,
): Promise<readonly TestRow[]> {
  const rows = await readTestRows(testSet, version, most + 1)
  if (rows.length > most) throw tooManyQuestions(testSet, most)
  return rows
}

/** @throws AppError `invalid_request`, errors of the model, and like a search */
export async function measureByModel(
  evaluation: Evaluation,
  model: EvaluationModel,
  signal: AbortSignal,
): Promise<Measured> {
  const asked = await questionRows(evaluation, 'llm_relevancy', JUDGED_QUESTIONS_MAX)
  const questions = asked.map(({ question }) => question)
  const rankings = await rank(questions, evaluation, 'passages', signal)
  const scores = await scorePassages(questions, rankings, model, signal)
  const rows = questions.map((question, index) => {
    const metrics = modelScoredRanking(scores[index] ?? [], evaluation.k)
    return {
      question,
      relevancy: metrics.relevance,
      relevance_scores: JSON.stringify(metrics.scores),
      first_relevant_position: metrics.firstRelevantPosition,
      reciprocal_rank: metrics.reciprocalRank,
      precision_at_k: metrics.precision,
      entropy: metrics.entropy,
      ndcg: metrics.ndcg,
      query_time: rankings[index]?.seconds ?? null,
    }
  })
  return { rows, values: {} }
}

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

/** How many searches run in parallel per evaluation. */
const SEARCHES_AT_ONCE = 4

interface Evaluation {
  readonly testSet: TestSet
  readonly kb: KnowledgeBase
  readonly search: EvaluationSearch
  /** How many chunks to measure, or documents for `judgments`. */
  readonly k: number
  readonly deps: QueryDeps
  /**
   * Warnings from searches, for example that a reranker failed and the order is not the usual one.
   */
  readonly warnings: Set<string>
}

interface Ranking {
  /** Document ids, or passages. */
  readonly items: readonly string[]
  /** Includes embedding the question and waiting for a slot. */
  readonly seconds: number
}

/**
 * Searches for each question.
 * @param wanted the first k `documents`, each at the rank of its best chunk; or of the first k
 * chunks the `ids` of their documents, or the `passages`
 */
function rank(
  questions: readonly string[],
  evaluation: Evaluation,
  wanted: 'documents' | 'ids' | 'passages',
  signal: AbortSignal,
): Promise<readonly Ranking[]> {
  const { deps, warnings, kb, k, search: own } = evaluation
  const isPerDocument = wanted === 'documents'
  // Without options, searches as in SQL: by meaning, unless the knowledge base has another default.
  const mode = kb.search.isHybrid ? 'hybrid' : 'vector'
  const settings = { mode, ...own, k, isPerDocument } as const
  const bounds = { concurrencyMax: SEARCHES_AT_ONCE, signal }
  return mapConcurrent(questions, bounds, async (query, lane) => {
    // Searches answered from memory may never wait, so let other work run.
    await yieldToEventLoop()
    const search = checkedSearch(kb, { ...settings, query })
    const startedMs = performance.now()
    const found = await (isPerDocument ? searchDocuments : searchChunks)(search, deps, lane)
    for (const warning of found.run?.warnings ?? []) warnings.add(warning)
    const seconds = (performance.now() - startedMs) / 1000
    const items = found.chunks.map(({ id, content }) => (wanted === 'passages' ? content : id))
    return { items, seconds }
  })
}
