import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { sum } from '../../core/json.ts'
import { mapConcurrent, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { checkedSearch, searchChunks, searchDocuments } from '../search/chunk-search.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { runComposedSelect } from '../select/views.ts'
import type { EvaluationSearch, EvaluationVersion } from './evaluate-options.ts'
import { relevancePrompt } from './evaluation-prompts.ts'
import type { EvaluationTable } from './evaluation-table.ts'
import { type EvaluationModel, MODEL_CALLS_AT_ONCE } from './generate-questions.ts'
import { gradedQuestions, readTestRows, type TestRow, type TestSet } from './question-set.ts'

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
  const [[missing, example] = []] = (await Array.fromAsync(batches)).flat()
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
    relevance: scores.length === 0 ? 0 : sum(scores) / scores.length,
    firstRelevantPosition: first,
    reciprocalRank: first === null ? 0 : 1 / (first + 1),
    precision: relevant.length / k,
    entropy: entropyOf(scores),
    ndcg: metricsOf(ids, grades, k)?.ndcg ?? null,
  }
}

/** -Σ p ln p: C. E. Shannon, "A mathematical theory of communication", 1948. */
function entropyOf(scores: readonly number[]): number | null {
  const total = sum(scores)
  if (total === 0) return null
  const shares = scores.map((score) => score / total).filter((share) => share > 0)
  return -sum(shares.map((share) => share * Math.log(share)))
}
