import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { mapConcurrent, yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { type ChunkSearch, checkedSearch, searchChunks } from '../search/chunk-search.ts'
import { searchDocuments } from '../search/document-search.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { EvaluationSearch } from './evaluate-options.ts'
import type { TestSet } from './test-set.ts'

/** How many searches of one evaluation run at once. */
const SEARCHES_AT_ONCE = 4

/** The questions of a test set, and how to search for them. */
export interface Evaluation {
  readonly testSet: TestSet
  readonly kb: KnowledgeBase
  readonly search: EvaluationSearch
  /** Chunks; documents for `rankDocuments`. */
  readonly k: number
  /** A row for each question, instead of one of means. */
  readonly isPerQuestion: boolean
  readonly deps: QueryDeps
  /** From the searches, for example a failed reranker: something else was measured then. */
  readonly warnings: Set<string>
}

/** What one search returned, the best first. */
export interface Ranking {
  /** Ids of documents, or passages. */
  readonly items: readonly string[]
  /** Including embedding the question and waiting for a place. */
  readonly seconds: number
}

/** Mean seconds of a search. */
export function meanSeconds(rankings: readonly Ranking[]): number {
  return rankings.reduce((sum, { seconds }) => sum + seconds, 0) / rankings.length
}

/** A field of the first k chunks for each question; a document with several chunks appears several times. */
export function rankChunks(
  questions: readonly string[],
  evaluation: Evaluation,
  signal: AbortSignal,
  field: 'id' | 'content',
): Promise<readonly Ranking[]> {
  return rank(questions, { evaluation, isPerDocument: false, field }, signal)
}

/** The first k documents for each question, each at the rank of its best chunk. */
export function rankDocuments(
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
    // Searches answered from memory may never wait; this lets others have their turn.
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

/** What does not say how to search means what it means in SQL: by meaning, unless the knowledge base says otherwise. */
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
