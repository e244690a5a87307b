import { quote } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { mapConcurrent } from '../../runtime/map-concurrent.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runSelect } from '../select/run-select.ts'
import type { EvaluationSearch } from './evaluate-options.ts'
import type { TestSet } from './test-set.ts'

/** Searches of one evaluation that run at the same time. */
const SEARCHES_AT_ONCE = 4

/** Several chunks may be of one document: where the first k hold too few documents, this many times more are asked for. */
const MORE_CHUNKS = 4
const CHUNKS_MAX = 100_000

/** The questions of a test set, and how they are searched. */
export interface Evaluation {
  readonly testSet: TestSet
  readonly kb: KnowledgeBase
  readonly search: EvaluationSearch
  /** Chunks; documents for `rankDocuments`. */
  readonly k: number
  /** A row for each question, instead of one of means. */
  readonly isPerQuestion: boolean
  readonly deps: QueryDeps
  /** Of the searches: where a reranker failed, something else was measured. */
  readonly warnings: Set<string>
}

/** What one search returned, the best first. */
export interface Ranking {
  /** Ids of documents, or passages. */
  readonly items: readonly string[]
  /** Of the first SELECT, with the embedding of the question and the wait for a place. */
  readonly seconds: number
}

/** Mean seconds of a search. */
export function meanSeconds(rankings: readonly Ranking[]): number {
  return rankings.reduce((sum, { seconds }) => sum + seconds, 0) / rankings.length
}

/** A column of the first k chunks for each question; a document with several chunks comes several times. */
export function rankChunks(
  questions: readonly string[],
  evaluation: Evaluation,
  signal: AbortSignal,
  column: 'id' | 'chunk_content',
): Promise<readonly Ranking[]> {
  const bounds = { concurrencyMax: SEARCHES_AT_ONCE, signal }
  return mapConcurrent(questions, bounds, (question, lane) => {
    return searchQuestion({ question, column, limit: evaluation.k }, evaluation, lane)
  })
}

/** The first k documents for each question, each at the rank of its best chunk. */
export function rankDocuments(
  questions: readonly string[],
  evaluation: Evaluation,
  signal: AbortSignal,
): Promise<readonly Ranking[]> {
  const { k } = evaluation
  const bounds = { concurrencyMax: SEARCHES_AT_ONCE, signal }
  return mapConcurrent(questions, bounds, async (question, lane) => {
    let limit = k
    const first = await searchQuestion({ question, column: 'id', limit }, evaluation, lane)
    let { items } = first
    let documents = [...new Set(items)]
    while (documents.length < k && items.length === limit && limit < CHUNKS_MAX) {
      limit = Math.min(CHUNKS_MAX, limit * MORE_CHUNKS)
      items = (await searchQuestion({ question, column: 'id', limit }, evaluation, lane)).items
      documents = [...new Set(items)]
    }
    return { items: documents.slice(0, k), seconds: first.seconds }
  })
}

async function searchQuestion(
  { question, column, limit }: { question: string; column: 'id' | 'chunk_content'; limit: number },
  { kb, search, deps, warnings }: Evaluation,
  signal: AbortSignal,
): Promise<Ranking> {
  const from = `${quote(kb.projectName)}.${quote(kb.name)}`
  const where = ['content = :question', ...conditionsOf(search)].join(' AND ')
  const sql = `SELECT ${column} FROM ${from} WHERE ${where} LIMIT ${limit}`
  const startedMs = performance.now()
  const request = { sql, database: kb.projectName, params: { question } }
  const rows = await runSelect(request, deps, signal)
  for (const warning of rows.warnings ?? []) warnings.add(warning)
  const items: string[] = []
  for await (const batch of rows.batches) items.push(...batch.map(([value]) => String(value ?? '')))
  return { items, seconds: (performance.now() - startedMs) / 1000 }
}

function conditionsOf({ mode, alpha, fusion, reranking }: EvaluationSearch): readonly string[] {
  return [
    ...(mode === 'vector' ? ['hybrid_search = false'] : []),
    ...(mode === 'hybrid' ? ['hybrid_search = true'] : []),
    ...(mode === 'keyword' ? ['hybrid_search_alpha = 0'] : []),
    ...(alpha === null ? [] : [`hybrid_search_alpha = ${alpha}`]),
    ...(fusion === null ? [] : [`hybrid_search_fusion = '${fusion}'`]),
    ...(reranking === null ? [] : [`reranking = ${reranking}`]),
  ]
}
