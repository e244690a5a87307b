import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { mapConcurrent, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import {
  type ChunkSearch,
  checkedSearch,
  searchChunks,
  searchDocuments,
} from '../search/chunk-search.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { runComposedSelect } from '../select/views.ts'
import type { EvaluationSearch } from './evaluate-options.ts'
import { relevancePrompt } from './evaluation-prompts.ts'
import { type Columns, type EvaluationTable, tableOf } from './evaluation-table.ts'
import { type EvaluationModel, MODEL_CALLS_AT_ONCE } from './generate-questions.ts'
import {
  type KnownItemMetrics,
  knownItemMetrics,
  type MeanMetrics,
  type MeanRelevance,
  type ModelScoredRanking,
  meanMetrics,
  meanRelevance,
  metricsOf,
  modelScoredRanking,
  type RetrievalMetrics,
} from './retrieval-metrics.ts'
import {
  type GradedQuestion,
  type KnownItem,
  quotedColumn,
  readGradedQuestions,
  readKnownItems,
  readQuestions,
  type TestSet,
} from './test-set.ts'

const QUESTIONS_MAX = 10_000

const GRADED_MEANS: Columns<{
  readonly means: MeanMetrics
  readonly unknownCount: number
  readonly k: number
  readonly seconds: number
}> = {
  questions: ['BIGINT', ({ means }) => means.questionCount],
  skipped_questions: ['BIGINT', ({ means }) => means.skippedCount],
  unknown_documents: ['BIGINT', ({ unknownCount }) => unknownCount],
  k: ['BIGINT', ({ k }) => k],
  ndcg_at_k: ['DOUBLE', ({ means }) => means.ndcg],
  recall_at_k: ['DOUBLE', ({ means }) => means.recall],
  precision_at_k: ['DOUBLE', ({ means }) => means.precision],
  mrr: ['DOUBLE', ({ means }) => means.reciprocalRank],
  map_at_k: ['DOUBLE', ({ means }) => means.averagePrecision],
  avg_query_time: ['DOUBLE', ({ seconds }) => seconds],
}

interface MeasuredQuestion {
  readonly graded: GradedQuestion
  readonly ranking: Ranking
  readonly metrics: RetrievalMetrics | null
}

const GRADED_QUESTION: Columns<MeasuredQuestion> = {
  question: ['VARCHAR', ({ graded }) => graded.question],
  relevant_documents: ['BIGINT', ({ graded }) => relevantCount(graded)],
  ndcg_at_k: ['DOUBLE', ({ metrics }) => metrics?.ndcg ?? null],
  recall_at_k: ['DOUBLE', ({ metrics }) => metrics?.recall ?? null],
  precision_at_k: ['DOUBLE', ({ metrics }) => metrics?.precision ?? null],
  reciprocal_rank: ['DOUBLE', ({ metrics }) => metrics?.reciprocalRank ?? null],
  average_precision: ['DOUBLE', ({ metrics }) => metrics?.averagePrecision ?? null],
  found_documents: ['VARCHAR', ({ ranking }) => JSON.stringify(ranking.items)],
  query_time: ['DOUBLE', ({ ranking }) => ranking.seconds],
}

function relevantCount({ grades }: GradedQuestion): number {
  return [...grades.values()].filter((grade) => grade > 0).length
}

export function gradesColumns(isPerQuestion: boolean): EvaluationTable {
  return isPerQuestion ? tableOf(GRADED_QUESTION, []) : tableOf(GRADED_MEANS, [])
}

/** nDCG, recall, precision, MRR and MAP of the first k. @throws AppError `invalid_request` */
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
  if (isPerQuestion) return tableOf(GRADED_QUESTION, measured)
  const means = meanMetrics(measured.map(({ metrics }) => metrics))
  return tableOf(GRADED_MEANS, [{ means, unknownCount, k, seconds: meanSeconds(rankings) }])
}

function measureQuestion(
  graded: GradedQuestion,
  ranking: Ranking | undefined,
  k: number,
): MeasuredQuestion {
  if (ranking === undefined) throw new Error('each question is searched')
  return { graded, ranking, metrics: metricsOf(ranking.items, graded.grades, k) }
}

/** No search can find these. @throws AppError if all are missing: the ids do not match */
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

const KNOWN_ITEM_MEANS: Columns<KnownItemMetrics & { readonly seconds: number }> = {
  total: ['BIGINT', ({ total }) => total],
  total_found: ['BIGINT', ({ totalFound }) => totalFound],
  retrieved_in_top_10: ['BIGINT', ({ retrievedInTop10 }) => retrievedInTop10],
  cumulative_recall: ['VARCHAR', (run) => JSON.stringify({ ...run.cumulativeRecall })],
  avg_query_time: ['DOUBLE', ({ seconds }) => seconds],
}

const KNOWN_ITEM: Columns<
  KnownItem & { readonly position: number | null; readonly seconds: number | null }
> = {
  question: ['VARCHAR', ({ question }) => question],
  doc_id: ['VARCHAR', ({ documentId }) => documentId],
  position: ['BIGINT', ({ position }) => position],
  query_time: ['DOUBLE', ({ seconds }) => seconds],
}

export function knownItemColumns(isPerQuestion: boolean): EvaluationTable {
  return isPerQuestion ? tableOf(KNOWN_ITEM, []) : tableOf(KNOWN_ITEM_MEANS, [])
}

/** Among the first k chunks, and at which rank. @throws AppError `invalid_request` */
export async function measureKnownItems(
  evaluation: Evaluation,
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const { testSet, k, isPerQuestion, deps } = evaluation
  const items = await readKnownItems(testSet, deps, signal, QUESTIONS_MAX)
  const questions = items.map(({ question }) => question)
  const rankings = await rankChunks(questions, evaluation, signal, 'id')
  const found = items.map((item, index) => {
    const { items: documents = [], seconds = null } = rankings[index] ?? {}
    const position = documents.indexOf(item.documentId)
    return { ...item, position: position === -1 ? null : position, seconds }
  })
  if (isPerQuestion) return tableOf(KNOWN_ITEM, found)
  const positions = found.map(({ position }) => position)
  const metrics = knownItemMetrics(positions, k)
  return tableOf(KNOWN_ITEM_MEANS, [{ ...metrics, seconds: meanSeconds(rankings) }])
}

/** A limit, because each question takes k model calls. */
const JUDGED_QUESTIONS_MAX = 1000

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

const PER_QUESTION: Columns<
  ModelScoredRanking & { readonly question: string; readonly seconds: number | null }
> = {
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

/** @throws AppError `invalid_request`, errors of the model, and like a search */
export async function measureByModel(
  evaluation: Evaluation,
  model: EvaluationModel,
  signal: AbortSignal,
): Promise<EvaluationTable> {
  const { testSet, k, isPerQuestion, deps } = evaluation
  const questions = await readQuestions(testSet, deps, signal, JUDGED_QUESTIONS_MAX)
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
  /** How many chunks to measure, or documents in `rankDocuments`. */
  readonly k: number
  /** Whether to return one row per question instead of a row of means. */
  readonly isPerQuestion: boolean
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

/** The mean duration of a search in seconds. */
function meanSeconds(rankings: readonly Ranking[]): number {
  return rankings.reduce((sum, { seconds }) => sum + seconds, 0) / rankings.length
}

/** A field of the first k chunks. A document with several chunks appears several times. */
function rankChunks(
  questions: readonly string[],
  evaluation: Evaluation,
  signal: AbortSignal,
  field: 'id' | 'content',
): Promise<readonly Ranking[]> {
  return rank(questions, { evaluation, isPerDocument: false, field }, signal)
}

/** Returns the first k documents for each question, each at the rank of its best chunk. */
function rankDocuments(
  questions: readonly string[],
  evaluation: Evaluation,
  signal: AbortSignal,
): Promise<readonly Ranking[]> {
  return rank(questions, { evaluation, isPerDocument: true, field: 'id' }, signal)
}

function rank(
  questions: readonly string[],
  given: {
    readonly evaluation: Evaluation
    readonly isPerDocument: boolean
    readonly field: 'id' | 'content'
  },
  signal: AbortSignal,
): Promise<readonly Ranking[]> {
  const { evaluation, isPerDocument, field } = given
  const { deps, warnings } = evaluation
  const bounds = { concurrencyMax: SEARCHES_AT_ONCE, signal }
  return mapConcurrent(questions, bounds, async (question, lane) => {
    // Searches answered from memory may never wait, so let other work run.
    await yieldToEventLoop()
    const search = checkedSearch(evaluation.kb, {
      ...searchSettings(evaluation),
      query: question,
      isPerDocument,
    })
    const startedMs = performance.now()
    const { chunks, run } = await (isPerDocument ? searchDocuments : searchChunks)(
      search,
      deps,
      lane,
    )
    for (const warning of run?.warnings ?? []) warnings.add(warning)
    const seconds = (performance.now() - startedMs) / 1000
    return { items: chunks.map((chunk) => chunk[field]), seconds }
  })
}

/** Without options, searches as in SQL: semantic, unless the knowledge base has another default. */
function searchSettings({ kb, k, search }: Evaluation): Omit<ChunkSearch, 'query'> {
  const { alpha, fusion, feedback, reranking } = search
  const mode = search.mode ?? (kb.search.isHybrid ? 'hybrid' : 'vector')
  return {
    k,
    mode,
    ...(alpha === null ? {} : { alpha }),
    ...(fusion === null ? {} : { fusion }),
    ...(feedback === null ? {} : { hasFeedback: feedback }),
    ...(reranking === null ? {} : { rerank: reranking }),
  }
}
