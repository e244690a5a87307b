/** The best documents for a text: each by its best chunk, so that ten results are ten documents. */
import { type KnowledgeBase, rerankCandidateCount } from '../../core/domain/knowledge-base.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { SelectRows } from '../select/run-select.ts'
import {
  type CheckedSearch,
  chunksOf,
  type FoundChunk,
  rankedBestSelect,
  runSearchSelect,
  type SearchedChunks,
  selectOfSearch,
} from './chunk-search.ts'

/** The number of chunks examined first, per requested document. */
const FIRST_CHUNKS = 3
/** By how much the next round grows. */
const MORE_CHUNKS = 8
/** After that, one statement examines all of them. */
const ROUNDS_MAX = 3

/**
 * Exactly the first `k` documents of the ranking of all chunks, each with its best chunk, or fewer if there are fewer.
 * Chunks are reranked, as in every search; documents without a reranked chunk follow in their original order, with at most
 * the relevance of the last one before.
 * @throws AppError as `runSelect` does
 */
export async function searchDocuments(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchedChunks> {
  if (!search.isReranked) return rankedDocuments(search, deps, signal)
  const reranked = await rerankedDocuments(search, deps, signal)
  if (reranked.run === null || !reranked.run.isReranked) {
    const plain = await rankedDocuments({ ...search, isReranked: false }, deps, signal)
    return { ...plain, run: plain.run && withWarningsOf(reranked.run, plain.run) }
  }
  if (reranked.chunks.length >= search.k || reranked.isAll) return reranked
  const plain = await rankedDocuments({ ...search, isReranked: false }, deps, signal)
  const known = new Set(reranked.chunks.map(({ id }) => id))
  const least = reranked.chunks.at(-1)?.relevance ?? 1
  const others = plain.chunks
    .filter(({ id }) => !known.has(id))
    .map((chunk) => ({ ...chunk, relevance: Math.min(least, chunk.relevance ?? 0) }))
  return { chunks: [...reranked.chunks, ...others].slice(0, search.k), run: reranked.run }
}

function withWarningsOf(failed: SelectRows | null, run: SelectRows): SelectRows {
  return failed?.warnings === undefined ? run : { ...run, warnings: failed.warnings }
}

/** The documents of the candidates alone. */
async function rerankedDocuments(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchedChunks & { readonly isAll: boolean }> {
  const limit = rerankCandidateCount(search.knowledgeBase.rerankingModel)
  const run = await runSearchSelect(selectOfSearch(search, limit), search, deps, signal)
  if (run === null) return { chunks: [], run, isAll: true }
  const { chunks, seenCount } = await bestChunks(run, search.k)
  return { chunks, run, isAll: seenCount < limit || leavesOut(search.knowledgeBase) }
}

/** Whether the reranker says which rows stay. */
function leavesOut({ rerankingModel }: KnowledgeBase): boolean {
  const { filtering_threshold: threshold, num_docs_to_keep: most } = rerankingModel?.options ?? {}
  return typeof threshold === 'number' || typeof most === 'number'
}

/** Examines more and more of the best chunks, each time from the first, so that no write falls in between. */
async function rankedDocuments(
  search: CheckedSearch,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SearchedChunks> {
  const { k } = search
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const limit = FIRST_CHUNKS * k * MORE_CHUNKS ** round
    const run = await runSearchSelect(selectOfSearch(search, limit), search, deps, signal)
    if (run === null) return { chunks: [], run }
    const { chunks, seenCount } = await bestChunks(run, k)
    if (chunks.length === k || seenCount < limit) return { chunks, run }
  }
  const run = await runSearchSelect(rankedBestSelect(search), search, deps, signal)
  return { chunks: run === null ? [] : (await bestChunks(run, k)).chunks, run }
}

/** The first chunk of each document, until there are `k`. */
async function bestChunks(
  run: SelectRows,
  k: number,
): Promise<{ readonly chunks: readonly FoundChunk[]; readonly seenCount: number }> {
  const best = new Map<string, FoundChunk>()
  let seenCount = 0
  for await (const chunk of chunksOf(run)) {
    seenCount += 1
    if (!best.has(chunk.id)) best.set(chunk.id, chunk)
    if (best.size === k) break
  }
  return { chunks: [...best.values()], seenCount }
}
