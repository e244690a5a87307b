import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { VectorAccess } from '../../domain/ports.ts'
import type { QueryDeps } from '../query-deps.ts'
import { AMONG_KEPT } from '../select/run-candidates.ts'
import {
  type CheckedSearch,
  type ChunkSearch,
  checkedSearch,
  type FoundChunk,
  type SearchMode,
  searchChunks,
} from './search-chunks.ts'
import { type ChunkExplanation, searchExplanations } from './search-explanation.ts'
import { type Neighbourhood, searchNeighbours } from './search-neighbours.ts'
import { type StageTimes, timedDeps } from './timed-deps.ts'

export interface SearchOrder extends ChunkSearch {
  readonly explain: boolean
  /** Most chunks before and after each result. */
  readonly neighbours: number
}

export interface SearchResult extends FoundChunk {
  /** From 1. */
  readonly rank: number
  readonly neighbours: Neighbourhood | null
  readonly explanation: ChunkExplanation | null
}

export interface SearchAnswer {
  readonly results: readonly SearchResult[]
  readonly warnings: readonly string[]
  /** null: not asked for. */
  readonly explanation: SearchExplanation | null
}

export interface SearchExplanation {
  readonly mode: SearchMode
  readonly isReranked: boolean
  /** How the nearest chunks were found. */
  readonly access: VectorAccess
  /** Milliseconds of the search itself; what explains it is not counted. */
  readonly ms: StageTimes & { readonly total: number }
}

/**
 * Searches one knowledge base. Neighbours are one more statement, explanations up to three.
 * @throws AppError `invalid_request` that names the field, those of `searchChunks`
 */
export async function runSearch(
  kb: KnowledgeBase,
  order: SearchOrder,
  {
    deps,
    nowMs,
    signal,
  }: {
    readonly deps: QueryDeps
    /** Milliseconds, for differences. */
    readonly nowMs: () => number
    readonly signal: AbortSignal
  },
): Promise<SearchAnswer> {
  const search = checkedSearch(kb, order)
  const measured = timedDeps(deps, nowMs)
  const start = nowMs()
  const { chunks, warnings } = await searchChunks(search, measured.deps, signal)
  const total = nowMs() - start
  const wasReranked = search.isReranked && warnings.length === 0
  const neighbourhoods =
    order.neighbours === 0
      ? []
      : await searchNeighbours({ kb, chunks, count: order.neighbours }, deps, signal)
  const found = { chunks, wasReranked }
  const explanations = order.explain
    ? await searchExplanations(search, found, { deps, signal })
    : []
  return {
    results: chunks.map((chunk, index) => ({
      ...chunk,
      rank: index + 1,
      neighbours: neighbourhoods[index] ?? null,
      explanation: explanations[index] ?? null,
    })),
    warnings,
    explanation: order.explain
      ? {
          mode: search.mode,
          isReranked: wasReranked,
          access: accessOf(search, measured.wasFromMemory(), deps),
          ms: { ...measured.times, total },
        }
      : null,
  }
}

function accessOf(search: CheckedSearch, wasFromMemory: boolean, deps: QueryDeps): VectorAccess {
  // The first condition is the text.
  const isFiltered = search.conditions.length > 1
  const access = deps.nearest.access(search.knowledgeBase, isFiltered)
  if (access.kind === 'scan') return access
  if (!wasFromMemory) return { kind: 'scan', detail: 'the database measured every vector' }
  return isFiltered ? { ...access, detail: `${access.detail}${AMONG_KEPT}` } : access
}
